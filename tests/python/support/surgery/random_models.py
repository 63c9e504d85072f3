"""Random valid models that onnxruntime runs: each value has two floats, so any wiring is valid.

They have subgraphs in two levels that take values from outside, functions that call functions,
equal initializers, constants, Identity nodes, annotations, documentation, and parts that no output
needs.
"""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

DOMAIN = "org.test"
_PLAIN = ["Add", "Mul", "Sub", "Neg", "Abs", "Identity", "Identity", "Max"]
_TWO_INPUTS = {"Add", "Mul", "Sub", "Max"}


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def weights(self) -> TensorProto:
        values = np.array([self.rng.choice([1.0, -0.0, 0.0]), 0.5], np.float32)
        return numpy_helper.from_array(values, self.name("w"))

    def value_info(self, name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2], "what it is")

    def node(self, seen: list[str], depth: int) -> NodeProto:
        pick = self.rng.random()
        if pick < 0.12 and depth < 2:
            branches = {key: self.graph(seen, depth + 1) for key in ("then_branch", "else_branch")}
            return helper.make_node("If", ["c"], [self.name("v")], self.name("n"), **branches)
        if pick < 0.24:
            inputs = [self.rng.choice(seen) for _ in range(2)]
            outputs = [self.name("v"), self.name("v")]
            return helper.make_node("Both", inputs, outputs, self.name("n"), domain=DOMAIN)
        if pick < 0.36:
            value = numpy_helper.from_array(np.array([2.0, self.rng.random()], np.float32))
            return helper.make_node("Constant", [], [self.name("v")], self.name("n"), value=value)
        op_type = self.rng.choice(_PLAIN)
        inputs = [self.rng.choice(seen) for _ in range(1 + (op_type in _TWO_INPUTS))]
        node = helper.make_node(op_type, inputs, [self.name("v")], self.name("n"))
        node.doc_string = self.rng.choice(["", "text"])
        return node

    def graph(self, outer: list[str], depth: int) -> GraphProto:
        tensors = [self.weights() for _ in range(self.rng.randint(1, 4))]
        seen = outer + [tensor.name for tensor in tensors]
        nodes = []
        for _ in range(self.rng.randint(1, 4 if depth else 12)):
            node = self.node(seen, depth)
            nodes.append(node)
            seen = seen + list(node.output)
        nodes.append(helper.make_node("Neg", [self.rng.choice(seen)], [self.name("v")]))
        made = [name for node in nodes for name in node.output]
        outputs = [made[-1]]
        if depth == 0:
            outputs += self.rng.sample(made[:-1], min(2, len(made) - 1))
        inner = [name for name in made if name not in outputs and self.rng.random() < 0.5]
        graph = helper.make_graph(
            nodes, self.name("g"), [], [self.value_info(name) for name in outputs], tensors,
            value_info=[self.value_info(name) for name in inner],
        )  # fmt: skip
        graph.metadata_props.add(key="k", value="v")
        return graph


def random_model(seed: int) -> ModelProto:
    """A model of the inputs `x` and `c`."""
    rng = random.Random(f"surgery {seed}")
    maker = _Maker(rng)
    graph = maker.graph(["x"], 0)
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]))
    graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    note = graph.quantization_annotation.add(tensor_name=graph.node[0].output[0])
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=graph.initializer[0].name)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    both = helper.make_function(
        DOMAIN, "Both", ["a", "b"], ["s", "d"],
        [
            helper.make_node("Once", ["a"], ["a1"], domain=DOMAIN),
            helper.make_node("Add", ["a1", "b"], ["s"]),
            helper.make_node("Neg", ["b"], ["unused"]),
            helper.make_node("Sub", ["a1", "b"], ["d"]),
        ],
        opsets,
    )  # fmt: skip
    once, never = (
        helper.make_function(
            DOMAIN, name, ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], opsets
        )
        for name in ("Once", "Never")
    )
    model = helper.make_model(
        graph, opset_imports=[*opsets, helper.make_opsetid("org.unused", 3)], ir_version=9,
        functions=[never, both, once],
    )  # fmt: skip
    model.doc_string = "a model"
    model.metadata_props.add(key="k", value="v")
    return model


def shuffled(model: ModelProto, seed: int) -> ModelProto:
    """The model with the nodes of its main graph in another order."""
    other = ModelProto.FromString(model.SerializeToString())
    nodes = list(other.graph.node)
    random.Random(seed).shuffle(nodes)
    del other.graph.node[:]
    other.graph.node.extend(nodes)
    return other
