"""Handles of messages that were changed, removed or replaced since.

Whatever happens around a handle, reading it, writing it to bytes, pickling and copying it show the
same message. Once its message is no longer part of the model, the message does not change, unless
`revert` takes it back into the model.
"""

from __future__ import annotations

import contextlib
import copy
import pickle
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.edits.programs import random_program
from support.edits.runs import OnnxmapSide, Program, Run
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

PROGRAMS = 100_000 if LONG else 4 if SANITIZED else 1_000 if EXHAUSTIVE else 30
PROGRAMS_A_TEST = min(10, PROGRAMS)
SIZE = 20  # edits of a program
MOST_HANDLES = 12  # that are looked at after each edit
LARGE = 2000  # numbers whose bytes are not copied


def array(rng: random.Random) -> np.ndarray[Any, Any]:
    count = rng.choice((0, 3, LARGE))
    return np.full(count, rng.randrange(100), rng.choice((np.float32, np.int64)))


def some_initializer(model: onnxmap.Model, rng: random.Random) -> str:
    return rng.choice([*model.initializers, "new"])


def assign_array(model: onnxmap.Model, rng: random.Random) -> None:
    model.initializers[some_initializer(model, rng)] = array(rng)


def swap(model: onnxmap.Model, rng: random.Random) -> None:
    a, b = some_initializer(model, rng), some_initializer(model, rng)
    model.initializers[a], model.initializers[b] = model.initializers[b], model.initializers[a]


def remove_initializer(model: onnxmap.Model, rng: random.Random) -> None:
    del model.initializers[some_initializer(model, rng)]


def assign_attribute(model: onnxmap.Model, rng: random.Random) -> None:
    node = rng.choice(list(model.graph.nodes))
    name = rng.choice([*node.attributes, "new"])
    node.attributes[name] = rng.choice((1, 2.5, "text", [1, 2], array(rng)))


def change_attribute(model: onnxmap.Model, rng: random.Random) -> None:
    node = rng.choice([one for one in model.graph.nodes if one.attributes])
    rng.choice(list(node.attributes.values())).value = rng.choice((7, [3], array(rng)))


def change_type(model: onnxmap.Model, rng: random.Random) -> None:
    value = rng.choice([*model.graph.inputs, *model.graph.outputs])
    value.type = rng.choice((None, onnxmap.types.TensorType(onnxmap.DataType.FLOAT, (2, "n"))))


def change_shape(model: onnxmap.Model, rng: random.Random) -> None:
    rng.choice([*model.graph.inputs, *model.graph.outputs]).shape = rng.choice((None, (1, "b")))


def replace_node(model: onnxmap.Model, rng: random.Random) -> None:
    nodes = model.graph.nodes
    nodes[rng.randrange(len(nodes))] = rng.choice(nodes)


def replace_nodes(model: onnxmap.Model, rng: random.Random) -> None:
    nodes = model.graph.nodes
    nodes[:: rng.choice((1, -1))] = list(nodes)[::-1]


def change_metadata(model: onnxmap.Model, rng: random.Random) -> None:
    model.metadata_props[rng.choice("abc")] = str(rng.random())


def import_opset(model: onnxmap.Model, rng: random.Random) -> None:
    model.opset_imports[rng.choice(("", "a"))] = rng.randrange(1, 20)


def revert(model: onnxmap.Model, rng: random.Random) -> None:
    model.revert()


EDITS: list[Callable[[onnxmap.Model, random.Random], None]] = [
    assign_array, assign_array, swap, remove_initializer, assign_attribute, change_attribute,
    change_type, change_shape, replace_node, replace_nodes, change_metadata, import_opset, revert,
]  # fmt: skip


def messages(view: Any) -> Iterator[Any]:
    """A message and all messages in it."""
    yield view
    for _, value in view.ListFields():
        found = value if isinstance(value, onnxmap.MessageList) else [value]
        for each in found:
            if isinstance(each, onnxmap.ProtoView):
                yield from messages(each)


