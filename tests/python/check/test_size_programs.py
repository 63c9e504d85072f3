"""Sizes that nodes calculate: a check agrees with what onnx's evaluator makes of them.

Each program is a few random nodes on short lists of integers, which come from a Shape, a constant
or an input, and one node that takes the last list as a shape.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, checker, helper
from onnx.reference import ReferenceEvaluator
from support.run_options import EXHAUSTIVE, LONG

import onnxmap

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
PROGRAMS = 20_000 if LONG else 3_000 if EXHAUSTIVE else 400
EXTREME = [-(2**63), 2**63 - 1, 2**40, 2**39, 65, 0]
MOST_MADE = 10**5  # elements
AT_SHAPES = {"value.shape", "operator.shape"}
REDUCING = "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceL1", "ArgMax", "ArgMin"


class Program:
    """The nodes and constants of one random model. `extreme`: with numbers that no size has."""

    def __init__(self, numbers: random.Random, extreme: bool = False) -> None:
        self.numbers = numbers
        self.extreme = extreme
        self.dims = [numbers.randint(1, 4) for _ in range(numbers.randint(1, 3))]
        self.constants: list[TensorProto] = []
        self.lists = ["sizes", self.constant(numbers.choices(range(1, 4), k=2)), "given"]
        self.nodes = [helper.make_node("Shape", ["x"], ["sizes"])]

    def constant(self, values: list[int], dims: list[int] | None = None) -> str:
        if self.extreme:
            values = [self.numbers.choice([each, *EXTREME]) for each in values]
        name = f"c{len(self.constants)}"
        dims = [len(values)] if dims is None else dims
        self.constants.append(helper.make_tensor(name, INT64, dims, values))
        return name

    def add(self, op_type: str, *inputs: str, **attributes: int) -> None:
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [output], **attributes))
        self.lists.append(output)

    def step(self) -> None:
        """Add a node to one of the lists."""
        numbers, constant = self.numbers, self.constant
        one, other = numbers.choices(self.lists, k=2)
        if self.extreme:  # what one node gets wrong is seen behind the next ones
            one = numbers.choice([one, self.lists[-1], self.lists[-1]])
        places = [numbers.randint(-2, 2) for _ in range(numbers.randint(0, 3))]
        steps: list[Callable[[], None]] = [
            lambda: self.add("Gather", one, constant(places)),
            lambda: self.add("Slice", one, *(constant([numbers.randint(-3, 4)]) for _ in "be")),
            lambda: self.add("Concat", one, other, axis=0),
            lambda: self.add("Reshape", one, constant([numbers.choice([-1, -1, 1, 2, 5])])),
            lambda: self.add("Reshape", one, "given"),
            lambda: self.add("Gather", one, constant([numbers.randint(-2, 2)], [])),
            lambda: self.add("Squeeze", one),
            lambda: self.add("Unsqueeze", one, constant([0])),
            lambda: self.add("Identity", one),
            lambda: self.add("Cast", one, to=numbers.choice([INT64, TensorProto.INT32])),
            lambda: self.add("Expand", one, constant([numbers.randint(1, 3)])),
            lambda: self.add("Mul", one, other),
            lambda: self.add(numbers.choice(REDUCING), one, keepdims=numbers.randint(0, 1)),
            lambda: self.add("Tile", one, constant([2])),
        ]
        numbers.choice(steps[:5] if self.extreme else steps)()

    def model(self) -> ModelProto:
        last = self.lists[-1]
        self.nodes.append(
            self.numbers.choice(
                [
                    helper.make_node("ConstantOfShape", [last], ["y"]),
                    helper.make_node("Expand", [self.constant([1], [1]), last], ["y"]),
                    helper.make_node("Reshape", ["x", last], ["y"]),
                ]
            )
        )
        kind = INT64 if self.nodes[-1].op_type == "Expand" else FLOAT
        inputs = [
            helper.make_tensor_value_info("x", FLOAT, self.dims),
            helper.make_tensor_value_info("given", INT64, [self.numbers.choice([1, 2, None])]),
        ]
        graph = helper.make_graph(
            self.nodes, "sizes", inputs,
            [helper.make_tensor_value_info("y", kind, None)], self.constants,
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def made(model: ModelProto, dims: list[int], given: list[int]) -> tuple[int, ...] | None:
    """The shape that onnx makes; None if it refuses the model."""
    inputs = {"x": np.zeros(dims, np.float32), "given": np.array(given)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            shape = ReferenceEvaluator(model).run(None, inputs)[0].shape
            model.graph.output[0].type.tensor_type.shape.CopyFrom(
                helper.make_tensor_value_info("y", FLOAT, shape).type.tensor_type.shape
            )
            checker.check_model(model, full_check=True)
        except Exception:  # noqa: BLE001 -- each operator has its own
            return None
    return tuple(shape)


def test_no_size_is_called_wrong_that_onnx_makes() -> None:
    numbers = random.Random(61)
    judged = 0
    for _ in range(PROGRAMS):
        program = Program(numbers)
        for _ in range(numbers.randint(1, 5)):
            program.step()
        model = program.model()
        known = model.graph.input[1].type.tensor_type.shape.dim[0].dim_value
        given = [numbers.randint(1, 4) for _ in range(known or numbers.randint(1, 3))]
        shape = made(model, program.dims, given)
        found = onnxmap.loads(model.SerializeToString()).check()
        if shape is None or np.prod(shape) > MOST_MADE:
            continue
        judged += 1
        assert not [each for each in found if each.rule in AT_SHAPES], onnx.printer.to_text(model)
    assert judged > PROGRAMS // 10


def test_no_size_makes_a_check_read_elsewhere() -> None:
    """Without a sanitizer, it shows if a shape is an address, or too much memory is asked for."""
    numbers = random.Random(62)
    for _ in range(5 * PROGRAMS):  # onnx runs none of them
        program = Program(numbers, extreme=True)
        for _ in range(numbers.randint(1, 6)):
            program.step()
        model = program.model()
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, [9] * 9))
        for found in onnxmap.loads(model.SerializeToString()).check():
            shown = [abs(int(number)) for number in re.findall(r"\d+", found.message)]
            assert not [each for each in shown if 2**44 < each < 2**62], found  # an address
