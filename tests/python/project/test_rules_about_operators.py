"""Lists of the source about operators: which rules need them, and which ones have rules."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import onnx
from support.checks.rules import RULES

from onnxmap._read.checks import chosen_rules

ROOT = Path(__file__).parents[3]


def test_the_operators_are_looked_up_for_no_rule_that_is_left() -> None:
    """One such rule made a check without operators 1.4 times as much work."""
    source = (ROOT / "cpp/check/checking.cpp").read_text()
    needed = set(re.findall(r"rule == Rule::(\w+)", source))
    left_out = set(RULES) - chosen_rules(True, None, None, operators=False)
    others = {name for name in left_out if not name.startswith("operator.")}
    assert {name.replace(".", "_") for name in others} == needed


def rows_of(name: str) -> list[list[str]]:
    """The strings of each row of a table; those in several lines are one."""
    text = re.sub(r"//.*", "", (ROOT / "cpp/check" / name).read_text())
    text = re.sub(r'"\s+"', "", text)
    rows = re.findall(r"(?ms)^[A-Z]+\((.*?)\)$", text)
    return [re.findall(r'"(.*?)"', row) for row in rows]


def test_operators_with_rules_about_shapes_and_words_exist() -> None:
    known = {schema.name for schema in onnx.defs.get_all_schemas_with_history()}
    shapes = Counter(name for row in rows_of("shapes.def") for name in row[-1].split())
    assert len(shapes) > 150
    assert shapes.keys() <= known
    assert [name for name, count in shapes.items() if count > 1] == ["BatchNormalization"]
    words = {name for row in rows_of("words.def") for name in row[1].split()}
    assert len(words) > 10
    assert words <= known
