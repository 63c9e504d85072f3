"""What people try first, and get wrong: each error says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.sample_models import floats, model_of

import onnxmap
from onnxmap import DataType


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    made = model_of([floats("conv.weight", 3), floats("conv.bias", 1), floats("head", 2)])
    made.graph.node.append(helper.make_node("Conv", ["x"], ["y"], name="conv1", pads=[1, 2]))
    file.write_bytes(made.SerializeToString())
    return file


READERS: dict[str, Callable[[onnxmap.Model, Any], Any]] = {
    "views": lambda model, names: model.views(names),
    "arrays": lambda model, names: model.arrays(names),
    "stream": lambda model, names: dict(model.stream(names)),
    "load_arrays": lambda model, names: onnxmap.load_arrays(model.path, names),
    "prefetch": lambda model, names: model.prefetch(names),
    "evict": lambda model, names: model.evict(names),
    "residency": lambda model, names: model.residency(names),
    "to_dask": lambda model, names: model.to_dask(names),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_name_that_nothing_has(path: Path, reader: str) -> None:
    with onnxmap.load(path) as model:
        for names in ("conv.wieght", ["head", "conv.wieght"]):
            with pytest.raises(KeyError, match=r"did you mean 'conv.weight'") as caught:
                READERS[reader](model, names)
            assert caught.value.name == "conv.wieght"
        assert not READERS[reader](model, "conv.[x-z]*")
        if reader not in ("prefetch", "evict"):
            assert list(READERS[reader](model, "conv.*")) == ["conv.weight", "conv.bias"]


def test_looking_up_a_name(path: Path) -> None:
    initializers = onnxmap.load(path).initializers
    with pytest.raises(KeyError) as caught:
        initializers["conv.biass"]
    assert str(caught.value) == "no tensor is named 'conv.biass'; did you mean 'conv.bias'?"
    with pytest.raises(KeyError, match=r"no tensor is named 7$"):
        initializers[7]
    with pytest.raises(KeyError, match=r"no tensor is named '\\x1b"):
        initializers["\x1b[31m"]
    assert initializers._ipython_key_completions_() == ["conv.weight", "conv.bias", "head"]


def test_suggestions_among_many_names_are_quick() -> None:
    from onnxmap._names import nearest

    names = [f"layers.{i}.mlp.up_proj.weight" for i in range(100_000)]
    assert nearest("layers.77777.mlp.up_proj.weigth", names)[0] == "layers.77777.mlp.up_proj.weight"
    assert nearest("x" * 100_000, names) == []


def things(model: onnxmap.Model) -> dict[str, Any]:
    graph = model.graph
    return {
        "Model": model,
        "Graph": graph,
        "Node": graph.nodes[0],
        "Attribute": graph.nodes[0].attributes["pads"],
        "Tensor": graph.initializers["head"],
    }


WRONG_NAMES = [
    ("Model", "opset_import", "opset_imports"),
    ("Model", "configuration", "device_configurations"),
    ("Model", "metadata_prop", "metadata_props"),
    ("Graph", "node", "nodes"),
    ("Graph", "initializer", "initializers"),
    ("Graph", "value_info", "value_infos"),
    ("Graph", "topological_ordr", "topological_order"),
    ("Node", "input", "inputs"),
    ("Node", "attribute", "attributes"),
    ("Node", "optype", "op_type"),
    ("Attribute", "ints", "value"),
    ("Tensor", "dims", "shape"),
    ("Tensor", "data_type", "dtype"),
    ("Tensor", "raw_data", "numpy()"),
    ("Tensor", "data_location", "is_external"),
]


@pytest.mark.parametrize(("kind", "wrong", "right"), WRONG_NAMES)
def test_a_wrong_attribute_says_the_right_one(
    path: Path, kind: str, wrong: str, right: str
) -> None:
    thing = things(onnxmap.load(path))[kind]
    with pytest.raises(AttributeError, match=f"{kind} has no attribute '{wrong}'") as caught:
        getattr(thing, wrong)
    assert str(caught.value).rstrip("?").endswith(f" .{right}")
    assert wrong not in dir(thing)
    assert not hasattr(thing, "nothing_like_it")


def test_what_loads_is_given(path: Path) -> None:
    data = path.read_bytes()
    message = onnx.ModelProto.FromString(data)
    loads: Any = onnxmap.loads
    with path.open("rb") as file:
        for given, advice in (
            (message, r"SerializeToString\(\) of the ModelProto"),
            (str(path), "load takes a path"),
            (path, "load takes a path"),
            (file, r"file.read\(\)"),
        ):
            with pytest.raises(TypeError, match=advice):
                loads(given)
    with pytest.raises(onnxmap.ParseError, match="path of a file, which load opens"):
        loads(bytes(path))
    load: Any = onnxmap.load
    with pytest.raises(TypeError, match=r"onnxmap.loads\(message.SerializeToString\(\)\)"):
        load(message)
    with pytest.raises(ValueError, match=r"onnxmap.loads takes the bytes"):
        load(data)
    with pytest.raises(FileNotFoundError, match=r"onnxmap.loads takes the bytes"):
        load(b"\x08\x0a:\x01x")
    with pytest.raises(TypeError, match="load_tensor takes a path"):
        onnxmap.loads_tensor("x")  # type: ignore[arg-type]


def test_tensors_and_values_of_bytes(tmp_path: Path) -> None:
    tensor = floats("t", 5)
    assert onnxmap.loads_tensor(tensor.SerializeToString()).numpy().tolist() == [0, 1, 2, 3, 4]
    sequence = onnx.SequenceProto(elem_type=1, tensor_values=[tensor, tensor])
    first, second = onnxmap.loads_value(sequence.SerializeToString(), "sequence")  # type: ignore[misc]
    assert np.array_equal(first, second)
    with pytest.raises(ValueError, match="kind must be one of"):
        onnxmap.loads_value(b"", "list")  # type: ignore[arg-type]


def test_a_tensor_with_its_data_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/w.bin").write_bytes(np.float32([1, 2]).tobytes())
    tensor = TensorProto(name="t", dims=[2], data_type=1, data_location=1)
    tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "t.pb").write_bytes(tensor.SerializeToString())
    with pytest.raises(FileNotFoundError):
        onnxmap.load_tensor(tmp_path / "t.pb").numpy()
    root = tmp_path / "data"
    assert onnxmap.load_tensor(tmp_path / "t.pb", external_root=root).numpy().tolist() == [1, 2]
    data = tensor.SerializeToString()
    assert onnxmap.loads_tensor(data, external_root=root).numpy().tolist() == [1, 2]


def test_views_become_objects() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="n")
    found = onnxmap.wrap(onnxmap.loads_proto(node.SerializeToString(), "NodeProto"))
    assert isinstance(found, onnxmap.Node)
    assert found.inputs == ["x"]
    graph = helper.make_graph([node], "g", [], [], [floats("w", 2)])
    made = onnxmap.wrap(onnxmap.loads_proto(graph.SerializeToString(), "GraphProto"))
    assert isinstance(made, onnxmap.Graph)
    assert made.initializers["w"].numpy().tolist() == [0, 1]
    tensor = onnxmap.wrap(onnxmap.loads_proto(floats("t", 1).SerializeToString(), "TensorProto"))
    assert tensor.shape == (1,)
    with pytest.raises(TypeError, match="has no class of its own"):
        onnxmap.wrap(onnxmap.loads_proto(b"", "OperatorSetIdProto"))
    with pytest.raises(TypeError, match="takes a ProtoView, not Node"):
        onnxmap.wrap(found)  # type: ignore[arg-type]


def test_operator_sets_have_a_magic(tmp_path: Path) -> None:
    file = tmp_path / "ops.onnx"
    good = onnx.OperatorSetProto(magic="ONNXOPSET", ir_version=3, opset_version=1)
    file.write_bytes(good.SerializeToString())
    assert onnxmap.load_operator_set(file).opset_version == 1
    for content in (b"", onnx.OperatorSetProto(magic="x").SerializeToString()):
        file.write_bytes(content)
        with pytest.raises(onnxmap.ParseError, match="not an operator set") as caught:
            onnxmap.load_operator_set(file)
        assert caught.value.code == "model.not_operator_set"


def test_test_data_that_are_no_tensors(tmp_path: Path) -> None:
    sequence = onnx.SequenceProto(elem_type=1, tensor_values=[floats("t", 2)])
    (tmp_path / "input_0.pb").write_bytes(sequence.SerializeToString())
    with pytest.raises(onnxmap.OnnxMapError, match="give the model with model="):
        onnxmap.load_test_data(tmp_path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'ir_version: 8\ngraph {\n  name: "g"\n}\n', "text format"),
        (b"# made by hand\n\ngraph {", "text format"),
        (b'{\n  "irVersion": "8"\n}', "JSON"),
        (b"\x1c\0\0\0TFL3\x14\0", "TensorFlow Lite"),
        (b"\x93NUMPY\x01\0v\0{'descr'", "NumPy"),
    ],
)
def test_other_formats_are_recognised(tmp_path: Path, content: bytes, kind: str) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(content)
    with pytest.raises(onnxmap.ParseError, match=f"looks like .*{kind}"):
        onnxmap.load(file)


@pytest.mark.parametrize("field", ["raw_data", "int32_data"])
def test_four_bits_that_are_stored_one_by_one(field: str) -> None:
    values: Any = bytes(8) if field == "raw_data" else [0] * 8
    tensor = TensorProto(name="t", dims=[8], data_type=TensorProto.INT4, **{field: values})
    with pytest.raises(onnxmap.TensorError, match="each element stored by itself"):
        onnxmap.loads_tensor(tensor.SerializeToString()).numpy()
    wrong: Any = bytes(7) if field == "raw_data" else [0] * 7
    tensor = TensorProto(name="t", dims=[8], data_type=TensorProto.INT4, **{field: wrong})
    with pytest.raises(onnxmap.TensorError) as caught:
        onnxmap.loads_tensor(tensor.SerializeToString()).numpy()
    assert "stored by itself" not in str(caught.value)


def test_types_read_as_their_names() -> None:
    assert str(DataType.FLOAT) == f"{DataType.FLOAT}" == "FLOAT"
    assert f"{DataType.FLOAT:>6}|{DataType.FLOAT:d}" == " FLOAT|1"
    assert str(onnxmap.AttributeType.INTS) == "INTS"
    for kind in DataType:
        assert kind == int(kind)
        if kind == DataType.UNDEFINED:
            continue
        assert kind == kind.numpy()
        assert kind == kind.numpy().type or kind == DataType.STRING
        assert [other for other in DataType if other == kind] == [kind]
    assert np.float32 == DataType.FLOAT
    assert ml_dtypes.bfloat16 == DataType.BFLOAT16
    for other in (np.float64, np.dtype("f8"), None, float, "FLOAT", "float32", object()):
        assert other != DataType.FLOAT
    assert DataType.DOUBLE != None
    assert {DataType.FLOAT: 1}[1] == 1  # type: ignore[index]


@pytest.mark.parametrize("name", ["Version", "OperatorStatus", "DataLocation"])
def test_enums_are_those_of_onnx(name: str) -> None:
    theirs = (
        {"DataLocation": onnx.TensorProto.DataLocation}.get(name)
        or getattr(onnx, name, None)
        or getattr(onnx.onnx_ml_pb2, name, None)
        or onnx.onnx_operators_ml_pb2.OperatorStatus
    )
    assert {member.name: member.value for member in getattr(onnxmap, name)} == dict(theirs.items())


def test_the_highest_version_of_a_domain_counts() -> None:
    made = model_of([])
    del made.opset_import[:]
    for domain, version in (("", 21), ("d", 1), ("", 24), ("", 13)):
        made.opset_import.add(domain=domain, version=version)
    imports = onnxmap.loads(made.SerializeToString()).opset_imports
    assert dict(imports) == {"": 24, "d": 1}
