"""Arrays and large texts of removed messages are released with the last object of the message.

An object that is kept shows all it had, also after `revert`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.run_options import SANITIZED

import onnxmap

MIB = 1 << 20
CYCLES = 24
MOST_KEPT = 8 * MIB

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps memory that was freed")


def array(number: int) -> np.ndarray[Any, Any]:
    return np.full((2, MIB // 8), number, np.float32)


def text(number: int) -> str:
    return str(number % 10) * MIB


def tensor_node(number: int) -> onnxmap.ProtoView:
    value = onnxmap.make_tensor("t", 1, [MIB // 4], array(number).tobytes(), raw=True)
    return onnxmap.make_node("Constant", [], ["c"], value=value)


def node(model: Any, number: int) -> Any:
    model.graph.nodes.append(tensor_node(number))
    return model.graph.nodes.pop()


def node_known_before_it_was_edited(model: Any, number: int) -> Any:
    model.graph.nodes.append(onnxmap.make_node("Constant", [], ["c"]))
    added = model.graph.nodes[-1]
    added.attributes["value"] = array(number)
    del model.graph.nodes[-1]
    return added


def message_in_a_removed_node(model: Any, number: int) -> Any:
    inner = onnxmap.make_graph([tensor_node(number)], "inner", [], [])
    model.graph.nodes.append(onnxmap.make_node("If", ["x"], ["y"], then_branch=inner))
    branch = model.graph.nodes[-1].attributes["then_branch"].value
    branch.nodes[0].attributes["other"] = array(number + 1)
    del model.graph.nodes[-1]
    return branch.nodes[0]


def initializer_of_proto(model: Any, number: int) -> Any:
    tensor = model.proto.graph.initializer.add(name="v", dims=[MIB // 4], data_type=1)
    tensor.raw_data = array(number).tobytes()
    return model.proto.graph.initializer.pop()


def initializer(model: Any, number: int) -> Any:
    model.initializers["v"] = array(number)
    model.initializers["v"] = array(number + 1)
    tensor = model.initializers["v"]
    del model.initializers["v"]
    return tensor


def replaced_initializer(model: Any, number: int) -> Any:
    model.initializers["w"] = array(number)
    return model.initializers["w"]


def metadata(model: Any, number: int) -> Any:
    model.metadata_props["key"] = text(number)
    entry = model.proto.metadata_props[0]
    del model.metadata_props["key"]
    return entry


def metadata_value(model: Any, number: int) -> Any:
    model.metadata_props["key"] = text(number)


def doc_string(model: Any, number: int) -> Any:
    model.graph.doc_string = text(number)


def attribute(model: Any, number: int) -> Any:
    attributes = model.graph.nodes[0].attributes
    attributes["new"] = array(number)
    found = attributes["new"]
    del attributes["new"]
    return found


def attribute_value(model: Any, number: int) -> Any:
    model.graph.nodes[0].attributes["a"].value = array(number)


def message_that_was_absent(model: Any, number: int) -> None:
    attribute = model.proto.graph.node[0].attribute[0]
    tensor = attribute.t
    tensor.raw_data = array(number).tobytes()
    attribute.ClearField("t")
    assert shown(tensor) == b""


def reverted(model: Any, number: int) -> Any:
    model.initializers["v"] = array(number)
    tensor = model.initializers["v"]
    model.revert()
    return tensor


CHANGES: list[Callable[[Any, int], Any]] = [
    node, node_known_before_it_was_edited, message_in_a_removed_node, initializer_of_proto,
    initializer, replaced_initializer, metadata, metadata_value, doc_string, attribute,
    attribute_value, message_that_was_absent, reverted,
]  # fmt: skip


def loaded() -> onnxmap.Model:
    graph = {
        "name": "graph",
        "node": [{"op_type": "A", "attribute": [{"name": "a", "i": 1}]}],
        "initializer": [{"name": "w", "dims": [0], "data_type": 1}],
    }
    return onnxmap.loads(onnxmap.dumps(onnxmap.new("ModelProto", ir_version=9, graph=graph)))


def shown(message: Any) -> bytes:
    data: bytes = onnxmap.dumps(message)
    return data


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_was_removed_is_released(change: Callable[[Any, int], Any]) -> None:
    model = loaded()
    for number in range(3):
        kept = change(model, number)
    before = None if kept is None else shown(kept)
    gc.collect()
    first = resident_bytes()
    for number in range(CYCLES):
        change(model, number + 5)
    gc.collect()
    assert resident_bytes() - first < MOST_KEPT
    if before is None:
        return
    if change is not replaced_initializer:  # not so large, too
        assert len(before) >= MIB
    assert shown(kept) == before
    model.revert()
    assert shown(kept) == before


def test_an_object_keeps_only_its_own_message_when_the_edits_are_reverted() -> None:
    """Each `revert` once left all it took away to all objects."""
    model = loaded()
    kept, first = [], resident_bytes()
    for number in range(CYCLES):
        model.graph.nodes.append(onnxmap.make_node("Z", [], [], name=str(number)))
        kept.append(model.graph.nodes[-1])
        kept[-1].inputs = ["x"]
        model.initializers["v"] = array(number)
        tensor = model.initializers["v"]
        model.revert()
    del tensor
    gc.collect()
    assert resident_bytes() - first < MOST_KEPT
    assert [(node.name, *node.inputs) for node in kept] == [(str(i), "x") for i in range(CYCLES)]


@pytest.mark.parametrize("last", [0, 1, 2])
def test_objects_within_each_other_keep_what_they_show(last: int) -> None:
    """They share it after `revert`, whichever of them goes first."""
    model = loaded()
    model.graph.nodes.append(onnxmap.make_node("Z", [], [], a=onnxmap.make_tensor("t", 1, [0], [])))
    node = model.graph.nodes[-1]
    attribute = node.proto.attribute[0]
    objects = [attribute.t, node.proto, attribute]
    objects[0].name, objects[1].name, objects[2].name = "tensor", "node", "attribute"
    before = [shown(each) for each in objects]
    del node, attribute
    model.revert()
    assert [shown(each) for each in objects] == before
    objects[:] = [objects[last]]
    gc.collect()
    assert shown(objects[0]) == before[last]


def test_a_handle_keeps_its_message_when_the_edits_are_reverted() -> None:
    """A removed node once lost the edits that were made between its addition and its removal."""
    model = loaded()
    model.graph.nodes.append(onnxmap.make_node("Z", ["q"], ["z"], name="first"))
    added = model.graph.nodes[-1]
    added.name = "second"
    added.inputs = ["r"]
    model.graph.nodes.append(added)
    removed = model.graph.nodes.pop()
    for _ in range(2):
        model.revert()
        assert not model.edited
        for each in (added, removed):
            assert (each.name, list(each.inputs)) == ("second", ["r"])
            with pytest.raises(onnxmap.EditError):
                each.name = "third"
        model.graph.name = "edited again"
    assert len(model.graph.nodes) == 1


def test_a_loaded_message_is_back_when_its_removal_is_reverted() -> None:
    model = loaded()
    node = model.graph.nodes[0]
    node.name = "edited"
    del model.graph.nodes[0]
    assert node.name == "edited"
    model.revert()
    assert node.name == ""
    node.name = "edited again"
    assert model.graph.nodes[0].name == "edited again"


def resident_bytes() -> int:
    with open("/proc/self/status") as status:  # noqa: PTH123
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))
