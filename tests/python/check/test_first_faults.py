"""What goes wrong in the first models that people make: each finding says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from support.models.sample import write

import onnxmap

OFFICIAL = "onnx.checker"


def layer(op_type: str = "MatMul", bias: int = 1, opset: int = 21, **attributes: Any) -> Any:
    """A node `/fc` of `x`, a weight `w` and some biases; `bias` -1: of `x` alone."""
    weights = {"w": np.ones((4, 4), np.float32), "b": np.ones(4, np.float32)}
    inputs = ["x", "w", *["b"] * bias] if bias >= 0 else ["x"]
    node = helper.make_node(op_type, inputs, ["y"], "/fc", **attributes)
    boundary = [helper.make_tensor_value_info(name, 1, [4, 4]) for name in "xy"]
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph([node], "g", boundary[:1], boundary[1:], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def printed(path: Path) -> str:
    """What the report of a model with one error prints, as the command does."""
    first, *lines = str(onnxmap.load(path).check(ignore="graph.initializer_unused")).splitlines()
    assert first == "1 error"
    return "\n".join(line.strip() for line in lines)


def merged_lora(path: Path) -> None:
    """float64 factors, as NumPy makes them, turn the weight into DOUBLE."""
    model = onnxmap.load(write(layer("MatMul", 0), path))
    w = model.initializers["w"].numpy()
    with pytest.warns(onnxmap.TensorWarning, match=r"was FLOAT .* and is now DOUBLE"):
        model.initializers["w"] = w + np.ones((4, 2)) @ np.ones((2, 4))
    onnxmap.save(model, path)


def half_converted(path: Path) -> None:
    """A script converted the weights that it knew, and left a bias as it was."""
    model = onnxmap.load(write(layer("Gemm"), path))
    with pytest.warns(onnxmap.TensorWarning):
        model.initializers["w"] = model.initializers["w"].numpy().astype(np.float16)
    model.graph.inputs["x"].proto.type.tensor_type.elem_type = onnxmap.DataType.FLOAT16
    model.graph.outputs["y"].proto.type.tensor_type.elem_type = onnxmap.DataType.FLOAT16
    onnxmap.save(model, path)


ADVICE = {
    "operator.type": "Convert the weights to the type, as initializers.replace(name, values) does, "
    "add a Cast node, or correct the attribute.",
    "operator.unknown": "Correct op_type or domain, or import the version that has the operator.",
    "operator.inputs": "Add the missing inputs, or remove those that are too many.",
    "operator.attribute_unknown": "Correct the name, or remove the attribute: other versions of "
    "the operator may have it.",
    "operator.deprecated": "Use the operator that replaced it, or import an earlier version.",
}
NODE = "graph.node[0]"
UNKNOWN = "version 21 of ai.onnx has no operator"
REPLACED = "of version 18 is deprecated, and version 21 replaces it; the node '/fc' uses it"
# The model, the rule, where, and what is wrong.
FAULTS: dict[str, tuple[Any, str, str, str]] = {
    "a merged LoRA": (
        merged_lora, "operator.type", f"{NODE}.input[1]",
        "'w' is DOUBLE, and 'x' is FLOAT; MatMul takes both in one type",
    ),
    "half of it is float16": (
        half_converted, "operator.type", f"{NODE}.input[2]",
        "'b' is FLOAT, and 'x' is FLOAT16; Gemm takes both in one type",
    ),
    "a misspelt operator": (
        layer("MatMull", 0), "operator.unknown", NODE,
        f"{UNKNOWN} 'MatMull'; did you mean 'MatMul'?",
    ),
    "another case": (
        layer("gemm"), "operator.unknown", NODE, f"{UNKNOWN} 'gemm'; did you mean 'Gemm'?",
    ),
    "an operator of a later version": (
        layer("Gelu", -1, 17), "operator.unknown", NODE,
        "version 17 of ai.onnx has no operator 'Gelu'; version 20 is the first that has it",
    ),
    "an operator of another domain": (
        layer("ZipMap", -1), "operator.unknown", NODE,
        f"{UNKNOWN} 'ZipMap'; the domain 'ai.onnx.ml' has it",
    ),
    "five inputs of Gemm": (
        layer("Gemm", 3), "operator.inputs", NODE,
        "Gemm of version 13 has 2 to 3 inputs, and the node '/fc' has 5",
    ),
    "a misspelt attribute": (
        layer("Gemm", transb=1), "operator.attribute_unknown", f'{NODE}.attribute["transb"]',
        "Gemm of version 13 has no attribute 'transb'; did you mean 'transB'?",
    ),
    "an attribute of an earlier version": (
        layer("Gemm", broadcast=1), "operator.attribute_unknown", f'{NODE}.attribute["broadcast"]',
        "Gemm of version 13 has no attribute 'broadcast'; version 6 has it",
    ),
    "an operator that another one replaced": (
        layer("Upsample", 0), "operator.deprecated", NODE,
        "Upsample of version 10 is deprecated, and Resize replaces it; the node '/fc' uses it",
    ),
    "an operator whose next version replaces it": (
        layer("GroupNormalization", 1, 18), "operator.deprecated", NODE,
        f"GroupNormalization {REPLACED}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_finding_says_what_to_do(name: str, tmp_path: Path) -> None:
    make, rule, where, message = FAULTS[name]
    path = tmp_path / "model.onnx"
    if callable(make):
        make(path)
    else:
        write(make, path)
    assert printed(path) == f"error {rule}: {message} ({where})\n{ADVICE[rule]} (IR.md, Nodes)"
    full = onnxmap.load(path).check(full=True)
    assert {each.rule for each in full.errors} == {rule, OFFICIAL}


def test_nothing_is_near() -> None:
    for op_type in "Magic", "Q" * 1_000_000:
        model = onnxmap.loads(layer(op_type).SerializeToString())
        (found,) = model.check(select="operator.unknown")
        assert found.message.endswith(f"has no operator {found.message.split()[-1]}")
        assert "mean" not in found.message


def test_a_merged_lora_is_mended_as_the_advice_says(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    merged_lora(path)
    model = onnxmap.load(path)
    values = model.initializers["w"].numpy()
    model.initializers["w"] = values.astype(np.float32)
    assert model.check(full=True).ok
