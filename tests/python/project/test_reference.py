"""docs/reference has every public name. `make docs` looks for every member of the classes, too."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import onnxmap
import onnxmap.errors
import onnxmap.types

PAGES = sorted((Path(__file__).parents[3] / "docs/reference").glob("*.md"))
TEXT = "\n".join(page.read_text() for page in PAGES)
DIRECTIVES = re.findall(
    r"^\.\. auto(function|class|exception):: ([\w.]+)((?:\n   :.*)*)", TEXT, re.MULTILINE
)
# The names that programs use most, by the examples, the cookbook and the guide.
USUAL = [
    "load",
    "loads",
    "load_arrays",
    "save",
    "Model",
    "initializers",
    "numpy",
    "views",
    "arrays",
    "stream",
    "graph",
    "nodes",
    "DataType",
    "make_node",
    "make_tensor",
    "from_arrays",
    "check",
    "diff",
    "merge",
    "extract",
    "copy_model",
    "append",
    "stats",
    "save_safetensors",
    "load_safetensors",
    "OnnxMapError",
]


def test_every_public_name_is_there_once() -> None:
    names = [name for _, name, _ in DIRECTIVES]
    assert len(set(names)) == len(names)
    assert {f"onnxmap.{name}" for name in onnxmap.__all__} <= set(names)


@pytest.mark.parametrize("module", [onnxmap.types, onnxmap.errors])
def test_every_class_of_a_public_module_is_there(module: object) -> None:
    assert inspect.ismodule(module)
    classes = {
        name
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }
    assert len(classes) > 8
    assert classes <= {name.rpartition(".")[2] for _, name, _ in DIRECTIVES}


def test_each_is_what_its_directive_says_with_its_members() -> None:
    for kind, name, options in DIRECTIVES:
        value: object = onnxmap
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        if kind == "function":
            assert not inspect.isclass(value), name
        else:
            assert inspect.isclass(value), name
            assert issubclass(value, (BaseException)) == (kind == "exception"), name
            assert ":members:" in options, name


@pytest.mark.parametrize("name", USUAL)
def test_the_usual_names_have_an_example(name: str) -> None:
    examples = "\n".join(re.findall(r"^>>> .*|^\.\.\. .*", TEXT, re.MULTILINE))
    assert re.search(rf"\b{name}\b", examples)
