"""Checks of real models give no error that is not explained here."""

from __future__ import annotations

import importlib.util
from collections import Counter
from functools import cache
from pathlib import Path

import onnx
import pytest
from onnx import helper
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


@cache
def errors_of(path: Path) -> list[tuple[str, str]]:
    return errors_in(path)


def packaged(package: str) -> list[Path]:
    """The models of an installed package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return sorted(Path(spec.origin).parent.rglob("*.onnx"))


def unexplained(name: str, findings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [each for each in findings if (name, each[0]) not in EXPLAINED]


def test_models_of_onnx() -> None:
    found = {str(path): unexplained(path.parent.name, errors_of(path)) for path in MODELS}
    assert {name: errors for name, errors in found.items() if errors} == {}
    assert len(found) == 149


def test_models_of_onnxruntime() -> None:
    paths = packaged("onnxruntime")
    if not paths:
        pytest.skip("onnxruntime is not installed")
    found = {path.name: unexplained(path.name, errors_of(path)) for path in paths}
    assert {name: errors for name, errors in found.items() if errors} == {}


def test_what_both_others_run_is_no_error() -> None:
    """An output that is there twice, and a reference to an attribute that a function lacks."""
    ort = pytest.importorskip("onnxruntime")
    info = [helper.make_tensor_value_info(name, 1, [2]) for name in "xyy"]
    leaky = helper.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("d", 1)]
    graph = helper.make_graph(
        [helper.make_node("F", ["x"], ["y"], domain="d")], "g", info[:1], info[1:]
    )
    model = helper.make_model(
        graph,
        functions=[helper.make_function("d", "F", ["a"], ["b"], [leaky], opsets[:1])],
        opset_imports=opsets,
        ir_version=10,
    )
    onnx.checker.check_model(model, full_check=True)
    data = model.SerializeToString()
    ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    report = onnxmap.loads(data).check()
    assert {each.rule for each in report} == {"graph.output_repeated", "attribute.reference_name"}
    assert report.ok


@pytest.fixture(scope="module")
def findings() -> dict[str, list[tuple[str, str]]]:
    """Of each case."""
    found = {
        case.name: found_in(onnxmap.loads(case.model.SerializeToString()), values=True)
        for case in all_cases()
    }
    assert len(found) == len(all_cases())
    return found


def only_errors(findings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [each for each in findings if LEVELS[each[0]] == "error"]


def test_node_cases(findings: dict[str, list[tuple[str, str]]]) -> None:
    found: dict[str, list[tuple[str, str]]] = {}
    for name, of_case in findings.items():
        if left := unexplained(name, only_errors(of_case)):
            found[name] = left
    assert found == {}
    assert len(findings) >= 1800
    rules = Counter(rule for of_case in findings.values() for rule, _ in of_case)
    assert rules["type.not_tensor"] > 0  # the cases have sequences


def test_every_explanation_is_of_a_finding(findings: dict[str, list[tuple[str, str]]]) -> None:
    pytest.importorskip("onnxruntime")  # it has one of the models
    seen = {(name, rule) for name, of_case in findings.items() for rule, _ in only_errors(of_case)}
    for path in MODELS:
        seen |= {(path.parent.name, rule) for rule, _ in errors_of(path)}
    for path in packaged("onnxruntime"):
        seen |= {(path.name, rule) for rule, _ in errors_of(path)}
    assert set(EXPLAINED) <= seen
