"""`onnxmap.diff` after random edits names exactly the edited items, each with its kind."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.run_options import LONG, SANITIZED

import onnxmap

SEEDS = 3_000 if LONG else 20 if SANITIZED else 200
COUNT = 12
Expected = set[tuple[str, str, str]]  # part, name and kind


def original() -> onnxmap.Model:
    nodes = [
        helper.make_node(
            "Concat", [f"v{i}", f"w{i}"], [f"v{i + 1}"], name=f"n{i}", axis=i, note="text"
        )
        for i in range(COUNT)
    ]
    values = [
        helper.make_tensor_value_info(f"{kind}{i}", TensorProto.FLOAT, [i])
        for kind in ("in", "out")
        for i in range(COUNT)
    ]
    weights = [numpy_helper.from_array(np.arange(i, i + 5.0), f"w{i}") for i in range(COUNT)]
    graph = helper.make_graph(nodes, "g", values[:COUNT], values[COUNT:], weights)
    model = helper.make_model(graph, producer_name="p")
    helper.set_model_props(model, {f"k{i}": "v" for i in range(COUNT)})
    return onnxmap.loads(model.SerializeToString())


def edit_node(model: onnxmap.Model, i: int, draw: random.Random) -> tuple[str, str]:
    nodes = model.graph.nodes
    node = nodes[f"n{i}"]
    edits: dict[str, Callable[[], Any]] = {
        "attribute changed": lambda: node.attributes.update(axis=i + 1),
        "attribute added": lambda: node.attributes.update(added=[1, 2]),
        "attribute removed": lambda: node.attributes.pop("note"),
        "operator": lambda: setattr(node, "op_type", "Other"),
        "input": lambda: node.inputs.append("more"),
        "doc": lambda: setattr(node, "doc_string", "text"),
    }
    match draw.choice([*edits, "removed", "added"]):
        case "removed":
            nodes.remove(node)
            return f"n{i}", "removed"
        case "added":
            at = draw.randrange(len(nodes) + 1)
            nodes.insert(at, onnxmap.make_node("New", [], [f"new{i}"], name=f"new{i}"))
            return f"new{i}", "added"
        case name:
            edits[name]()
            return f"n{i}", "changed"


def edit_tensor(model: onnxmap.Model, i: int, draw: random.Random) -> tuple[str, str]:
    weights = model.initializers
    match draw.choice(["changed", "shape", "doc", "added", "removed", "renamed"]):
        case "added":
            weights[f"new{i}"] = np.full(3, i, np.int8)
            return f"new{i}", "added"
        case "removed":
            del model.proto.graph.initializer[
                [one.name for one in model.proto.graph.initializer].index(f"w{i}")
            ]
            return f"w{i}", "removed"
        case "renamed":
            weights[f"w{i}"].proto.name = f"other{i}"
            return f"w{i}", "renamed"
        case "doc":
            weights[f"w{i}"].proto.doc_string = "text"
            return f"w{i}", "changed"
        case "shape":
            weights[f"w{i}"] = np.arange(i, i + 6.0)
            return f"w{i}", "changed"
        case _:
            weights[f"w{i}"] = np.arange(i, i + 5.0) + 0.5
            return f"w{i}", "changed"


def edit_value(part: str) -> Callable[[onnxmap.Model, int, random.Random], tuple[str, str]]:
    short = part.removesuffix("puts")

    def edit(model: onnxmap.Model, i: int, draw: random.Random) -> tuple[str, str]:
        values = getattr(model.graph, part)
        name = f"{short}{i}"
        match draw.choice(["type", "shape", "doc", "added", "removed"]):
            case "added":
                values.append(onnxmap.make_tensor_value_info(f"new{i}", "float32", [1]))
                return f"new{i}", "added"
            case "removed":
                values.remove(values[name])
                return name, "removed"
            case "type":
                values[name].dtype = "int8"
            case "shape":
                values[name].shape = (i, "n")
            case _:
                values[name].proto.doc_string = "text"
        return name, "changed"

    return edit


def edit_metadata(model: onnxmap.Model, i: int, draw: random.Random) -> tuple[str, str]:
    match draw.choice(["added", "removed", "changed"]):
        case "added":
            model.metadata_props[f"new{i}"] = "v"
            return f'metadata_props["new{i}"]', "added"
        case "removed":
            del model.metadata_props[f"k{i}"]
            return f'metadata_props["k{i}"]', "removed"
        case _:
            model.metadata_props[f"k{i}"] = "other"
            return f'metadata_props["k{i}"]', "changed"


EDITS = {
    "nodes": edit_node,
    "tensors": edit_tensor,
    "inputs": edit_value("inputs"),
    "outputs": edit_value("outputs"),
    "metadata": edit_metadata,
}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_exactly_the_edited_items_are_named(seed: int) -> None:
    draw = random.Random(seed)
    model = original()
    expected: Expected = set()
    for part in draw.sample(sorted(EDITS), draw.randint(1, len(EDITS))):
        for i in draw.sample(range(COUNT), draw.randint(1, 4)):
            expected.add((part, *EDITS[part](model, i, draw)))
    found = onnxmap.diff(original(), model)
    named = {
        (part, getattr(each, "name", each.where), each.kind)
        for part in (*EDITS, "functions", "opset_imports", "other")
        for each in getattr(found, part)
    }
    assert named == expected, f"seed {seed}\n{found}"
    back = onnxmap.diff(model, original())
    swapped = {"added": "removed", "removed": "added"}
    names = [
        (part, each.where_b or each.where_a, swapped.get(each.kind, each.kind))
        for part in EDITS
        for each in getattr(back, part)
    ]
    assert sorted(names) == sorted(
        (part, each.where_a or each.where_b, each.kind)
        for part in EDITS
        for each in getattr(found, part)
    )
