"""What a plain interpreter shows of lists and mappings: their first elements."""

from __future__ import annotations

from functools import partial
from typing import Any

from onnx import TensorProto, helper
from support.models.sample import floats, model_of
from support.processes.work import instructions_of

import onnxmap

LONG = "n" * 1_000_000


def model_with(inputs: int, **node: Any) -> onnxmap.Model:
    made = model_of([floats("w", 2)])
    made.graph.input.extend(
        helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [1, "N"]) for i in range(inputs)
    )
    made.graph.node.append(helper.make_node("Op", ["a", "\x1b[31m"], ["b"], **node))
    return onnxmap.loads(made.SerializeToString())


def test_a_list_of_messages_shows_them() -> None:
    assert repr(model_with(1).graph.inputs) == "[<onnxmap.ValueInfo 'x0': FLOAT [1, N]>]"
    two = "[<onnxmap.ValueInfo 'x0': FLOAT [1, N]>,\n <onnxmap.ValueInfo 'x1': FLOAT [1, N]>]"
    assert repr(model_with(2).graph.inputs) == two
    lines = repr(model_with(2000).graph.inputs).splitlines()
    assert lines[7:] == [" <onnxmap.ValueInfo 'x7': FLOAT [1, N]>,", " ... 1,992 more]"]
    assert repr(model_with(1).functions) == "[]"


def test_a_list_of_views_shows_their_types() -> None:
    model = model_with(1)
    assert repr(model.proto.graph.node) == "[<onnxmap.ProtoView NodeProto, 17 bytes>]"
    assert repr(onnxmap.new("NodeProto").attribute) == "[]"


def test_a_list_of_values_is_shown_as_a_list() -> None:
    node = model_with(0, ints=list(range(60)), floats=[0.5]).graph.nodes[0]
    assert repr(node.inputs) == r"['a', '\x1b[31m']"
    assert repr(node.outputs) == "['b']"
    ints = node.attributes["ints"].proto.ints
    assert repr(ints) == f"[{', '.join(map(str, range(50)))}, ... 10 more]"
    assert repr(node.attributes["floats"].proto.floats) == "[0.5]"


def test_a_mapping_is_shown_as_a_dict() -> None:
    model = model_with(0, axis=1)
    assert repr(model.opset_imports) == "{'': 21}"
    assert repr(model.metadata_props) == "{}"
    attributes = model.graph.nodes[0].attributes
    assert repr(attributes) == "{'axis': <onnxmap.Attribute 'axis' INT = 1>}"
    model.metadata_props = {f"k{i}": "v" for i in range(51)}
    assert repr(model.metadata_props).endswith(", 'k49': 'v', ... 1 more}")


def test_long_names_are_cut() -> None:
    model = model_with(0, **{LONG: LONG})
    node = model.graph.nodes[0]
    node.inputs = [LONG, "a"]
    model.metadata_props = {LONG: LONG}
    cut = f"'{'n' * 300}'..."
    assert repr(node.inputs) == f"[{cut}, 'a']"
    assert repr(model.metadata_props) == f"{{{cut}: {cut}}}"
    model.graph.inputs = [onnxmap.make_value_info(LONG, ("float32", [LONG]))] * 10
    shown: tuple[Any, ...] = (
        node.inputs, node.attributes, model.metadata_props, model.graph.nodes, model.graph.inputs,
    )  # fmt: skip
    for each in shown:
        assert len(repr(each)) < 5000
        assert len(each._repr_html_()) < 5000


def test_long_lists_take_no_more_work() -> None:
    small, large = model_with(1000).graph.inputs, model_with(20_000).graph.inputs
    for show in (repr, lambda inputs: inputs._repr_html_()):
        show(small)  # imports what it needs
        few, many = (instructions_of(partial(show, each)) for each in (small, large))
        assert many < 1.1 * few
