"""Each rule has models that break it and it alone, and models that keep it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from check.examples import EXAMPLES
from check.examples.example import MODEL_FILE, SMALL, SMALL_SET, Example
from google.protobuf import text_format
from onnx import ModelProto, OperatorSetProto
from support.checks.rules import LEVELS, OF_TEST_MODELS, REQUIREMENTS, RULES, found_in

import onnxmap

GIVEN = pytest.mark.parametrize(
    "example", EXAMPLES, ids=[f"{each.rule} {i}" for i, each in enumerate(EXAMPLES)]
)


def loaded(data: bytes, example: Example, folder: Path | None) -> Any:
    if example.is_operator_set:
        return onnxmap.wrap(onnxmap.loads_proto(data, "OperatorSetProto"))
    has_graph = ModelProto.FromString(data).HasField("graph")
    if not has_graph:  # load() refuses the file; an edit can make the model
        data += ModelProto(graph={"name": "g"}).SerializeToString()
    if folder is None:
        model = onnxmap.loads(data)
    else:
        path = folder / MODEL_FILE
        path.write_bytes(data)
        model = onnxmap.load(path)
    if not has_graph:
        model.proto.ClearField("graph")
    return model


@pytest.mark.filterwarnings("ignore:.*occurs more than once")
@GIVEN
def test_a_model_that_breaks_the_rule(example: Example, tmp_path: Path) -> None:
    if not example.is_runnable:
        pytest.skip("root may read every file")
    example.write_files(tmp_path, is_broken=True)
    folder = None if example.in_memory else tmp_path
    model = loaded(example.broken_bytes(), example, folder)
    strict = LEVELS[example.rule] == "strict"
    expected = {(example.rule, example.where), *example.also}
    findings = found_in(model, example.values, strict, OF_TEST_MODELS - {example.rule})
    assert set(findings) == expected
    assert len(findings) == len(expected)
    options = {} if example.is_operator_set else {"values": example.values}
    alone = model.check(select=example.rule, **options)
    assert [each.where for each in alone] == [
        where for rule, where in findings if rule == example.rule
    ]


@GIVEN
def test_a_model_that_keeps_the_rule(example: Example, tmp_path: Path) -> None:
    example.write_files(tmp_path, is_broken=False)
    model = loaded(example.message(example.kept).SerializeToString(), example, tmp_path)
    strict = LEVELS[example.rule] == "strict"
    assert found_in(model, True, strict, OF_TEST_MODELS - {example.rule}) == []


def test_an_error_is_what_must_not_be_or_what_a_reader_fails_on() -> None:
    allowed = {
        "error": {"MUST", "readers differ"},
        "warning": {"MUST", "SHOULD", "readers differ"},
        "hint": {"MUST", "SHOULD", "advice"},
        "strict": {"MUST", "SHOULD"},
    }
    for rule in RULES:
        assert REQUIREMENTS[rule] in allowed[LEVELS[rule]], rule


def test_every_rule_has_an_example() -> None:
    assert {example.rule for example in EXAMPLES} == set(RULES)


def test_what_cannot_be_avoided_is_explained() -> None:
    for example in EXAMPLES:
        assert bool(example.also) == bool(example.why), example.rule


def test_the_bases_keep_all_rules() -> None:
    model = text_format.Parse(SMALL, ModelProto()).SerializeToString()
    assert found_in(onnxmap.loads(model), values=True, strict=True) == []
    operators = text_format.Parse(SMALL_SET, OperatorSetProto()).SerializeToString()
    view = onnxmap.loads_proto(operators, "OperatorSetProto")
    assert found_in(onnxmap.wrap(view), values=True, strict=True) == []


@pytest.mark.parametrize("removed", ["since_version", "status"])
def test_a_removed_field_as_old_files_have_it(removed: str) -> None:
    model = onnxmap.loads(text_format.Parse(SMALL, ModelProto()).SerializeToString())
    function = model.functions.add(name="F", domain="org.example")
    key = {"since_version": b"\x10", "status": b"\x18"}[removed]
    function.proto.MergeFromString(key + b"\x01")
    (found,) = model.check(select="model.field_removed")
    assert found.where == "functions[0]"
    assert found.message.endswith(f"which was {removed}")
