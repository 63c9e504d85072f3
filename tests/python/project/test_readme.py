"""README.md and the pages of docs: each block is run, and each output compared.

The language of a block says how it is run. `sh` blocks are commands for a fresh clone, which
continuous integration runs in a new environment. `console`, `pycon` and `python` blocks run here,
in order, in one folder for each page; the last kind with stand-ins for other libraries.
"""

from __future__ import annotations

import contextlib
import doctest
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from support.processes.subprocesses import run_python

from onnxmap import _core

ROOT = Path(__file__).parents[3]
# Pages without examples for users; test_from_onnx.py runs that of other libraries.
OTHERS = (
    "architecture", "benchmarks.md", "examples.md", "formats.md", "from_onnx.md", "overview.md",
    "rules",    "security", "windows.md",
)  # fmt: skip
PAGES = (
    "README.md",
    *sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "docs").rglob("*.md")
        if path.relative_to(ROOT / "docs").parts[0] not in OTHERS
    ),
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DEMO = "onnxmap demo --keep . --json"
OPTIONAL = ("torch", "onnxconverter_common")  # blocks that import one need it
NEEDS = {"docs/serving.md": "onnxruntime", "docs/cookbook/files.md": "onnxruntime"}
RUN = {"console", "pycon", "python"}


class Block(NamedTuple):
    language: str
    line: int
    text: str


def blocks(page: str) -> list[Block]:
    return blocks_of((ROOT / page).read_text())


def blocks_of(text: str) -> list[Block]:
    return [
        Block(found[1], text[: found.start()].count("\n") + 1, found[2])
        for found in _BLOCK.finditer(text)
    ]


def section(text: str, anchor: str) -> str:
    """The beginning of a page, and its section with this anchor."""
    start, *rest = re.split(r"^(?=##+ )", text, flags=re.MULTILINE)
    depth = 0
    for part in rest:
        marks, _, heading = part.partition("\n")[0].partition(" ")
        if depth:
            depth *= len(marks) > depth
        elif re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") == anchor:
            depth = len(marks)
        start += part * bool(depth)
    return start


