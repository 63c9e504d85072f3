"""Checks of real models give no error that is not explained here."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
from support.checks.rules import LEVELS, errors_in, found_in
from support.models.node_cases import all_cases

import onnxmap

MODELS = sorted(Path(onnx.__file__).parent.rglob("*.onnx"))

# The errors of real models: the file or the case, the rule, and why the finding is right.
EXPLAINED = {
    (
        "mul_1.onnx",
        "graph.initializer_input",
    ): "it has IR version 3 and an initializer that is no input; onnx.checker says so, too",
}


def packaged(package: str) -> list[Path]:
    """The models of an installed package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.rglob("*.onnx"))


def unexplained(name: str, findings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [each for each in findings if (name, each[0]) not in EXPLAINED]


def test_models_of_onnx() -> None:
    found = {str(path): unexplained(path.parent.name, errors_in(path)) for path in MODELS}
    assert {name: errors for name, errors in found.items() if errors} == {}
    assert len(found) == 149


def test_models_of_onnxruntime() -> None:
    paths = packaged("onnxruntime")
    if not paths:
        pytest.skip("onnxruntime is not installed")
    found = {path.name: unexplained(path.name, errors_in(path)) for path in paths}
    assert {name: errors for name, errors in found.items() if errors} == {}


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    return all_cases()


def test_node_cases(cases: list[Any]) -> None:
    rules: Counter[str] = Counter()
    found: dict[str, list[tuple[str, str]]] = {}
    for case in cases:
        findings = found_in(onnxmap.loads(case.model.SerializeToString()), values=True)
        rules.update(rule for rule, _ in findings)
        errors = [each for each in findings if LEVELS[each[0]] == "error"]
        if left := unexplained(case.name, errors):
            found[case.name] = left
    assert found == {}
    assert len(cases) >= 1800
    assert rules["type.not_tensor"] > 0  # the cases have sequences


def test_every_explanation_is_of_a_finding(cases: list[Any]) -> None:
    pytest.importorskip("onnxruntime")  # it has one of the models
    seen = {
        (case.name, rule) for case in cases for rule, _ in errors_in(case.model.SerializeToString())
    }
    for path in MODELS:
        seen |= {(path.parent.name, rule) for rule, _ in errors_in(path)}
    for path in packaged("onnxruntime"):
        seen |= {(path.name, rule) for rule, _ in errors_in(path)}
    assert set(EXPLAINED) <= seen
