"""docs/security: each promise names existing tests, and each code that a page names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from support.containment.table import expected
from support.containment.tree import Tree

ROOT = Path(__file__).parents[3]
HERE = str(Path(__file__).relative_to(ROOT / "tests/python"))
PAGES = sorted((ROOT / "docs/security").glob("*.md"))
TEXT = "\n".join(page.read_text() for page in PAGES)

_CODE = r"(?:ext\.[a-z_]+|file\.changed)"


class Row(NamedTuple):
    """A line of a table whose last column is titled "checked by"."""

    promise: str
    tests: list[str]  # the names in that column


def rows() -> list[Row]:
    found: list[Row] = []
    holds = False
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            holds = False
        elif cells[-1].rstrip(" |") == "checked by":
            holds = True
        elif holds and not line.startswith("|---"):
            found.append(Row(cells[0], re.findall(r"`([^`]*)`", cells[-1])))
    return found


@cache
def names_in(path: Path) -> set[str]:
    """The tests and test classes of a file, by the names that pytest gives them."""

    def walk(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for item in body:
            if isinstance(item, ast.ClassDef) and item.name.startswith("Test"):
                yield prefix + item.name
                yield from walk(item.body, f"{prefix}{item.name}::")
            elif isinstance(item, ast.FunctionDef) and item.name.startswith("test_"):
                yield prefix + item.name

    return set(walk(ast.parse(path.read_text()).body, ""))


def is_test(name: str) -> bool:
    """Whether this is a file of tests, or a test in one."""
    file, _, test = name.partition("::")
    if file.endswith("_test.cpp"):
        path = ROOT / "tests/cpp" / file
        return path.is_file() and "TEST_CASE(" in path.read_text() and not test
    path = ROOT / "tests/python" / file
    is_file = path.name.startswith("test_") and path.suffix == ".py" and path.is_file()
    return is_file and bool(names_in(path)) and (not test or test in names_in(path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (HERE, True),
        (f"{HERE}::test_every_promise_is_held_by_a_test", True),
        (f"{HERE}::rows", False),
        (f"{HERE}::test_that_there_is_not", False),
        ("test_of_nothing.py", False),
        ("support/processes/subprocesses.py", False),
        ("external_data/test_checksums.py::TestTensor", True),
        ("os/file_test.cpp", True),
        ("os/nothing_test.cpp", False),
        ("main.cpp", False),
        ("", False),
    ],
)
def test_a_test_is_told_from_other_names(name: str, expected: bool) -> None:
    assert is_test(name) == expected


def test_every_promise_is_held_by_a_test() -> None:
    promises = rows()
    assert len(promises) > 30, "the tables are not found any more"
    assert [row.promise for row in promises if not row.tests] == []
    named = {name for row in promises for name in row.tests}
    assert sorted(name for name in named if not is_test(name)) == []


def test_its_codes_are_those_of_the_code() -> None:
    sources = [*(ROOT / "cpp").rglob("*.[ch]pp"), *(ROOT / "python").rglob("*.py")]
    used = {code for path in sources for code in re.findall(f'"({_CODE})"', path.read_text())}
    table = TEXT.partition("\n## Codes\n")[2].partition("\n## ")[0]
    assert set(re.findall(f"`({_CODE})`", table)) == used
    assert set(re.findall(f"`({_CODE})`", TEXT)) <= used


def test_classes_of_codes_are_those_that_are_raised() -> None:
    from onnxmap import errors

    table = TEXT.partition("\n## Codes\n")[2].partition("\n## ")[0]
    told = 0
    for line in table.splitlines():
        codes = re.findall(f"`({_CODE})`", line.partition(" | ")[0])
        names = re.findall(r"`(\w+Error)`", line)
        for code in codes:
            error = errors.make_error(code, "", None, "", "", "", "")
            assert error.code == code
            kinds = {kind.__name__ for kind in type(error).__mro__}
            assert names, line
            assert set(names) <= kinds, line
            told += 1
    assert told > 10


# Lines of the table of policies, and the location in containment_table that each describes.
POLICY_ROWS = {
    "a regular file": "text: below",
    "a link that ends in one of these": "link: link out and in",
    "a link that ends elsewhere": "link: link out",
    "a link that ends nowhere": "link: dangling below",
    "links in a circle": "link: loop",
    "a file that has another hard link": "hard: hard link out",
    "the same with `allow_hardlinks=True`": "hard: hard link out",
    "a string that leads out": "text: up",
    "a directory": "text: a folder",
    "a FIFO": "special: pipe",
}


def test_the_table_of_policies_is_that_of_the_tests(tmp_path: Path) -> None:
    """The rows of containment_table, which external_data/test_containment.py tests."""
    table = TEXT[TEXT.index("| the location leads to |") :].partition("\n\n")[0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    policies = re.findall(r'`"(\w+)"`', " ".join(lines[0]))
    assert len(lines[2:]) == len(POLICY_ROWS)
    for (first, *cells), (begin, name) in zip(lines[2:], POLICY_ROWS.items(), strict=True):
        assert first.startswith(begin)
        for policy, cell in zip(policies, cells, strict=True):
            hard_links = "allow_hardlinks" in first and policy != "trusted"
            row = f"{policy} with hard links" if hard_links else policy
            verdict = expected(row, Tree(tmp_path))[name]
            said, _, words = cell.partition(": ")
            codes = {"refused": "ext.unsafe_path", "opened": "opens"}
            assert codes.get(said.partition(",")[0], said.strip("`")) == verdict.code, (row, first)
            assert not words or words.strip("`") in verdict.words, (row, first)
