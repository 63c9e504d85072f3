"""Random models with constants that are sizes, and operators that make shapes of these."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper


class ShapeModel:
    """Values that only depend on the seed and on the sizes of an input `x`.

    A model of a seed and other sizes is what the model is to become if `x` gets these sizes.
    """

    def __init__(self, seed: int, sizes: list[int]) -> None:
        self.rng = random.Random(seed)
        self.sizes = sizes
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = []
        self.outputs: list[str] = []

    def node(self, op_type: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node, and return the name of its output."""
        name = f"{op_type.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        return name

    def constant(self, values: Any, dtype: type = np.int64) -> str:
        """Add an initializer, or a Constant node of any form."""
        array, kind = np.array(values, dtype), self.rng.randrange(4)
        if kind == 0 and dtype == np.int64:
            form = {"value_ints": array.tolist()} if array.ndim else {"value_int": int(array)}
            return self.node("Constant", [], **form)
        if kind == 1:
            return self.node("Constant", [], value=numpy_helper.from_array(array))
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def passed_on(self, value: str) -> str:
        """Return a value with the same numbers."""
        for _ in range(self.rng.randrange(3)):
            kind = self.rng.randrange(4)
            if kind == 0:
                value = self.node("Identity", [value])
            elif kind == 1:
                value = self.node("Cast", [value], to=TensorProto.INT64)
            elif kind == 2:
                outer = self.node("Unsqueeze", [value, self.constant([0])])
                value = self.node("Squeeze", [outer, self.constant([0])])
            else:
                truth = numpy_helper.from_array(np.array(True))
                flag = self.node("Constant", [], value=truth)
                value = self.node("Where", [flag, value, self.constant(0)])
        return value

    def piece(self, axis: int) -> str:
        """Return a list of one number: the size of an axis."""
        size, zeros = self.sizes[axis], self.constant([0])
        match self.rng.randrange(6):
            case 0:
                made = self.constant([size])
            case 1:
                made = self.node("Unsqueeze", [self.passed_on(self.constant(size)), zeros])
            case 2:
                made = self.node("Gather", [self.constant([997, size]), self.constant([1])])
            case 3:
                ends = [self.constant([1]), self.constant([2])]
                made = self.node("Slice", [self.constant([997, size]), *ends])
            case 4:
                number = self.constant([size], np.int32)
                made = self.node("Cast", [number], to=TensorProto.INT64)
            case _:
                shape = self.node("Shape", ["x"])
                made = self.node("Gather", [shape, self.constant([axis])])
        return self.passed_on(made)

    def shape(self, axes: list[int]) -> str:
        """Return a list of the sizes of some axes."""
        if self.rng.random() < 0.3 or axes != sorted(axes):
            return self.passed_on(self.constant([self.sizes[axis] for axis in axes]))
        return self.passed_on(self.node("Concat", [self.piece(axis) for axis in axes], axis=0))

    def use(self) -> None:
        """Add a node that takes a shape, and an output that it makes."""
        axes = list(range(len(self.sizes)))
        match self.rng.randrange(5):
            case 0:
                self.rng.shuffle(axes)
                made = self.node("Reshape", ["x", self.shape(axes)])
            case 1:
                reduced = self.node("ReduceMax", ["x"], axes=[self.rng.choice(axes)])
                made = self.node("Expand", [reduced, self.shape(axes)])
            case 2:
                made = self.node("Resize", ["x", "", "", self.shape(axes)], mode="nearest")
            case 3:
                first = self.node("Gather", ["x", self.constant(0)])  # without the first axis
                zeros = self.node("ConstantOfShape", [self.from_x(axes)])
                made = self.node("Add", [zeros, first])
            case _:
                made = self.node("Reshape", [self.node("Neg", ["x"]), self.shape(axes)])
        self.outputs.append(made)

    def from_x(self, axes: list[int]) -> str:
        """Return the sizes of axes, of which the input gives the first one."""
        shape, zero = self.node("Shape", ["x"]), self.constant([0])
        first = self.node("Gather", [shape, zero])
        return self.node("Concat", [first, *map(self.piece, axes[1:])], axis=0)

    def model(self) -> ModelProto:
        """Return the model."""
        for _ in range(self.rng.randint(1, 3)):
            self.use()
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.sizes)
        rank = [None] * len(self.sizes)
        outputs = [helper.make_tensor_value_info(name, 1, rank) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "g", [x], outputs, self.tensors)
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)
