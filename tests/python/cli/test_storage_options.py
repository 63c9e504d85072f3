"""`--storage-option`: options for fsspec, in each command that opens a URL."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from support.models.sample import external, model_of
from support.processes.command_line import Run

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem


class Store(MemoryFileSystem):  # type: ignore[misc]
    """A store of fsspec that says which options it got."""

    protocol = "told"
    got: ClassVar[list[dict[str, object]]] = []

    def __init__(self, **options: object) -> None:
        self.got.append(options)
        super().__init__()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.replace("told:", "memory:")))


@pytest.fixture
def store() -> Iterator[type[Store]]:
    fsspec.register_implementation("told", Store, clobber=True)
    yield Store
    Store.store.clear()
    forget()


def forget() -> None:
    """Let the next call open the store again."""
    Store.clear_instance_cache()
    Store.got.clear()


def test_storage_options(run: Run, small: Path, tmp_path: Path, store: type[Store]) -> None:
    store().pipe_file("/m.onnx", small.read_bytes())
    given = ["--storage-option", "key=a=b", "--storage-option", 'more={"deep": [1, null]}']
    given += ["--storage-option", "anon=true", "--storage-option", "secret=01"]
    wanted = {"key": "a=b", "more": {"deep": [1, None]}, "anon": True, "secret": "01"}
    lines = [
        ("show",), ("ls",), ("dump",), ("dump", "--type", "ModelProto"), ("check",), ("verify",),
        ("stats",), ("diff", "told://m.onnx"), ("save", "a.onnx"), ("set", "k=v", "-o", "b.onnx"),
        ("rename-tensor", "a.bias", "bias", "-o", "a.onnx", "--json"),
        ("edit", "a.onnx", "--prune"), ("edit", "a.onnx", "--prune", "--dry-run"),
        ("merge", "told://m.onnx", "a.onnx", "--prefix", "b."),
        ("cp", "b.onnx", "--overwrite"),
    ]  # fmt: skip
    if find_spec("onnxruntime"):
        lines.append(("run", "--alone"))
    for command, *others in lines:
        forget()
        words = [tmp_path / word if word in ("a.onnx", "b.onnx") else word for word in others]
        ran = run(command, "told://m.onnx", *words, *given)
        assert Store.got, (command, ran)
        assert all(got == wanted for got in Store.got), command
        # The model has findings, and no output.
        assert ran.status == {"check": 1, "run": 2}.get(command, 0), (command, ran.err)


def test_storage_options_for_the_external_data_of_standard_input(
    run: Run, store: type[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store().pipe_file("/data/w.bin", np.float32([1, 2]).tobytes())
    made = model_of([external("w", [2], {"location": "w.bin"})]).SerializeToString()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(made)))
    forget()
    options = "--external-root", "told://data", "--storage-option", "anon=true"
    assert run("stats", "-", *options).status == 0
    assert Store.got == [{"anon": True}]


@pytest.mark.parametrize("value", ["key", "=value", "key="])
def test_a_storage_option_that_is_no_pair(run: Run, small: Path, value: str) -> None:
    ran = run("show", small, "--storage-option", value)
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "must be of the form NAME=VALUE" in ran.err


def test_a_value_that_is_nested_too_deep_is_a_string(
    run: Run, store: type[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store().pipe_file("/m.onnx", model_of([]).SerializeToString())
    forget()
    assert run("show", "told://m.onnx", "--storage-option", "a=" + "[" * 100_000).status == 0
    assert Store.got == [{"a": "[" * 100_000}]
