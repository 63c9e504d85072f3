"""Names that nothing has: each error says which name to use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.models.sample import floats, model_of, operator_set
from support.processes.work import instructions_of

import onnxmap


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    made = model_of([floats("conv.weight", 3), floats("conv.bias", 1), floats("head", 2)])
    made.graph.node.append(helper.make_node("Conv", ["x"], ["y"], name="conv1", pads=[1, 2]))
    made.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]))
    made.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [1]))
    made.graph.sparse_initializer.add(values=floats("s", 1), indices=floats("", 1), dims=[3])
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
    with pytest.raises(KeyError, match=r"no tensor is named 7\. .*list\(initializers.all\(\)\)"):
        initializers[7]
    with pytest.raises(KeyError, match=r"no tensor is named '\\x1b"):
        initializers["\x1b[31m"]
    assert initializers._ipython_key_completions_() == ["conv.weight", "conv.bias", "head"]


def test_suggestions_among_many_names() -> None:
    from onnxmap._base.text import nearest

    names = [f"layers.{i}.mlp.up_proj.weight" for i in range(100_000)]
    assert nearest("layers.77777.mlp.up_proj.weigth", names)[0] == "layers.77777.mlp.up_proj.weight"
    assert nearest("x" * 100_000, names) == []


def test_a_wrong_name_of_any_length_costs_the_same() -> None:
    from onnxmap._base.text import nearest

    names = [f"layers.{i}.weight" for i in range(1_000)]
    short = instructions_of(lambda: nearest("layers.x.weight", names))
    assert instructions_of(lambda: nearest("layers.x" + "y" * 100_000, names)) < 4 * short


def test_long_names_cost_little_more_than_short_ones() -> None:
    """difflib takes time in proportion to the product of the lengths."""
    from onnxmap._base.text import nearest

    short = [f"{i:03}.weight_{'ab' * 15}" for i in range(250)]
    long = [f"{i:03}.weight_{'ab' * 85}" for i in range(250)]
    assert nearest(long[77] + "x", long)[0] == long[77]
    assert nearest(short[77] + "x", short)[0] == short[77]
    few = instructions_of(lambda: nearest(short[77] + "x", short))
    assert instructions_of(lambda: nearest(long[77] + "x", long)) < 10 * few


def test_names_that_are_cut_to_compare_them_are_suggested_whole() -> None:
    from onnxmap._base.text import nearest

    long = "a" * 300 + "end"
    for wrong in (long + "x", "a" * 100_000):
        assert nearest(wrong, ["b", long]) == [long]


def test_names_that_contain_the_wrong_one_are_suggested(path: Path) -> None:
    model = onnxmap.load(path)
    with pytest.raises(KeyError, match=r"did you mean 'head'\?$"):
        model.initializers["ead"]
    message = (
        r"^no tensor is named 'conv'; did you mean 'conv.bias' or 'conv.weight'\? "
        r"views\('\*conv\*'\) finds all that contain it$"
    )
    for read in READERS.values():
        with pytest.raises(KeyError, match=message):
            read(model, "conv")
    with pytest.raises(KeyError, match=r"^no node is named 'onv'; did you mean 'conv1'\?$"):
        model.graph.nodes["onv"]


def test_a_name_inside_one_of_many_names_is_found() -> None:
    """The core picks which names Python compares."""
    names = [f"layers.{i}.weight_{'ab' * 10}" for i in range(2000)]
    names[1234] = "/model/embed/Constant_output:0"
    model = onnxmap.loads(model_of([floats(name, 1) for name in names]).SerializeToString())
    with pytest.raises(KeyError, match="did you mean '/model/embed/Constant_output:0'"):
        model.initializers["embed"]


@pytest.mark.parametrize("glob", ["*Const*", "conv.?eight", "[x"])
def test_a_glob_where_a_name_is_taken(path: Path, glob: str) -> None:
    model = onnxmap.load(path)
    for read in (model.initializers.__getitem__, lambda name: model.arrays([name])):
        with pytest.raises(KeyError, match=r"A glob must be a string by itself, as in") as caught:
            read(glob)
        assert f"views('{glob}')" in str(caught.value)


def test_an_object_where_a_name_is_taken(path: Path) -> None:
    model = onnxmap.load(path)
    graph: Any = model.graph
    node, value = graph.nodes[0], graph.inputs[0]
    for call in (graph.producer, graph.consumers, graph.uses, graph.value, graph.nodes.__getitem__):
        with pytest.raises(TypeError, match=r"not ValueInfo\. Pass its name, x\.name$"):
            call(value)
        with pytest.raises(TypeError, match=r"not NoneType$"):
            call(None)
    with pytest.raises(KeyError, match=r"Pass its name, x\.name$"):
        graph.initializers[node]
    for index in (1.0, ("custom", "my")):
        with pytest.raises(TypeError, match=r"integers, slices or names, not (float|tuple)$"):
            graph.nodes[index]
    assert graph.nodes[np.int64(0)] == node
    views = model.proto.opset_import
    for index in (1.0, "x"):
        with pytest.raises(TypeError, match=r"must be integers or slices"):
            views[index]


def things(model: onnxmap.Model) -> dict[str, Any]:
    graph = model.graph
    return {
        "Model": model,
        "Graph": graph,
        "Node": graph.nodes[0],
        "Attribute": graph.nodes[0].attributes["pads"],
        "Tensor": graph.initializers["head"],
        "SparseTensor": graph.sparse_initializers["s"],
        "OperatorSet": operator_set(),
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
    ("SparseTensor", "dims", "shape"),
    ("OperatorSet", "operator", "operators"),
    ("OperatorSet", "opset_versio", "opset_version"),
    ("Model", "nodes", "graph.nodes"),
    ("Model", "node", "graph.nodes"),
    ("Model", "outputs", "graph.outputs"),
    ("Model", "output", "graph.outputs"),
    ("Model", "initializer", "initializers"),
    ("Model", "inputs", "graph.inputs"),
    ("Model", "opset", "opset_imports"),
    ("Model", "state_dict", "torch()"),
    ("Model", "to_dict", "proto.to_dict()"),
    ("Model", "weights", "initializers"),
    ("Model", "save_model", "save(path)"),
    ("Model", "export", "save(path)"),
    ("Model", "plot", "report(path), or Netron"),
    ("Model", "visualize", "report(path), or Netron"),
    ("Model", "summary", "report(path)"),
    ("Model", "check_model", "check()"),
    ("Model", "run", "session().run()"),
    ("Model", "named_parameters", "initializers"),
    ("Model", "num_params", "num_parameters"),
    ("Model", "load_state_dict", "rebase(other)"),
    ("Model", "cleanup", "prune()"),
    ("Model", "toposort", "sort()"),
    ("Graph", "toposort", "topological_order()"),
    ("Graph", "edges", "producer(), .consumers() and .uses()"),
    ("Graph", "to_json", "proto.to_json()"),
    ("Node", "to_dict", "proto.to_dict()"),
    ("Node", "attrs", "attributes"),
    ("Tensor", "T", "numpy().T"),
    ("Tensor", "numel", "size"),
    ("Tensor", "astype", "numpy().astype()"),
    ("Tensor", "data", "numpy().data"),
    ("Tensor", "reshape", "numpy().reshape()"),
    ("Tensor", "tolist", "numpy().tolist()"),
    ("SparseTensor", "mean", "to_dense().mean()"),
    ("SparseTensor", "numpy", "to_dense()"),
]


@pytest.mark.parametrize(("kind", "wrong", "right"), WRONG_NAMES)
def test_a_wrong_attribute_says_the_right_one(
    path: Path, kind: str, wrong: str, right: str
) -> None:
    thing = things(onnxmap.load(path))[kind]
    with pytest.raises(AttributeError, match=f"{kind} has no attribute '{wrong}'") as caught:
        getattr(thing, wrong)
    assert str(caught.value).rstrip("?").endswith(f" .{right}")
    with pytest.raises(AttributeError) as assigned:
        setattr(thing, wrong, 1)
    assert str(assigned.value) == str(caught.value)
    assert wrong not in dir(thing)
    assert not hasattr(thing, "nothing_like_it")
    with pytest.raises(AttributeError) as assigned:
        setattr(thing, wrong, 1)
    assert str(assigned.value) == str(caught.value)


def test_an_attribute_that_is_read_only_is_not_called_unknown(path: Path) -> None:
    model = onnxmap.load(path)
    for thing, name in ((model, "nbytes"), (model.graph, "proto"), (model.graph.nodes[0], "proto")):
        with pytest.raises(AttributeError, match=rf"{name} is read-only; "):
            setattr(thing, name, 1)


def test_an_assignment_to_elements_of_a_tensor_says_what_to_do(path: Path) -> None:
    tensor: Any = onnxmap.load(path).initializers["head"]
    for key in (0, slice(1), ...):
        with pytest.raises(TypeError, match="a Tensor is read-only") as caught:
            tensor[key] = 5
        assert str(caught.value).endswith(": initializers[name] = array")
    with pytest.raises(TypeError, match="a Tensor is read-only"):
        del tensor[0]


def test_a_subclass_of_model_has_attributes_of_its_own(path: Path) -> None:
    class Named(onnxmap.Model):
        label: str

    model = Named.__new__(Named)
    model.label = "mine"
    assert model.label == "mine"


def test_a_name_with_little_in_common_is_not_suggested(path: Path) -> None:
    for kind, wrong in (("Model", "scope"), ("Graph", "nodal"), ("Tensor", "fishy")):
        with pytest.raises(AttributeError, match=f"{kind} has no attribute '{wrong}'$"):
            getattr(things(onnxmap.load(path))[kind], wrong)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("loadd", "load"), ("load_model", "load"), ("Tensr", "Tensor"), ("save_model", "save"),
        ("check_model", "Model.check"), ("save_file", "save_safetensors"),
    ],
)  # fmt: skip
def test_a_wrong_name_of_the_package(wrong: str, right: str) -> None:
    with pytest.raises(AttributeError, match=f"'{wrong}'; did you mean onnxmap.{right}[?]$"):
        getattr(onnxmap, wrong)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing_like_it'$"):
        _ = onnxmap.nothing_like_it


def test_a_wrong_member_of_data_type() -> None:
    for wrong, right in (("FLOAT32", "FLOAT"), ("float16", "FLOAT16"), ("BOOL8", "")):
        with pytest.raises(AttributeError, match=f"no member '{wrong}'") as caught:
            getattr(onnxmap.DataType, wrong)
        assert str(caught.value).endswith(f"; use .{right}" if right else f"'{wrong}'")


def test_python_prints_no_second_suggestion(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnxmap.load(path)
    for thing, wrong in (
        (model, "grph"), (model.graph, "node"), (model.graph.nodes[0], "optype"),
        (model.proto, "grph"), (onnxmap.DataType, "FLOAT32"), (onnxmap, "loadd"),
    ):  # fmt: skip
        with pytest.raises(AttributeError, match=r"did you mean|use \.") as caught:
            getattr(thing, wrong)
        sys.__excepthook__(AttributeError, caught.value, None)
        assert capsys.readouterr().err.endswith(f"AttributeError: {caught.value}\n")


def test_a_wrong_field_of_a_view_says_the_right_one(path: Path) -> None:
    view = onnxmap.load(path).proto
    with pytest.raises(AttributeError) as caught:
        _ = view.grph
    assert str(caught.value) == "ModelProto has no field 'grph'; did you mean 'graph'?"
    with pytest.raises(AttributeError, match=r"ModelProto has no field 'zzz\\x1b'$"):
        getattr(view, "zzz\x1b")
    with pytest.raises(AttributeError, match=r"'_grph'$"):  # Python looks for such names itself
        _ = view._grph


def test_a_wrong_name_in_a_list_says_which_list(path: Path) -> None:
    graph = onnxmap.load(path).graph
    for things, what in (
        (graph.inputs, "input"), (graph.outputs, "output"), (graph.value_infos, "value info"),
        (graph.nodes, "node"),
    ):  # fmt: skip
        with pytest.raises(KeyError, match=f"^no {what} is named 'nothing'"):
            things["nothing"]
    with pytest.raises(KeyError, match=r"^no input is named 'h'$"):
        graph.inputs["h"]
