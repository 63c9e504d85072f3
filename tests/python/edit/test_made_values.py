"""What becomes a message before an edit: odd values, code that runs, and other threads."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxmap
from onnxmap import _core
from onnxmap.types import SequenceType, TensorType


def model() -> onnxmap.Model:
    node = helper.make_node("Op", ["x"], ["y"], axis=1)
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "n"])
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])
    graph = helper.make_graph([node], "g", [value], [], [weight])
    return onnxmap.loads(helper.make_model(graph).SerializeToString())


def failing() -> Iterator[tuple[str, int]]:
    yield "a", 1
    raise ValueError("mine")


@pytest.mark.parametrize(
    "make", [failing, lambda: iter(["abc"]), lambda: iter([5]), lambda: iter([("a", 1), 5])]
)
def test_attributes_of_an_iterator_that_fails_stay(make: Callable[[], Any]) -> None:
    m = model()
    with pytest.raises(TypeError, match="attribute: expected a mapping") as caught:
        m.graph.nodes[0].attributes = make()
    assert isinstance(caught.value.__cause__, (TypeError, ValueError))
    assert not m.edited


def test_attributes_of_pairs() -> None:
    m = model()
    m.graph.nodes[0].attributes = iter([("a", 1), ("b", "x")])  # type: ignore[assignment]
    values = {name: each.value for name, each in m.graph.nodes[0].attributes.items()}
    assert values == {"a": 1, "b": b"x"}


def test_an_empty_list_for_a_repeated_name_does_not_warn() -> None:
    m = model()
    node = m.graph.nodes[0]
    for kind, field in ((7, "ints"), (6, "floats")):
        node.proto.attribute.add(name="twice", type=kind, **{field: [1]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        node.attributes["twice"] = []
    assert node.proto.attribute[2].type == onnxmap.AttributeType.FLOATS


def test_the_error_for_a_value_of_none_names_what_was_done() -> None:
    attributes = model().graph.nodes[0].attributes
    with pytest.raises(TypeError, match="a value of type NoneType has no type of ONNX"):
        attributes["axis"].value = None
    with pytest.raises(TypeError, match="`del` removes an entry"):
        attributes["axis"] = None


class Indexed:
    def __getitem__(self, i: int) -> int:
        return (3, 4)[i]


@pytest.mark.parametrize(
    "shape", [np.array(5), TensorType, "n", b"n", 5, type("No", (), {"__iter__": 1})()]
)
def test_no_shape(shape: Any) -> None:
    value = model().graph.inputs[0]
    with pytest.raises(TypeError, match="a shape is a sequence of dimensions"):
        value.shape = shape
    assert value.shape == (2, "n")


def test_shapes_and_denotations_of_any_sequence() -> None:
    value = model().graph.inputs[0]
    value.shape = Indexed()  # type: ignore[assignment]
    assert value.shape == (3, 4)
    value.type = TensorType(1, (3, 4), (each for each in "AB"))  # type: ignore[arg-type]
    assert value.type.shape_denotation == ("A", "B")
    value.type = TensorType(1, (3, 4), np.array(["C", "D"]))  # type: ignore[arg-type]
    assert value.type.shape_denotation == ("C", "D")
    with pytest.raises(TypeError):
        value.type = TensorType(1, None, 5)  # type: ignore[arg-type]


def test_a_type_that_is_in_itself() -> None:
    class Endless(SequenceType):
        @property
        def elem_type(self) -> Endless:  # type: ignore[override]
            return self

    with pytest.raises(onnxmap.LimitError):
        model().graph.inputs[0].type = Endless(None)


@pytest.mark.parametrize(("name", "given"), [("dtype", "FLOAT"), ("shape", (4, "m"))])
def test_the_parts_of_a_type_are_assigned_in_one_step(name: str, given: Any) -> None:
    value = model().graph.inputs[0]
    end = time.monotonic() + 0.5
    errors: list[Exception] = []

    def assign(assigned: str, to: Any) -> None:
        try:
            while time.monotonic() < end and not errors:
                setattr(value, assigned, to)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [
        threading.Thread(target=assign, args=pair)
        for pair in (("type", TensorType(1, (2,))), (name, given))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_private_functions_refuse_what_would_harm() -> None:
    m = model()
    other = m.graph.proto
    for call in (
        lambda: m.graph.nodes[0].attributes["axis"]._assign(other),
        lambda: _core.add_setter(_core.Node, None, print),
        lambda: _core.pack(np.ones(1000, np.uint8)[::-1], 4, np.empty(500, np.uint8)),
        lambda: _core.pack(np.ones(1000, np.uint8), 4, np.empty(500, np.uint8)[::-1]),
        lambda: _core.pack(np.ones(1000, np.uint8), 4, np.empty(499, np.uint8)),
        lambda: _core.hold_raw_data(other, b"abcdef"),
        lambda: _core.hold_values(other, m.initializers["w"]),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert not m.edited
