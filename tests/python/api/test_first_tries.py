"""What people try first, and get wrong: each error says what to do."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.models.sample import floats, model_of, operator_set
from support.processes.subprocesses import run_python

import onnxmap
from onnxmap import DataType, OperatorStatus


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    file.write_bytes(model_of([floats("w", 3)]).SerializeToString())
    return file


def test_operator_sets_are_values(tmp_path: Path) -> None:
    one, other = operator_set(), operator_set()
    assert one == other
    assert len({one, other}) == 1
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != onnxmap.wrap(onnxmap.loads_proto(b"", "OperatorSetProto"))
    assert one != one.proto
    assert one.operators[0].op_type == "Op"
    assert "operators" in dir(one)
    assert "operator" not in dir(one)


def test_what_loads_is_given(path: Path) -> None:
    data = path.read_bytes()
    message = onnx.ModelProto.FromString(data)
    loads: Any = onnxmap.loads
    with path.open("rb") as file:
        for given, advice in (
            (message, r"not a ModelProto; use onnxmap.loads\(message.SerializeToString\(\)\)"),
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
    with pytest.raises(ValueError, match=r"onnxmap.loads\(data\)"):
        load(data)
    with pytest.raises(FileNotFoundError, match=r"onnxmap.loads\(data\)"):
        load(b"\x08\x0a:\x01x")
    with pytest.raises(TypeError, match="load_tensor takes a path"):
        onnxmap.loads_tensor("x")  # type: ignore[arg-type]


NODE = onnx.NodeProto(op_type="Relu")
SEQUENCE = onnx.SequenceProto(elem_type=1)
OPERATORS = onnx.OperatorSetProto(magic="ONNXOPSET", opset_version=1)
# A call with a path, a message to give it instead, and the call that it advises.
ADVICE: list[tuple[Callable[[Any], Any], Any, str]] = [
    (onnxmap.load, onnx.ModelProto(graph=onnx.GraphProto()), "loads({})"),
    (onnxmap.load, NODE, "loads_proto({}, 'NodeProto')"),
    (onnxmap.load_tensor, floats("t", 1), "loads_tensor({})"),
    (onnxmap.load_tensor, NODE, "loads_proto({}, 'NodeProto')"),
    (lambda path: onnxmap.load_proto(path, "NodeProto"), NODE, "loads_proto({}, 'NodeProto')"),
    (lambda path: onnxmap.load_value(path, "sequence"), SEQUENCE, "loads_value({}, 'sequence')"),
    (
        onnxmap.load_operator_set,
        OPERATORS,
        "wrap(onnxmap.loads_proto({}, 'OperatorSetProto'))",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message", "advice"), ADVICE)
def test_a_message_instead_of_a_path(call: Callable[[Any], Any], message: Any, advice: str) -> None:
    expected = "onnxmap." + advice.format("message.SerializeToString()")
    with pytest.raises(TypeError, match=re.escape(expected)):
        call(message)
    eval(expected)


@pytest.mark.parametrize(("call", "message", "advice"), ADVICE)
def test_bytes_instead_of_a_path(call: Callable[[Any], Any], message: Any, advice: str) -> None:
    if advice.endswith("'NodeProto')") and "load_proto" not in call.__code__.co_names:
        return  # bytes do not say what they are of
    data = message.SerializeToString()
    expected = re.escape("onnxmap." + advice.format("data"))
    for given in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        with pytest.raises(TypeError, match=expected):
            call(given)
    with pytest.raises((ValueError, FileNotFoundError), match=expected):
        call(b"\x08\x01\0" + data)


def test_a_message_of_another_type_instead_of_bytes() -> None:
    loads: Any = onnxmap.loads
    with pytest.raises(TypeError, match=r"loads_proto\(message.Ser.*\(\), 'NodeProto'\)"):
        loads(NODE)


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
    model = onnxmap.loads(model_of([]).SerializeToString())
    with pytest.raises(TypeError, match=r"onnxmap.loads\(view.SerializeToString\(\)\)"):
        onnxmap.wrap(model.proto)
    with pytest.raises(ValueError, match="the TypeProto says no type"):
        onnxmap.wrap(onnxmap.loads_proto(b"", "TypeProto"))


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
    with pytest.raises(
        onnxmap.OnnxMapError, match=r"pass the model: load_test_data\(folder, model=\.\.\.\)"
    ):
        onnxmap.load_test_data(tmp_path)


def test_a_folder_without_test_data(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no input_0.pb and no output_0.pb: "):
        onnxmap.load_test_data(tmp_path)
    case = tmp_path / "test_data_set_0"
    case.mkdir()
    with pytest.raises(FileNotFoundError, match="'test_data_set_0' is inside"):
        onnxmap.load_test_data(tmp_path)
    (case / "output_0.pb").write_bytes(floats("t", 1).SerializeToString())
    inputs, outputs = onnxmap.load_test_data(case)
    assert inputs == []
    assert len(outputs) == 1


def test_types_by_name(path: Path) -> None:
    for given in ("FLOAT", "float32", np.float32, np.dtype(np.float32), 1):
        assert DataType(given) is DataType.FLOAT
    assert DataType("bfloat16") is DataType("BFLOAT16") is DataType.BFLOAT16
    assert [DataType(name) for name in ("fp16", "half", "FP16")] == [DataType.FLOAT16] * 3
    found = [DataType(name).name for name in ("bf16", "fp32", "fp64")]
    assert found == ["BFLOAT16", "FLOAT", "DOUBLE"]
    for wrong in ("float", "FLOAT32", "", None, np.floating, "fp8"):
        with pytest.raises(ValueError, match="is not a valid DataType"):
            DataType(wrong)
    with onnxmap.load(path) as model:
        tensor = model.initializers["w"]
        for name, dtype in (
            ("bf16", ml_dtypes.bfloat16),
            ("half", np.half),
            ("DOUBLE", np.float64),
        ):
            assert tensor.numpy(dtype=name).dtype == dtype
            assert model.arrays(dtype=name)["w"].dtype == dtype
            assert dict(model.stream(dtype=name))["w"].dtype == dtype
        with pytest.raises(TypeError, match="fp8"):
            model.arrays(dtype="fp8")


MISSING = """
import sys
sys.modules[sys.argv[1]] = None
import onnxmap
model = onnxmap.load(sys.argv[2])
try:
    eval(sys.argv[3])
