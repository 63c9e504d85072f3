"""Constants that are sizes: `Model.set_dims` lists them, and rewrites them with `constants=True`.

The oracle is the same model made for the new sizes. onnxruntime runs both.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from support.edits.rich_model import saved
from support.processes.work import Work, too_steep
from support.run_options import EXHAUSTIVE, LONG
from support.surgery.shape_models import ShapeModel
from support.surgery.size_models import assert_same, loads, model_of, node, results, sizes

import onnxmap

ort = pytest.importorskip("onnxruntime")

B, S, NEW_B, NEW_S = 4, 5, 3, 7  # sizes of the first and the last axis
SAMPLES = 5_000 if LONG else 600 if EXHAUSTIVE else 60


def chain(*inner: NodeProto, **constants: Any) -> ModelProto:
    """A Reshape of x [B, 6, S] to what `inner` makes of constants: s."""
    shape = [constants.pop("b", B), 6, constants.pop("of_x", S)]
    return model_of([*inner, node("Reshape", "x s", "y")], shape, constants, rank=3)


# Models for B and S sizes, and the place of the constant.
Chain = tuple[Callable[[int, int], ModelProto], list[str]]
CHAINS: dict[str, Chain] = {
    "Concat": (
        lambda b, s: chain(node("Concat", "p q r", "s", axis=0), p=sizes(b), q=sizes(6),
                           r=sizes(s), b=b, of_x=s),
        ["graph.node[0].input[0]", "graph.node[0].input[2]"],
    ),
    "Unsqueeze": (
        lambda b, s: chain(node("Unsqueeze", "n zero", "u"), node("Concat", "u p", "s", axis=0),
                           n=np.int64(b), zero=sizes(0), p=sizes(6, -1), b=b, of_x=s),
        ["graph.node[0].input[0]"],
    ),
    "Cast": (
        lambda b, s: chain(node("Cast", "n", "s", to=TensorProto.INT64),
                           n=sizes(b, 6, s, dtype=np.int32), b=b, of_x=s),
        ["graph.node[0].input[0]"],
    ),
    "Gather": (
        lambda b, s: chain(node("Gather", "all at", "s"), all=sizes(6, s, b), at=sizes(2, 0, 1),
                           b=b, of_x=s),
        ["graph.node[0].input[0]"],
    ),
    "Identity": (
        lambda b, s: chain(node("Identity", "p", "q"), node("Identity", "q", "s"),
                           p=sizes(b, 6, s), b=b, of_x=s),
        ["graph.node[0].input[0]"],
    ),
    "Squeeze": (
        lambda b, s: chain(node("Squeeze", "p", "s"), p=sizes(b, 6, s).reshape(1, 3), b=b, of_x=s),
        ["graph.node[0].input[0]"],
    ),
    "Slice": (
        lambda b, s: chain(node("Slice", "p one last", "s"), p=sizes(9, b, 6, s), one=sizes(1),
                           last=sizes(9), b=b, of_x=s),
        ["graph.node[0].input[0]"],
    ),
    "Where": (
        lambda b, s: chain(node("Equal", "p minus", "is"), node("Where", "is six p", "s"),
                           p=sizes(b, -1, s), minus=sizes(-1), six=np.int64(6), b=b, of_x=s),
        ["graph.node[1].input[2]"],
    ),
    "Reshape": (
        lambda b, s: chain(node("Reshape", "n one", "u"), node("Concat", "u p", "s", axis=0),
                           n=np.int64(b), one=sizes(-1), p=sizes(6, -1), b=b, of_x=s),
        ["graph.node[0].input[0]"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_sizes_are_followed_through(name: str) -> None:
    make, places = CHAINS[name]
    model = loads(make(B, S))
    assert model.set_dims(inputs={"x": [NEW_B, 6, NEW_S]}) == ([], places, [])
    model = loads(make(B, S))
    assert model.set_dims(inputs={"x": [NEW_B, 6, NEW_S]}, constants=True) == ([], [], places)
    assert_same(saved(model), make(NEW_B, NEW_S), [NEW_B, 6, NEW_S])
    model.revert()
    assert saved(model) == make(B, S)


def used(kind: str, b: int, s: int) -> ModelProto:
    """A node that takes sizes in another way than Reshape."""
    match kind:
        case "Expand":
            nodes = [node("ReduceSum", "x last", "r"), node("Expand", "r s", "y")]
            return model_of(nodes, [b, 6, s], {"s": sizes(b, 6, s), "last": sizes(2)})
        case "Resize":
            constants = {"s": sizes(b, 1, 12, s)}
            return model_of([node("Resize", "x   s", "y")], [b, 1, 6, s], constants)
        case "ConstantOfShape":
            nodes = [
                node("Shape", "x", "all"), node("Gather", "all zero", "first"),
                node("Concat", "first s", "both", axis=0), node("ConstantOfShape", "both", "o"),
                node("Add", "o x", "y"),
            ]  # fmt: skip
            return model_of(nodes, [b, 6, s], {"s": sizes(6, s), "zero": sizes(0)})
        case "AffineGrid":
            nodes = [
                node("ReduceSum", "x axes", "r"), node("Reshape", "r six", "m"),
                node("AffineGrid", "m s", "y"),
            ]  # fmt: skip
            constants = {"s": sizes(b, 1, 4, s), "axes": sizes(3), "six": sizes(-1, 2, 3)}
            return model_of(nodes, [b, 1, 6, s], constants, opset=20, ir_version=9)
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["Expand", "Resize", "ConstantOfShape", "AffineGrid"])
def test_operators_that_take_sizes(kind: str) -> None:
    before, wanted = used(kind, B, S), used(kind, NEW_B, NEW_S)
    shape = [dim.dim_value for dim in wanted.graph.input[0].type.tensor_type.shape.dim]
    model = loads(before)
    report = model.set_dims(inputs={"x": shape}, constants=True)
    assert len(report.rewritten) == 1
    assert report.constants == []
    assert_same(saved(model), wanted, shape)


@pytest.mark.parametrize("kind", ["Slice", "Split", "Pad"])
def test_positions_are_listed_and_stay(kind: str) -> None:
    """A half of 10 channels is no width of 5."""
    nodes = {
        "Slice": node("Slice", "x zero s one", "y"),
        "Split": helper.make_node("Split", ["x", "both"], ["y", "rest"], axis=1),
        "Pad": node("Pad", "x pads", "y"),
    }
    constants = {
        "zero": sizes(0), "s": sizes(S), "one": sizes(1), "both": sizes(S, S),
        "pads": sizes(0, 0, 0, 0, S, 0),
    }  # fmt: skip
    model = loads(model_of([nodes[kind]], [B, 10, S], constants))
    report = model.set_dims(inputs={"x": [B, 10, NEW_S]}, constants=True)
    assert report.rewritten == []
    place = 2 if kind == "Slice" else 1
    assert report.constants == [f"graph.node[0].input[{place}]"]


@pytest.mark.parametrize("form", ["initializer", "Constant"])
def test_a_constant_that_has_another_use_stays(form: str) -> None:
    """The size of the batch is an axis, too."""

    def made(b: int) -> ModelProto:
        one = numpy_helper.from_array(sizes(1), "one")
        nodes = [
            node("ReduceSum", "x one", "r", keepdims=1),
            node("Concat", "p rest", "s", axis=0),
            node("Reshape", "r s", "y"),
        ]
        constants = {"rest": sizes(1, -1)}
        if b == 1:
            nodes[1].input[0] = "one"
        else:
            constants["p"] = sizes(b)
        message = model_of(nodes, [b, 6, S], constants)
        if form == "Constant":
            message.graph.node.insert(0, helper.make_node("Constant", [], ["one"], value=one))
        else:
            message.graph.initializer.append(one)
        return message

    model = loads(made(1))
    report = model.set_dims(inputs={"x": [4, 6, S]}, constants=True)
    assert len(report.rewritten) == 1
    assert_same(saved(model), made(4), [4, 6, S])
    old = loads(made(1))
    old.ir_version = 3  # each initializer would be an input
    assert not old.set_dims(inputs={"x": [4, 6, S]}, constants=True).rewritten


def test_two_places_share_a_rewritten_constant() -> None:
    nodes = [node("Reshape", "x s", "a"), node("Reshape", "a s", "y")]
    model = loads(model_of(nodes, [B, 6, S], {"s": sizes(B, 6, S)}))
    assert len(model.set_dims(inputs={"x": [B, 6, 8]}, constants=True).rewritten) == 2
    assert [t.name for t in saved(model).graph.initializer] == ["s"]
    assert model.graph.initializers["s"].numpy().tolist() == [B, 6, 8]


def test_subgraphs_and_functions() -> None:
    def made(s: int) -> ModelProto:
        def branch() -> onnx.GraphProto:
            own = numpy_helper.from_array(sizes(6, s), "own")
            nodes = [node("Reshape", "f own", "p"), node("Reshape", "p outer", "o")]
            output = helper.make_tensor_value_info("o", 1, [None, None])
            return helper.make_graph(nodes, "b", [], [output], [own])

        body = [
            helper.make_node("Constant", [], ["n"], value_ints=[s, 6]), node("Reshape", "a n", "b"),
        ]  # fmt: skip
        function = helper.make_function("f", "F", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
        nodes = [
            node("F", "x", "f", domain="f"),
            helper.make_node("If", ["flag"], ["y"], then_branch=branch(), else_branch=branch()),
        ]
        constants = {"outer": sizes(s, 6), "flag": np.array(True)}
        return model_of(nodes, [6, s], constants, functions=[function])

    model = loads(made(S))
    report = model.set_dims(inputs={"x": [6, NEW_S]}, constants=True)
    assert report.constants == []
    assert len(report.rewritten) == 5
    assert_same(saved(model), made(NEW_S), [6, NEW_S])


def test_a_function_that_is_called_with_other_sizes_stays() -> None:
    body = [helper.make_node("Constant", [], ["n"], value_ints=[S, 6]), node("Reshape", "a n", "b")]
    function = helper.make_function("f", "F", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [node("F", "k", "other", domain="f"), node("F", "x", "y", domain="f")]
    constants = {"k": np.ones((6, S), np.float32)}
    model = loads(model_of(nodes, [6, S], constants, functions=[function]))
    report = model.set_dims(inputs={"x": [6, NEW_S]}, constants=True)
    assert report.rewritten == []
    assert report.constants == ["functions[0].node[1].input[1]"]


def test_a_number_becomes_unknown() -> None:
    """A Reshape finds one size by itself."""
    nodes = [node("Reshape", "x s", "a"), node("Reshape", "a t", "y")]
    constants = {"s": sizes(1, 6, S), "t": sizes(1, -1)}
    model = loads(model_of(nodes, [1, 6, S], constants, rank=2))
    report = model.set_dims(inputs={"x": ["N", 6, S]}, constants=True)
    assert report.rewritten == ["graph.node[0].input[1]"]
    assert report.constants == ["graph.node[1].input[1]"]
    assert model.graph.initializers["s"].numpy().tolist() == [-1, 6, S]


def rewritten(shape: list[int], new: list[int], numbers: list[int]) -> list[int]:
    """The numbers of a Reshape after set_dims."""
    message = model_of(
        [node("Reshape", "x s", "y")], shape, {"s": sizes(*numbers)}, rank=len(numbers)
    )
    model = loads(message)
    report = model.set_dims(inputs={"x": new}, constants=True)
    found: list[int] = model.graph.initializers["s"].numpy().tolist()
    assert (found != numbers) == bool(report.rewritten)
    return found


@pytest.mark.parametrize(
    ("shape", "new", "numbers", "found"),
    [
        ([1, 1, 28, 28], [4, 1, 28, 28], [1, 784], [4, 784]),
        ([1, 1, 28, 28], [4, 1, 28, 28], [1, 1, 28, 28], [4, 1, 28, 28]),  # the batch is first
        ([1, 1, 28, 28], [4, 1, 28, 28], [28, 1, 28], [28, 1, 28]),  # which 1 is not known
        ([1, 5], [1, 8], [5, 1], [8, 1]),  # no other 5 is there
        ([5, 5], [5, 8], [5, 5], [5, 8]),  # each at its axis
        ([5, 5], [7, 8], [5, 5], [7, 8]),
        ([5, 2, 5], [7, 2, 8], [2, 5, 5], [2, 5, 8]),
        ([3, 5], [3, 8], [5, 1, 5], [5, 1, 5]),  # two for one
        ([1, 8], [3, 8], [1, 1, 2, 4], [3, 1, 2, 4]),
        ([4, 6, 8], [4, 6, 16], [-1, 8], [-1, 8]),  # -1 hides that it is another 8
        ([8, 6, 2], [16, 6, 2], [-1, 8, 2], [-1, 8, 2]),  # 8 heads, and a batch of 8
        ([8, 6, 3], [16, 6, 3], [8, 8, 9], [16, 8, 9]),
    ],
)
def test_only_what_is_certain(
    shape: list[int], new: list[int], numbers: list[int], found: list[int]
) -> None:
    assert rewritten(shape, new, numbers) == found


@pytest.mark.parametrize("kind", ["Expand", "Tile"])
def test_1_repeats_nothing(kind: str) -> None:
    model = loads(model_of([node(kind, "x s", "y")], [1, 6, S], {"s": sizes(1, 1, 1)}))
    report = model.set_dims(inputs={"x": [4, 6, S]}, constants=True)
    assert report == ([], [], [])
    assert results(saved(model), np.ones((4, 6, S), np.float32))[0].shape == (4, 6, S)


@pytest.mark.parametrize("seed", range(SAMPLES))
def test_random_shapes(seed: int) -> None:
    rng = random.Random(seed)
    numbers = rng.sample([2, 3, 5, 7, 11, 13, 17], 7)
    old, new = numbers[:3], list(numbers[:3])
    for axis in rng.sample(range(3), rng.randint(1, 3)):
        new[axis] = numbers[3 + axis]
    message, wanted = ShapeModel(seed, old).model(), ShapeModel(seed, new).model()
    model = loads(message)
    report = model.set_dims(inputs={"x": new}, constants=True)
    listed = loads(message).set_dims(inputs={"x": new})
    assert set(listed.constants) == {*report.constants, *report.rewritten}
    assert report.constants == []
    assert_same(saved(model), wanted, new)


@pytest.mark.parametrize(
    ("op_type", "shape", "new", "numbers"),
    [
        ("Reshape", [1, 8, 512], [1, 16, 512], [1, -1, 8, 64]),  # heads, of which there are 8, too
        ("Reshape", [1, 8, 512], [1, 16, 512], [1, 8, -1, 64]),
        ("Tile", [1, 8], [1, 16], [1, 8]),  # copies
        ("Reshape", [0, 3], [5, 3], [0, -1]),  # the dimension before
    ],
)
def test_numbers_that_are_not_certainly_sizes_stay(
    op_type: str, shape: list[int], new: list[int], numbers: list[int]
) -> None:
    message = model_of([node(op_type, "x s", "y")], shape, {"s": sizes(*numbers)})
    model = loads(message)
    report = model.set_dims(inputs={"x": new}, constants=True)
    assert report.rewritten == []
    assert model.initializers["s"].numpy().tolist() == numbers


@pytest.mark.parametrize(
    "nodes",
    [
        [  # positions, which have no batch
            node("Shape", "x", "shape"), node("Gather", "shape one", "n"),
            node("Range", "zero n one", "r"), node("Reshape", "r s", "y"),
        ],
        [node("ReduceSum", "x", "r", keepdims=0), node("Reshape", "r s", "y")],
    ],
)  # fmt: skip
def test_a_1_is_no_batch_of_another_value(nodes: list[onnx.NodeProto]) -> None:
    scalars = {"zero": np.int64(0), "one": np.int64(1)}
    model = loads(model_of(nodes, [1, 8], {"s": sizes(1, -1), **scalars}, rank=2))
    report = model.set_dims(inputs={"x": [4, 8]}, constants=True)
    assert report.rewritten == []
    assert model.initializers["s"].numpy().tolist() == [1, -1]


def test_very_many_constants_with_another_use() -> None:
    def prepare(many: int) -> tuple[bytes, Work]:
        nodes = [node("Reshape", f"x c{i}", f"y{i}") for i in range(many)]
        nodes += [node("Identity", f"c{i}", f"z{i}") for i in range(many)]
        constants = {f"c{i}": sizes(B, S) for i in range(many)}
        data = model_of(nodes, [B, S], constants).SerializeToString()

        def work() -> None:
            report = onnxmap.loads(data).set_dims(inputs={"x": [NEW_B, S]}, constants=True)
            assert len(report.rewritten) == many

        return data, work

    assert not too_steep(prepare, (50, 500))


def test_a_new_initializer_has_no_name_of_a_subgraph() -> None:
    """The constant has another use, so that its place gets one of its own."""
    made = helper.make_node("Identity", ["c"], ["c_1"])
    branch = helper.make_graph([made], "b", [], [helper.make_tensor_value_info("c_1", 7, [2])])
    nodes = [
        node("Reshape", "x c", "y"),
        helper.make_node("If", ["yes"], ["z"], then_branch=branch, else_branch=branch),
    ]
    told = [helper.make_tensor_value_info("c_2", 1, [9])]  # of no value
    constants = {"c": sizes(B, S), "yes": np.array(True)}
    model = loads(model_of(nodes, [B, S], constants, value_info=told))
    assert model.set_dims(inputs={"x": [NEW_B, S]}, constants=True).rewritten
    assert {"c_1", "c_2"}.isdisjoint(model.initializers)
    assert model.check().ok
