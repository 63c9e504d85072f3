"""Each rule has models that break it and it alone, and models that keep it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
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


REMOVED = {
    "AttributeProto": dict.fromkeys(range(16, 20), "is reserved") | {12: "was v"},
    "FunctionProto": {2: "was since_version", 3: "was status"},
    "GraphProto": {
        3: "was input", 4: "was output", 6: "was ir_version", 7: "was producer_version",
        8: "was producer_tag", 9: "was domain",
    },
    "Opaque": {3: "was parameters"},
}  # fmt: skip
WITH_ALL = """
graph {
  node { op_type: "Softmax" input: "x" output: "z" attribute { name: "axis" type: INT i: 0 } }
  value_info { name: "z" type { opaque_type { name: "n" } } }
}
functions { name: "F" domain: "org.example" }
"""
PLACES = {
    "AttributeProto": 'graph.node[1].attribute["axis"]',
    "FunctionProto": "functions[0]",
    "GraphProto": "graph",
    "Opaque": "graph.value_info[0].type.opaque_type",
}


@pytest.mark.parametrize("kind", REMOVED)
def test_removed_fields_are_those_that_onnx_reserves(kind: str) -> None:
    """As old files have them, by number."""
    proto = Path(onnx.__file__).with_name("onnx-ml.proto").read_text()
    body = re.split(rf"message {kind} {{", proto)[1].split("message ")[0]
    reserved: set[int] = set()
    for numbers in re.findall(r"reserved ([0-9, to]+);", body):
        for part in numbers.split(","):
            first, *last = map(int, part.split("to"))
            reserved |= set(range(first, (last or [first])[0] + 1))
    assert reserved == set(REMOVED[kind])
    made = text_format.Merge(WITH_ALL, text_format.Parse(SMALL, ModelProto()))
    data = made.SerializeToString()
    for number in [*REMOVED[kind], 99]:
        model = onnxmap.loads(data)
        message = {
            "AttributeProto": model.proto.graph.node[1].attribute[0],
            "FunctionProto": model.proto.functions[0],
            "GraphProto": model.proto.graph,
            "Opaque": model.proto.graph.value_info[0].type.opaque_type,
        }[kind]
        message.MergeFromString(_varint_field(number))
        found = [(each.where, each.message) for each in model.check(select="model.field_removed")]
        what = REMOVED[kind].get(number)
        expected = [(PLACES[kind], f"it has field {number}, which {what}")] if what else []
        assert found == expected


def _varint_field(number: int) -> bytes:
    tag = number << 3
    return (bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])) + b"\x01"
