"""Random changes to the nodes of a model: what somebody who edits it gets wrong."""

from __future__ import annotations

import random

from onnx import AttributeProto, ModelProto, NodeProto, helper

VALUES = [1, 1.5, [1, 2], "x", [1.5], ["x"]]
NAMES = ["axis", "axes", "alpha", "to", "mode", "keepdims"]
DTYPES = [1, 6, 7, 9, 10, 11, 16]


def _operator(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    node.op_type = rng.choice(operators)


def _domain(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    node.domain = rng.choice(["ai.onnx.ml", "org.example"])


def _fewer_inputs(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    if node.input:
        del node.input[rng.randrange(len(node.input))]


def _more_inputs(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    if node.input:
        node.input.extend([node.input[0]] * rng.choice([1, 2, 4]))


def _empty_input(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    if node.input:
        node.input[rng.randrange(len(node.input))] = ""


def _more_outputs(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    node.output.extend(f"extra_{i}" for i in range(rng.choice([1, 2, 5])))


def _no_attribute(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    if node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]


def _misspelt_attribute(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    if node.attribute:
        node.attribute[rng.randrange(len(node.attribute))].name += "x"


def _new_attribute(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    node.attribute.append(helper.make_attribute(rng.choice(NAMES), rng.choice(VALUES)))


def _other_attribute(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    if node.attribute:
        attribute = node.attribute[rng.randrange(len(node.attribute))]
        name = attribute.name
        attribute.CopyFrom(helper.make_attribute(name, rng.choice(VALUES)))


def _other_number(rng: random.Random, node: NodeProto, operators: list[str]) -> None:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.INT:
            attribute.i = rng.choice([0, 1, 2, 8, 99, -1])


CHANGES = [
    _operator, _domain, _fewer_inputs, _more_inputs, _empty_input, _more_outputs, _no_attribute,
    _misspelt_attribute, _new_attribute, _other_attribute, _other_number,
]  # fmt: skip


def operator_mutant(rng: random.Random, seed: ModelProto, operators: list[str]) -> ModelProto:
    """Return a copy of a model after one change to a node, or to the type of an input."""
    model = ModelProto()
    model.CopyFrom(seed)
    inputs = [each for each in model.graph.input if each.type.HasField("tensor_type")]
    if inputs and rng.random() < 0.15:
        rng.choice(inputs).type.tensor_type.elem_type = rng.choice(DTYPES)
    else:
        rng.choice(CHANGES)(rng, rng.choice(list(model.graph.node)), operators)
    return model