except ModuleNotFoundError as error:
    print(error, error.name, sep="\\n")
"""


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("torch", "torch", "model.torch()"),
        ("torch", "torch", "model.initializers['w'].torch()"),
        ("dask", "dask", "model.to_dask()"),
        ("onnx_ir", "ir", "model.initializers['w'].to_ir()"),
        ("scipy.sparse", "scipy", "model.graph.sparse_initializers['s'].to_scipy()"),
    ],
)
def test_a_missing_package_says_what_to_install(
    tmp_path: Path, package: str, extra: str, call: str
) -> None:
    made = model_of([floats("w", 3)])
    made.graph.sparse_initializer.add(values=floats("s", 1), indices=floats("", 1), dims=[3])
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    done = run_python(MISSING, package, str(tmp_path / "m.onnx"), call)
    assert done.returncode == 0, done.stderr
    text, name = done.stdout.splitlines()
    assert text.endswith(f"; pip install 'onnxmap[{extra}]'")
    assert name == package


def test_operators_have_names_and_a_status(tmp_path: Path) -> None:
    made = onnx.OperatorSetProto(magic="ONNXOPSET", opset_version=1)
    made.operator.add(op_type="Foo", status=onnx.STABLE)
    made.operator.add(op_type="Bar")
    (tmp_path / "ops.pb").write_bytes(made.SerializeToString())
    operators = onnxmap.load_operator_set(tmp_path / "ops.pb").operators
    assert operators["Foo"].status is OperatorStatus.STABLE
    assert operators["Bar"].status is OperatorStatus.EXPERIMENTAL
    assert operators["Foo"].proto.status == 1
    assert type(operators["Foo"].proto.status) is int
    assert "Bar" in operators
    assert operators._ipython_key_completions_() == ["Foo", "Bar"]
    with pytest.raises(KeyError, match=r"^no operator is named 'Fo'; did you mean 'Foo'\?$"):
        operators["Fo"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
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
        assert not other == DataType.FLOAT  # noqa: SIM201 -- `!=` is another method
    for equal in (np.float32, np.dtype("f4"), 1, DataType.FLOAT):
        assert equal == DataType.FLOAT
        assert not equal != DataType.FLOAT  # noqa: SIM202
        assert not DataType.FLOAT != equal  # noqa: SIM202, SIM300
    for abstract in (
        np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
        np.floating, np.complexfloating, np.flexible, np.character,
    ):  # fmt: skip
        for kind in DataType:
            assert kind != abstract
            assert not kind == abstract  # noqa: SIM201
    assert np.longlong == DataType.INT64
    assert np.ulonglong == DataType.UINT64 != np.longlong
    assert np.intc == DataType.INT32 != np.uintc
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


def test_the_two_spellings_of_the_default_domain_are_one() -> None:
    made = model_of([])
    del made.opset_import[:]
    made.opset_import.add(domain="ai.onnx", version=1)
    made.opset_import.add(domain="", version=21)
    imports = onnxmap.loads(made.SerializeToString()).opset_imports
    assert dict(imports) == {"ai.onnx": 21}
    assert imports[""] == imports["ai.onnx"] == 21
