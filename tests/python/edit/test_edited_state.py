"""The state of an edited model: `edited`, `revert()`, graphs that are replaced, ways of reading."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from support import wire_bytes as wire
from support.edits.models import EDIT_MODELS
from support.edits.rich_model import everything, rich, saved
from support.models.sample import external, floats, model_of, write
from support.readers.whole_models import disagreement
from support.run_options import SANITIZED

import onnxmap


def test_edited() -> None:
    model = rich()
    assert not model.edited
    model.graph.nodes[0].name = "if"  # what it was already
    assert model.edited
    assert repr(model).startswith("<onnxmap.Model from a buffer, edited: ")
    model.revert()
    assert not model.edited
    assert repr(model).startswith("<onnxmap.Model from a buffer: ")
    model.revert()
    for read in (lambda: str(model.proto), lambda: model.arrays(), lambda: repr(model)):
        read()
        assert not model.edited


def test_revert_gives_the_loaded_bytes() -> None:
    for name, data in EDIT_MODELS.items():
        if SANITIZED and name.startswith("backend"):
            continue
        model = onnxmap.loads(data)
        model.proto.Clear()
        model.proto.graph.name = "other"
        model.initializers["w"] = np.zeros(3)
        model.revert()
        assert onnxmap.dumps(model) == data, name
        assert disagreement(model) == "", name


def test_handles_after_revert() -> None:
    model = rich()
    names = {"Graph": str(model.proto.graph), "Function": str(model.proto.functions[0])}
    kept = everything(model)
    added = model.graph.nodes.add(op_type="New", name="new")
    gone = model.graph.nodes[1]
    inputs = gone.inputs
    gone.inputs.append("more")
    del model.graph.nodes[1]
    text = str(added.proto)
    model.revert()
    assert str(added.proto) == text  # it can still be read
    for thing in (added, kept["ShardingSpec"], kept["DeviceConfiguration"]):
        with pytest.raises(ValueError, match="removed"):
            thing.proto.Clear()
    assert inputs == ["x", "w", ""]
    gone.inputs.append("again")
    assert model.graph.nodes[1].inputs == ["x", "w", "", "again"]
    model.revert()
    for kind in ("Graph", "Function"):
        assert str(kept[kind].proto) == names[kind], kind
    for kind in ("Node", "Attribute", "ValueInfo", "Tensor", "Function", "Graph"):
        kept[kind].doc_string = "after"
    saved(model)


def test_a_graph_that_is_removed_and_made_anew() -> None:
    model = rich()
    old, initializers, nodes = model.graph, model.initializers, model.graph.nodes
    model.proto.ClearField("graph")
    assert (old.is_removed, old.name, len(nodes), len(initializers)) == (True, "main", 3, 7)
    assert initializers["w"].shape == (2, 3)
    for change in (
        lambda: setattr(old, "name", "x"), lambda: nodes.clear(), lambda: nodes[0].inputs.clear(),
        lambda: initializers.__setitem__("w", np.zeros(1)),
        lambda: initializers.__setitem__("new", np.zeros(1)),
        lambda: initializers.rename("w", "n"), lambda: old.metadata_props.__setitem__("k", "v"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="removed"):
            change()
    assert len(model.graph.nodes) == 0
    model.graph.name = "new"
    model.graph.nodes.append(nodes[1])
    model.initializers["n"] = initializers["w"]
    assert (model.graph.is_removed, model.graph.name, repr(old.name)) == (False, "new", "'main'")
    made = saved(model).graph
    assert ([one.name for one in made.node], [one.name for one in made.initializer]) == (
        ["gemm"], ["n"],
    )  # fmt: skip
    model.revert()
    assert (model.graph.name, old.name, old.is_removed) == ("main", "main", False)


def test_a_graph_that_is_replaced() -> None:
    model, other = rich(), rich()
    other.graph.name = "replaced"
    graph = model.graph
    model.proto.graph.CopyFrom(other.proto.graph)
    assert (graph.name, graph.is_removed) == ("replaced", False)  # it is still the model's graph
    model.proto.CopyFrom(onnxmap.loads(EDIT_MODELS["many nodes"]).proto)
    assert (graph.name, graph.is_removed, model.graph.name) == ("replaced", True, "many")
    assert disagreement(model) == ""


def test_handles_in_subgraphs_and_functions() -> None:
    model = rich()
    attribute = model.graph.nodes[0].attributes["then_branch"]
    branch = attribute.value
    loop = branch.nodes[0]
    body = loop.attributes["body"].value
    add = body.nodes["inner"]
    twin = model.functions["twice"].nodes[0]
    model.graph.nodes.reverse()
    model.graph.nodes.insert(0, model.graph.nodes["op"])
    add.inputs[1], twin.op_type, branch.name = "x", "Mul", "renamed"
    body.initializers["w"] = np.zeros(5)
    made = saved(model)
    found = next(one for one in made.graph.node[-1].attribute if one.name == "then_branch").g
    assert (found.name, found.node[0].attribute[0].g.node[0].input[1]) == ("renamed", "x")
    assert list(found.node[0].attribute[0].g.initializer[0].dims) == [5]
    assert made.functions[0].node[0].op_type == "Mul"
    attribute.value = onnxmap.make_graph([], "empty", [], [])
    for change in (lambda: setattr(add, "name", "x"), lambda: body.nodes.clear()):
        with pytest.raises(ValueError, match="removed"):
            change()
    assert (add.op_type, body.initializers["w"].shape) == ("Add", (5,))
    assert saved(model).graph.node[-1].attribute[-1].g.name in ("empty", "else")


def test_a_closed_model_is_not_edited() -> None:
    model = rich()
    graph, node, mapping = model.graph, model.graph.nodes[0], model.metadata_props
    initializers = model.initializers
    model.close()
    for change in (
        lambda: setattr(model, "doc_string", "x"), lambda: setattr(model, "functions", []),
        lambda: model.metadata_props.clear(), lambda: setattr(model, "opset_imports", {}),
        lambda: model.initializers.clear(), lambda: model.revert(), lambda: model.edited,
        lambda: model.proto.Clear(), lambda: onnxmap.dumps(model),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="closed"):
            change()
    # What was taken from it is as valid as its arrays are.
    node.name, mapping["k"] = "renamed", "v"
    initializers["w"] = np.zeros(2)
    assert (graph.nodes[0].name, graph.initializers["w"].shape) == ("renamed", (2,))


@pytest.mark.parametrize("options", [
    {"io": "read"}, {"check": "lazy"}, {"lenient": True}, {"watch": False},
    {"io": "read", "check": "lazy", "lenient": True},
], ids=str)  # fmt: skip
def test_ways_of_reading(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(np.arange(9, dtype=np.float32).tobytes())
    made = onnx.ModelProto.FromString(EDIT_MODELS["rich"])
    made.graph.initializer.append(external("outside", [9], {"location": "w.bin"}))
    made.graph.initializer.append(floats("large", 5_000))
    model = onnxmap.load(write(made, tmp_path / "m.onnx"), **options)
    model.initializers["w"] = np.arange(3, dtype=np.int8)
    model.initializers["copy"] = model.initializers["large"]
    model.initializers["inline"] = model.initializers["outside"]
    model.initializers["typed"] = model.initializers["l"]
    model.graph.nodes[1].inputs.append("more")
    del model.graph.nodes[0]
    for name, array in {
        **model.views(), **model.arrays(), **dict(model.stream()), **dict(model.stream(copy=True)),
    }.items():  # fmt: skip
        assert array.tolist() == model.initializers[name].numpy().tolist()
    assert model.initializers["copy"].numpy()[4_999] == 4_999
    assert model.initializers["inline"].numpy().tolist() == list(range(9))
    again = onnxmap.loads(onnxmap.dumps(model), external_root=tmp_path)
    assert onnxmap.dumps(again) == onnxmap.dumps(model)
    assert (tmp_path / "m.onnx").read_bytes() == made.SerializeToString()


def test_lenient_reads_what_an_edit_made_wrong() -> None:
    surplus = TensorProto(name="w", dims=[1], data_type=1, float_data=[1.5])
    for lenient in (False, True):
        model = onnxmap.loads(model_of([surplus]).SerializeToString(), lenient=lenient)
        model.proto.graph.initializer[0].raw_data = b"\0\0\0\0"
        if lenient:
            with pytest.warns(onnxmap.TensorWarning):
                assert model.initializers["w"].numpy().shape == (1,)
        else:
            with pytest.raises(onnxmap.TensorError):
                model.initializers["w"].numpy()


def test_a_buffer_that_changes() -> None:
    data = bytearray(model_of([floats("w", 5_000)]).SerializeToString())
    model = onnxmap.loads(data)
    model.graph.name = "edited"
    model.initializers["v"] = model.initializers["w"]
    end = data.rindex(np.float32(4_999).tobytes())
    data[end : end + 4] = np.float32(7).tobytes()
    assert model.initializers["w"].numpy()[-1] == 7
    assert model.initializers["v"].numpy()[-1] == 7  # it refers to the same bytes
    assert onnx.ModelProto.FromString(onnxmap.dumps(model)).graph.name == "edited"


def test_unknown_fields_stay() -> None:
    inner = wire.scalar(999, 5)
    node = wire.blob(4, b"Add") + inner
    data = inner + wire.blob(7, inner + wire.blob(1, node) + inner) + inner
    model = onnxmap.loads(data)
    model.graph.nodes[0].name = "n"
    model.graph.name = "g"
    model.doc_string = "d"
    found = onnxmap.dumps(model)
    assert found.count(inner) == data.count(inner) == 5
    made = onnxmap.loads(found)
    for view in (made.proto, made.proto.graph, made.proto.graph.node[0]):
        assert [one.field_number for one in view.unknown_fields][:1] == [999]
    copied = copy.deepcopy(model.graph.nodes[0])
    assert len(copied.proto.unknown_fields) == 1
    model.graph.nodes[0] = copied
    model.graph.nodes.append(copied)
    assert onnxmap.dumps(model).count(inner) == 6
    model.proto.graph.node[0].Clear()
    assert onnxmap.dumps(model).count(inner) == 5


def test_equality_and_hash_follow_edits() -> None:
    one, two = rich(), rich()
    node, same = one.graph.nodes[1], two.graph.nodes[1]
    kept = {node: "kept"}
    assert (node == same, hash(node) == hash(same)) == (True, True)
    node.name = "other"
    assert (node == same, node == one.graph.nodes[1]) == (False, True)
    assert node in one.graph.nodes
    assert same not in one.graph.nodes
    same.name = "other"
    assert (node == same, hash(node) == hash(same)) == (True, True)
    assert one.graph == two.graph
    two.graph.nodes[0].attributes["then_branch"].value.name = "deep"
    assert one.graph != two.graph
    node.name = "gemm"
    assert kept[node] == "kept"
    assert one.proto != two.proto
    two.revert()
    one.revert()
    assert one.proto == two.proto


def test_the_same_edit_by_each_interface_gives_the_same_bytes() -> None:
    def by_protobuf(model: onnxmap.Model) -> None:
        model.proto.graph.node[1].op_type = "Gelu"
        del model.proto.graph.node[0]
        model.proto.metadata_props[0].value = "other"

    def by_classes(model: onnxmap.Model) -> None:
        model.graph.nodes["gemm"].op_type = "Gelu"
        model.graph.nodes.remove(model.graph.nodes["if"])
        model.metadata_props["license"] = "other"

    models = [rich(), rich()]
    by_protobuf(models[0])
    by_classes(models[1])
    assert onnxmap.dumps(models[0]) == onnxmap.dumps(models[1])


def test_a_description_of_what_was_removed_or_edited() -> None:
    model = rich()
    node = model.graph.nodes.pop(1)
    assert repr(node) == "<onnxmap.Node 'gemm' Gemm(x, w, ) -> (y)>"
    model.graph.nodes[0].name = "renamed"
    assert repr(model.graph.nodes[0]).startswith("<onnxmap.Node 'renamed' If(c) -> (r)")
    model.initializers["w"] = np.zeros((2, 2), np.int8)
    assert repr(model.initializers["w"]) == "<onnxmap.Tensor 'w' INT8 [2, 2], 4 B, inline>"
    assert "2 nodes, 7 initializers" in repr(model)
    model.proto.ClearField("graph")
    assert "0 nodes, 0 initializers" in repr(model)
    assert "<table" in model._repr_html_()
    assert "<table" in node._repr_html_()
    model.close()
    assert repr(model) == "<onnxmap.Model closed>"


def test_helpers_of_onnx_read_what_was_made() -> None:
    model = rich()
    model.graph.nodes = [onnxmap.make_node("Relu", ["x"], ["y"])]
    model.graph.value_infos = []
    model.functions = []
    model.training_info = []
    model.proto.graph.ClearField("quantization_annotation")
    model.proto.graph.ClearField("initializer")
    model.opset_imports, model.ir_version = {"": 21}, 10
    model.graph.outputs[0].type = model.graph.inputs[0].type
    onnx.checker.check_model(onnx.ModelProto.FromString(onnxmap.dumps(model)), full_check=True)