def run_console(block: Block, folder: Path) -> None:
    """Run each `$ onnxmap …` of a block, and compare its output as doctest does."""
    code = "from onnxmap.cli import main; sys.exit(main())"
    for example in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = example.partition("\n")
        words = shlex.split(command)
        assert words[0] == "onnxmap", command
        with contextlib.chdir(folder):
            ran = run_python(code, *words[1:])
        assert (ran.returncode, ran.stderr) == (0, ""), command
        assert doctest.OutputChecker().check_output(expected, ran.stdout, OPTIONS), (
            f"line {block.line}: {command}\nexpected:\n{expected}\nfound:\n{ran.stdout}"
        )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's model, as the first page of the guide makes it for all pages."""
    folder = tmp_path_factory.mktemp("demo")
    run_console(Block("console", 0, f"$ {_DEMO}\n{{...}}\n"), folder)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_examples_do_what_the_page_says(
    page: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    monkeypatch.chdir(tmp_path)
    if _DEMO not in (ROOT / page).read_text():
        shutil.copytree(demo, tmp_path, dirs_exist_ok=True)
    ran = run_blocks(blocks(page), page, tmp_path, monkeypatch)
    assert ran or page.endswith("index.md"), "a page for users without an example"


# Recipes of the cookbook run alone in any case.
JOBS = re.findall(r"\]\((guide/\S+\.md)#(\S+)\)", (ROOT / "docs/index.md").read_text())


@pytest.mark.parametrize(("page", "anchor"), JOBS)
def test_what_the_index_leads_to_runs_alone(
    page: str, anchor: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = f"docs/{page}"
    text = (ROOT / page).read_text()
    assert "`onnxmap demo --keep .`" in text  # where the model comes from
    monkeypatch.chdir(tmp_path)
    shutil.copytree(demo, tmp_path, dirs_exist_ok=True)
    run_blocks(blocks_of(section(text, anchor)), page, tmp_path, monkeypatch)


def run_blocks(some: list[Block], page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the examples of a page, or of a part of it; return their number."""
    names: dict[str, object] = {}
    given = set(folder.iterdir())
    recipes = page.startswith("docs/cookbook/")  # each needs the imports and the demo alone
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    ran = 0
    for block in some:
        if block.language == "console":
            run_console(block, folder)
        elif block.language == "pycon":
            examples = doctest.DocTestParser().get_doctest(
                block.text, names, page, page, block.line
            )
            assert examples.examples, f"line {block.line} of {page} shows nothing"
            report: list[str] = []
            runner.run(examples, out=report.append, clear_globs=False)
            assert runner.failures == 0, "".join(report)
            if not recipes or not names:
                names.update(examples.globs)
        elif block.language == "python" and not lacks_library(block):
            for library in ("h5py", "zarr"):
                monkeypatch.setitem(sys.modules, library, containers(library))
            exec(compile(block.text, page, "exec"), names)  # noqa: S102 -- our own page
        else:
            continue
        for made in set(folder.iterdir()) - given if recipes else ():
            made.unlink()
        ran += 1
    return ran


def lacks_library(block: Block) -> bool:
    """Whether the block cannot be run, since it imports an optional library that is not here."""
    imported = re.findall(r"^(?:import|from) (\w+)", block.text, re.MULTILINE)
    return any(name in OPTIONAL and find_spec(name) is None for name in imported)


def test_every_page_with_examples_is_run() -> None:
    every = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    shown = {page for page in every if any(block.language in RUN for block in blocks(page))}
    assert len(shown) > 15
    assert shown <= set(PAGES)


def test_recipes_are_short() -> None:
    recipes = [
        recipe
        for page in ("weights", "graph", "files")
        for recipe in (ROOT / f"docs/cookbook/{page}.md").read_text().split("\n## ")[1:]
    ]
    recipes += (ROOT / "docs/cookbook/index.md").read_text().split("\n### ")[1:]
    assert len(recipes) >= 25
    for recipe in recipes:
        name, _, text = recipe.partition("\n")
        (block,) = _BLOCK.findall(text.partition("\n## ")[0])
        code = [line for line in block[1].splitlines() if line and block[0] == "python"]
        code += re.findall(r"^(?:>>>|\.\.\.) .*", block[1] * (block[0] == "pycon"), re.MULTILINE)
        assert 0 < len(code) <= 5, name


def test_no_example_multiplies_in_float16() -> None:
    """NumPy does so without BLAS: a product with 16 columns takes seven times as long."""
    pages = "".join((ROOT / page).read_text() for page in PAGES)
    left = re.findall(r"^(?:>>>|\.\.\.) .*?(\S+) @ ", pages, re.MULTILINE)
    assert len(left) == 2
    assert all(re.search(r"\.astype\(\"f(loat32|4)\"\)$", factor) for factor in left)


def containers(name: str) -> ModuleType:
    """A library that the tests do not install, as far as the pages use it: files are dicts."""

    class Group(dict[str, Any]):
        def __init__(self, path: str, mode: str) -> None:
            assert mode == "w"
            super().__init__()

        def __enter__(self) -> dict[str, Any]:
            return self

        def __exit__(self, *_: object) -> None:
            assert len(self) > 0

    made = ModuleType(name)
    vars(made).update(File=Group, open_group=Group)
    return made


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_of_a_language_that_is_run(page: str) -> None:
    assert {block.language for block in blocks(page)} <= {"sh", "console", "pycon", "python"}


def test_readme_has_the_two_commands() -> None:
    """`tools/readme_commands` takes these lines from the page. CI and `make pythons` run them.

    `tools/test_install` runs the line of Debian's packages before them.
    """
    shown = [block.text.splitlines() for block in blocks("README.md") if block.language == "sh"]
    assert shown == [
        [
            "apt-get install g++ python3-dev python3-venv  # Debian, Ubuntu",
            "dnf install gcc-c++ python3-devel  # Fedora",
        ],
        [
            "python3 -m venv .venv && . .venv/bin/activate",
            "python -m pip install '.[cli]' && onnxmap demo",
        ],
        ["python -m pip install '.[test]' && python -m pytest -n auto"],
    ]
    found = subprocess.run([ROOT / "tools/readme_commands", sys.executable], check=False)
    assert found.returncode == 0


def test_the_table_of_element_types_is_that_of_the_code() -> None:
    text = (ROOT / "docs/formats.md").read_text()
    table = text[text.index("| element type | bits |") :].partition("\n\n")[0]
    types = _core.data_type_facts()
    assert table.splitlines()[2:] == [
        f"| {name} | {bits or 'any'} | `{dtype}` | `{field}` | {'yes' if bits >= 8 else 'no'} |"
        for name, _, bits, field, dtype in types
    ]
    assert f"all {len(types)} element types" in (ROOT / "README.md").read_text()


def test_codes_of_bad_tensors_are_those_of_the_code() -> None:
    sources = [*(ROOT / "cpp").rglob("*.[ch]pp"), *(ROOT / "python").rglob("*.py")]
    used = {
        code for path in sources for code in re.findall(r'"(tensor\.[a-z_]+)"', path.read_text())
    }
    table = (ROOT / "docs/tensors.md").read_text().partition("| `code` | what does not fit |")[2]
    assert set(re.findall(r"`(tensor\.[a-z_]+)`", table)) == used


def test_files_that_contributing_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:cpp|tests|python|tools|bench)/[\w./]+)`", text)
    assert named
    assert [name for name in named if "NAME" not in name and not (ROOT / name).exists()] == []


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "".join((ROOT / page).read_text() for page in (*PAGES, "CONTRIBUTING.md"))
    named = set(re.findall(r"`make ([a-z]+)", text))
    assert {"setup", "test", "check"} <= named <= targets


def test_platforms_are_those_that_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [
        item.rpartition(" ")[2]
        for item in project["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", item)
    ]
    readme = (ROOT / "README.md").read_text()
    assert f"Python {versions[0]} to {versions[-1]}" in readme
    assert project["requires-python"] == f">={versions[0]}"
    assert project["license"] == "Apache-2.0"
    assert "[Apache-2.0](LICENSE)" in readme
    assert "Apache License" in (ROOT / "LICENSE").read_text()