def is_removed(view: Any) -> bool:
    try:
        view.SetInParent()
    except onnxmap.EditError:
        return True
    return False


def check(view: Any) -> str:
    """Return the text of a message, after a look at everything else that shows it."""
    text = str(view)
    data = view.SerializeToString()
    assert str(onnxmap.loads_proto(data, view.message_type)) == text
    for made in (copy.copy(view), copy.deepcopy(view), pickle.loads(pickle.dumps(view))):
        assert str(made) == text
    if view.message_type == "TensorProto":
        tensor = onnxmap.wrap(view)
        assert onnxmap.dumps(tensor) == data
        try:
            expected = tensor.numpy()
        except onnxmap.OnnxMapError:
            return text
        found = pickle.loads(pickle.dumps(tensor)).numpy()
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist() or found.tobytes() == expected.tobytes()  # NaN
    return text


class Handles:
    """Handles of one model, and what they showed last."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.shown: dict[int, tuple[Any, str, bool]] = {}

    def take(self, model: Any) -> None:
        found = list(messages(model))
        for view in self.rng.sample(found, min(3, len(found))):
            self.shown[id(view)] = view, str(view), False
        for old in list(self.shown)[:-MOST_HANDLES]:
            del self.shown[old]

    def look(self) -> None:
        for number, (view, before, _was_removed) in self.shown.items():
            removed = is_removed(view)
            text = check(view)
            if removed:
                assert text == before
            self.shown[number] = view, text, removed


def run(seed: int) -> None:
    rng = random.Random(f"handles {seed}")
    program: Program = random_program(seed, SIZE)
    side = OnnxmapSide(program)
    model = side.models[0]
    steps = Run(side, is_oracle=False)
    handles = Handles(rng)
    for edit in program.edits:
        handles.take(model.proto)
        if rng.random() < 0.5:
            change = rng.choice(EDITS)
            # The model may have nothing to change.
            with contextlib.suppress(
                onnxmap.OnnxMapError, IndexError, KeyError, ValueError, TypeError
            ):
                change(model, rng)
        else:
            steps.execute(edit)
        handles.look()


@pytest.mark.filterwarnings("ignore::onnxmap.RepeatedKeyWarning")
@pytest.mark.parametrize("first", range(0, PROGRAMS, PROGRAMS_A_TEST))
def test_a_handle_shows_one_message_to_all(first: int) -> None:
    for seed in range(first, first + PROGRAMS_A_TEST):
        run(seed)


def test_a_tensor_that_was_replaced() -> None:
    """Its pickles, bytes and copies once had the values of the new tensor."""
    weights = {name: np.full(LARGE, number, np.float32) for number, name in enumerate("vw")}
    model = onnxmap.from_arrays(weights)
    old = dict(model.initializers)
    model.initializers["v"], model.initializers["w"] = old["w"], old["v"]
    for name, tensor in old.items():
        for read in (
            tensor.numpy,
            pickle.loads(pickle.dumps(tensor)).numpy,
            onnxmap.wrap(onnxmap.loads_proto(onnxmap.dumps(tensor), "TensorProto")).numpy,
            onnxmap.wrap(copy.deepcopy(tensor.proto)).numpy,
        ):
            assert np.array_equal(read(), weights[name])
        with pytest.raises(onnxmap.EditError):
            tensor.doc_string = "text"
    for name, other in (("v", "w"), ("w", "v")):
        assert np.array_equal(model.initializers[name].numpy(), weights[other])


@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps memory that was freed")
def test_a_loop_of_reverts_keeps_little_memory() -> None:
    model = onnxmap.from_arrays({"w": np.zeros(3, np.float32)})
    first = kilobytes_of_memory()
    for _ in range(2_000):
        model.graph.name = "x" * 100
        model.revert()
    assert kilobytes_of_memory() - first < 64 << 10


def kilobytes_of_memory() -> int:
    with open("/proc/self/status") as status:  # noqa: PTH123
        return next(int(line.split()[1]) for line in status if line.startswith("VmSize"))
