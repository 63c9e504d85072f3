"""Entries of external data: the model as its own file, repeated and unknown keys."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from support.containment.tree import CANARY, VALUES, model_bytes, write
from support.models.sample import external, model_of
from support.models.sample import write as write_message
from support.processes.file_watch import FileWatch

import onnxmap


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    write(tmp_path / "model/w.bin", VALUES)
    write(tmp_path / "canary.bin", CANARY)
    return tmp_path / "model"


@pytest.mark.parametrize("policy", ["contained", "strict", "trusted"])
@pytest.mark.parametrize("io", ["mmap", "read"])
def test_the_model_itself_is_an_ordinary_file(folder: Path, policy: str, io: str) -> None:
    path = folder / "model.onnx"
    path.write_bytes(model_bytes({"w": b"model.onnx"}))
    model = onnxmap.load(path, link_policy=policy, io=io)
    assert model.initializers["w"].tobytes() == path.read_bytes()[:16]
    assert model.initializers["w"].file == str(path)


def test_a_model_that_is_a_link_and_names_itself(folder: Path) -> None:
    (folder.parent / "real").mkdir()
    content = model_bytes({"w": b"model.onnx"})
    (folder.parent / "real/other name.onnx").write_bytes(content)
    path = folder / "model.onnx"
    path.symlink_to("../real/other name.onnx")
    assert onnxmap.load(path).initializers["w"].tobytes() == content[:16]
    with pytest.raises(onnxmap.UnsafePathError, match="symlink"):
        onnxmap.load(path, link_policy="strict").initializers["w"].numpy()


def test_ranges_may_be_shared_and_overlap(folder: Path) -> None:
    """As with tied weights."""
    entries = {"a": ("0", [4]), "same": ("0", [2, 2]), "part": ("4", [2]), "behind": ("8", [2])}
    tensors = [
        external(name, dims, {"location": "w.bin", "offset": offset})
        for name, (offset, dims) in entries.items()
    ]
    views = onnxmap.load(write_message(model_of(tensors), folder / "model.onnx")).views()
    assert views["a"].tolist() == VALUES
    assert views["same"].ravel().tolist() == VALUES
    assert views["part"].tolist() == VALUES[1:3]
    assert views["behind"].tolist() == VALUES[2:]
    for name in ("same", "part", "behind"):
        assert np.shares_memory(views["a"], views[name])


DOUBLES = {
    "good, then outside": ("location", "w.bin", "../canary.bin"),
    "outside, then good": ("location", "../canary.bin", "w.bin"),
    "good, then a link out": ("location", "w.bin", "link"),
    "a link out, then good": ("location", "link", "w.bin"),
    "good, then good": ("location", "w.bin", "./w.bin"),
    "good, then empty": ("location", "w.bin", ""),
    "offsets that differ": ("offset", "0", "4"),
    "good offset, then bad": ("offset", "0", "x"),
    "bad offset, then good": ("offset", "x", "0"),
    "lengths that differ": ("length", "4", "8"),
    "bad length, then good": ("length", "99", "4"),
}


@pytest.mark.parametrize("policy", ["contained", "trusted"])
@pytest.mark.parametrize("name", DOUBLES)
def test_repeated_keys_are_refused_whatever_they_say(folder: Path, name: str, policy: str) -> None:
    """Readers differ in which one they take, so a check by another reader would prove nothing."""
    (folder / "link").symlink_to("../canary.bin")
    key, first, second = DOUBLES[name]
    tensor = external("w", [1], {"location": "w.bin"} if key != "location" else {})
    for value in (first, second):
        tensor.external_data.add(key=key, value=value)
    path = write_message(model_of([tensor]), folder / "model.onnx")
    found = onnxmap.load(path, link_policy=policy).initializers["w"]
    with closing(FileWatch([folder.parent / "canary.bin", folder / "w.bin"])) as watch:
        for read in (found.numpy, found.tobytes, lambda: found[:1]):
            with pytest.raises(onnxmap.ExternalDataError) as caught:
                read()
            assert caught.value.code == "ext.duplicate_key"
        assert watch.opened() == set()


def test_unknown_keys_have_no_effect(folder: Path) -> None:
    keys = ["__class__", "__dict__", "__init__", "numpy", "file", "path", "_location", "basepath"]
    tensors = [
        external("plain", [4], {"location": "w.bin"}),
        external("odd", [4], {"location": "w.bin", **dict.fromkeys(keys, "../canary.bin")}),
    ]
    model = onnxmap.load(write_message(model_of(tensors), folder / "model.onnx"))
    plain, odd = model.initializers["plain"], model.initializers["odd"]
    for one, other in ((plain, odd), (plain.external, odd.external)):
        assert type(one) is type(other)
        assert dir(one) == dir(other)
    assert odd.external.location == "w.bin"
    assert odd.file == plain.file == str(folder / "w.bin")
    assert odd.numpy().tolist() == VALUES
    stored = {entry.key: entry.value for entry in odd.proto.external_data}
    assert set(stored) == {"location", *keys}


LONG = {
    "location": ("w", "../" + "x" * 3000),
    "name": ("x" * 3000, "../canary.bin"),
    "both": ("x" * 3000, "../" + "x" * 3000),
    "links": ("x" * 3000, "link"),
    "control characters": ("\x1b[2J\n" * 100, "../" + "\x1b[2J\r\n" * 100),
}


@pytest.mark.parametrize("name", LONG)
def test_messages_cut_and_escape_what_the_model_says(folder: Path, name: str) -> None:
    (folder / "link").symlink_to("../canary.bin")
    tensor, location = LONG[name]
    (folder / "model.onnx").write_bytes(model_bytes({tensor: location.encode()}))
    with pytest.raises(onnxmap.UnsafePathError) as caught:
        onnxmap.load(folder / "model.onnx").initializers[tensor].numpy()
    text = str(caught.value)
    assert text.isprintable()
    assert "x" * 201 not in text
    assert len(text) < 2_000 + len(str(folder))
    assert str(folder) in text


@pytest.mark.parametrize("policy", ["contained", "trusted"])
def test_without_a_root_nothing_is_looked_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.chdir(folder)
    locations = {"w": b"w.bin", "up": b"../canary.bin"}
    model = onnxmap.loads(model_bytes(locations), link_policy=policy)
    with closing(FileWatch([folder / "w.bin", folder.parent / "canary.bin"])) as watch:
        for name in locations:
            with pytest.raises(onnxmap.ExternalDataError):
                model.initializers[name].numpy()
        assert watch.opened() == set()


def test_dots_in_the_path_of_the_model_follow_the_system(tmp_path: Path) -> None:
    """`jump/..` is the folder above the target of `jump`: the data are beside the opened file."""
    for folder in ("near", "far/deep"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "near/jump").symlink_to("../far/deep")
    for folder, values in (("near", CANARY), ("far", VALUES)):
        (tmp_path / folder / "model.onnx").write_bytes(model_bytes({"w": b"w.bin"}))
        write(tmp_path / folder / "w.bin", values)
    loads: list[Callable[[], onnxmap.Model]] = [
        lambda: onnxmap.load(f"{tmp_path}/near/jump/../model.onnx"),
        lambda: onnxmap.load(
            tmp_path / "near/model.onnx", external_root=f"{tmp_path}/near/jump/.."
        ),
    ]
    for load in loads:
        assert load().initializers["w"].numpy().tolist() == VALUES


def test_a_root_that_is_not_a_folder(folder: Path) -> None:
    """The model loads, because perhaps only its structure is read."""
    buffer = model_bytes({"w": b"w.bin"})
    for root in (folder / "none", folder / "w.bin"):
        tensor = onnxmap.loads(buffer, external_root=root).initializers["w"]
        with pytest.raises(FileNotFoundError) as caught:
            tensor.numpy()
        assert isinstance(caught.value, onnxmap.ExternalDataError)
        assert str(root) in str(caught.value)
    with pytest.raises(TypeError):
        onnxmap.loads(buffer, external_root=3)


@pytest.mark.parametrize("nul", ["{folder}\0", "{folder}\0/x", "\0"])
def test_a_root_with_a_nul_byte_is_refused(folder: Path, nul: str) -> None:
    with pytest.raises(ValueError, match="null byte"):
        onnxmap.loads(model_bytes({"w": b"w.bin"}), external_root=nul.format(folder=folder))
