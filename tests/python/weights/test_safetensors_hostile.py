"""Malformed safetensors files, and 2 000 mutants held against the official package."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
from support.hostile.other_formats import FORMATS
from support.hostile.safetensors_mutator import file_of, mutant
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

import onnxmap

F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
ABOVE = 1 << 64


def file_with(header: Any, data: bytes = bytes(4)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return file_of(text, data)


def entry(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


WRONG: dict[str, tuple[bytes, type[onnxmap.OnnxMapError], str]] = {
    "empty": (b"", onnxmap.ParseError, "shorter than the length"),
    "seven bytes": (bytes(7), onnxmap.ParseError, "shorter than the length"),
    "length 0": (file_of(b"", b"", 0), onnxmap.ParseError, "does not begin with {"),
    "long header": (file_of(b"{}", b"", 100_000_001), onnxmap.ParseError, "100,000,000"),
    "longest header": (file_of(b"{}", b"", ABOVE - 1), onnxmap.ParseError, "100,000,000"),
    "header past the end": (file_of(b"{}", b"", 3), onnxmap.ParseError, "ends within its header"),
    "leading blank": (file_with(b' {"a":{}}'), onnxmap.ParseError, "does not begin with {"),
    "hole": (file_with({"a": entry(offsets=[1, 5])}, bytes(5)), onnxmap.ParseError, "begin at 1"),
    "overlap": (
        file_with({"a": entry(shape=[2], offsets=[0, 8]), "b": entry(offsets=[4, 8])}, bytes(8)),
        onnxmap.ParseError, "begin at 4, not behind those of the tensor before it, at 8",
    ),
    "alias": (file_with({"a": entry(), "b": entry()}), onnxmap.ParseError, "begin at 0, not"),
    "trailing bytes": (file_with({"a": F32}, bytes(5)), onnxmap.ParseError, "need 4 bytes"),
    "short data": (file_with({"a": F32}, bytes(3)), onnxmap.ParseError, "need 4 bytes"),
    "backwards": (
        file_with({"a": entry(offsets=[4, 0])}), onnxmap.ParseError, "end before they begin",
    ),
    "negative": (file_with({"a": entry(offsets=[-4, 0])}), onnxmap.ParseError, "from 0 to 2"),
    "three offsets": (
        file_with({"a": entry(offsets=[0, 4, 4])}), onnxmap.ParseError, "two numbers",
    ),
    "size": (file_with({"a": entry(shape=[2])}), onnxmap.TensorError, "need 8 bytes, and it has 4"),
    "elements": (
        file_with({"a": entry(shape=[1 << 33, 1 << 33])}), onnxmap.TensorError, "2.64 elements",
    ),
    "bits": (file_with({"a": entry(shape=[1 << 62])}), onnxmap.TensorError, "2.64 bits"),
    "dimension": (
        file_with({"a": entry(shape=[0, 1 << 63], offsets=[0, 0])}, b""), onnxmap.TensorError,
        "no dimension",
    ),
    "twice": (
        file_with(b'{"a":%b,"a":%b}' % ((json.dumps(F32).encode(),) * 2)), onnxmap.ParseError,
        "two tensors have the name 'a'",
    ),
    "twice elsewhere": (
        file_with(
            b'{"a":%b,"\\u0061":%b}'
            % (json.dumps(F32).encode(), json.dumps(entry(offsets=[4, 8])).encode()), bytes(8),
        ), onnxmap.ParseError, "two tensors have the name 'a'",
    ),
    "number in metadata": (
        file_with({"__metadata__": {"a": 1}}, b""), onnxmap.ParseError, "expected a string",
    ),
    "metadata twice": (
        file_with(b'{"__metadata__":{"k":"a","k":"b"}}', b""), onnxmap.ParseError,
        "two entries of __metadata__ have the name 'k'",
    ),
    "odd F4": (
        file_with({"a": entry("F4", [3], [0, 2])}, b"12"), onnxmap.ParseError, "within a byte",
    ),
    "deep": (
        file_with(b'{"a":{"x":' + b"[" * 5000), onnxmap.ParseError, "nested more than 127 deep",
    ),
    "not UTF-8": (file_with(b'{"\xff":{}}'), onnxmap.ParseError, "not UTF-8"),
    "surrogate": (file_with(b'{"\\ud800":{}}'), onnxmap.ParseError, "surrogate"),
    "unknown type": (file_with({"a": entry("F128")}), onnxmap.ParseError, "no dtype 'F128'"),
    "no type": (
        file_with({"a": {"shape": [], "data_offsets": [0, 4]}}), onnxmap.ParseError, "lacks",
    ),
    "more JSON": (file_with(b"{}{}", b""), onnxmap.ParseError, "the end of the JSON"),
}  # fmt: skip


@pytest.mark.parametrize("io", ["mmap", "read"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(name: str, io: Any, tmp_path: Path) -> None:
    data, kind, text = WRONG[name]
    path = tmp_path / "w.safetensors"
    path.write_bytes(data)
    with pytest.raises(kind, match=text) as caught:
        onnxmap.load_safetensors(path, io=io)
    assert str(path) in str(caught.value)
    expected = "model.safetensors" if kind is onnxmap.ParseError else "tensor."
    assert caught.value.code.startswith(expected)


def test_names_that_are_paths_or_have_null_bytes(tmp_path: Path) -> None:
    """They are names, and nothing else."""
    names = ["../../etc/passwd", "/etc/passwd", "a\0b", "C:\\x", "\n\x1b[0m"]
    header = {name: entry(shape=[2], offsets=[8 * i, 8 * i + 8]) for i, name in enumerate(names)}
    (tmp_path / "w.safetensors").write_bytes(file_with(header, bytes(40)))
    model = onnxmap.load_safetensors(tmp_path / "w.safetensors")
    assert list(model.initializers) == names
    assert set(model.arrays()) == set(names)
    broken = header | {"a\0b": entry(shape=[3], offsets=[16, 24])}
    (tmp_path / "w.safetensors").write_bytes(file_with(broken, bytes(40)))
    with pytest.raises(onnxmap.TensorError, match=r"'a\\x00b'"):
        onnxmap.load_safetensors(tmp_path / "w.safetensors")


def is_accepted(data: bytes) -> bool:
    try:
        safetensors.deserialize(data)
    except safetensors.SafetensorError:
        return False
    return True


# Texts of errors for files that the official package accepts; docs/formats.md states them.
STRICTER = ("have the name", "does not begin with {", "no dimension", "twice")


def opened(path: Path) -> tuple[onnxmap.Model | None, str]:
    """The model in a file; or None, and the text of the error."""
    try:
        return onnxmap.load_safetensors(path, io="read"), ""
    except (onnxmap.ParseError, onnxmap.TensorError) as error:
        return None, str(error)


def test_mutants(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    count = 5_000_000 if LONG else 100_000 if EXHAUSTIVE else 2_000
    accepted = 0
    for seed in range(count):
        data = mutant(random.Random(seed))
        path.write_bytes(data)
        expected = is_accepted(data)
        accepted += expected
        model, refusal = opened(path)
        if model is None:
            stated = any(text in refusal for text in STRICTER)
            assert stated or not expected, (seed, data, refusal)
            continue
        assert expected, (seed, data)
        theirs = {name: bytes(info["data"]) for name, info in safetensors.deserialize(data)}
        assert {each.name: each.tobytes() for each in model.initializers.all()} == theirs
    assert count * 0.1 < accepted < count * 0.8


INDEXES: dict[str, tuple[str, type[Exception], str]] = {
    "no map": ('{"metadata": {}}', onnxmap.ParseError, "has no weight_map"),
    "no JSON": ('{"weight_map": {', onnxmap.ParseError, "expected a string"),
    "other type": ('{"weight_map": {"a": 1}}', onnxmap.ParseError, "expected a string"),
    "missing shard": (
        '{"weight_map": {"a": "none.safetensors"}}', onnxmap.ExternalDataError, "no file",
    ),
    "outside": (
        '{"weight_map": {"a": "../a.safetensors"}}', onnxmap.UnsafePathError, "outside the model",
    ),
    "absolute": ('{"weight_map": {"a": "/etc/passwd"}}', onnxmap.UnsafePathError, "unsafe"),
    "missing tensor": (
        '{"weight_map": {"a": "s.safetensors", "c": "s.safetensors"}}', onnxmap.ParseError,
        "no tensor 'c'",
    ),
    "twice": (
        '{"weight_map": {"a": "s.safetensors", "a": "s.safetensors"}}', onnxmap.ParseError,
        "names the tensor 'a' twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEXES)
def test_wrong_indexes(name: str, tmp_path: Path) -> None:
    text, kind, reason = INDEXES[name]
    (tmp_path / "sub").mkdir()
    header = {"a": F32, "b": entry(offsets=[4, 8])}
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "s.safetensors").write_bytes(file_with(header, bytes(8)))
        (folder / "a.safetensors").write_bytes(file_with(header, bytes(8)))
    index = tmp_path / "sub/model.safetensors.index.json"
    index.write_text(text)
    with pytest.raises(kind, match=reason):
        onnxmap.load_safetensors(index)


def test_a_shard_may_have_more_than_the_index_names(tmp_path: Path) -> None:
    header = {"a": F32, "b": entry(offsets=[4, 8])}
    (tmp_path / "s.safetensors").write_bytes(file_with(header, np.float32([1, 2]).tobytes()))
    index = tmp_path / "i.json"
    index.write_text(' {"weight_map": {"b": "s.safetensors"}}\n')
    model = onnxmap.load_safetensors(index)
    assert {name: float(each.numpy()[0]) for name, each in model.initializers.items()} == {"b": 2.0}


def test_a_folder_or_a_missing_file_names_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        onnxmap.load_safetensors(tmp_path)
    assert (caught.value.filename, "there is" in str(caught.value)) == (str(tmp_path), False)
    (tmp_path / "a.safetensors").write_bytes(file_with({"a": F32}))
    with pytest.raises(IsADirectoryError, match=r"there is '.*a\.safetensors'"):
        onnxmap.load_safetensors(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "a.safetensors"}}')
    for wrong in (tmp_path, tmp_path / "model.safetensors"):
        with pytest.raises(OSError, match=r"there is '.*index\.json'"):
            onnxmap.load_safetensors(wrong)
    with pytest.raises(FileNotFoundError) as missing:
        onnxmap.load_safetensors(tmp_path / "other.safetensors")
    assert "there is" not in str(missing.value)


@pytest.mark.skipif(SANITIZED, reason="resident memory under ASan is ASan's own")
def test_many_entries_of_metadata_take_little_memory(tmp_path: Path) -> None:
    """Ten bytes each, which two strings would hold in sixty-four."""
    for name, count in (("small", 10), ("large", 500_000)):
        header = {"__metadata__": {f"{i:x}": "" for i in range(count)}}
        text = json.dumps(header, separators=(",", ":")).encode()
        (tmp_path / name).write_bytes(file_with(text, b""))
    facts = facts_from(
        """
    import onnxmap
    onnxmap.load_safetensors(sys.argv[1])
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = resident_kib()
    model = onnxmap.load_safetensors(sys.argv[2])
    report(growth=peak_kib() - before, entries=len(model.metadata_props))
    """,
        str(tmp_path / "small"), str(tmp_path / "large"),
    )  # fmt: skip
    assert facts["entries"] == 500_000
    assert facts["growth"] < 7 * (tmp_path / "large").stat().st_size / 1024


def test_shards_of_the_same_metadata(tmp_path: Path) -> None:
    """The first shard that has a key decides."""
    for name, value in (("a", "1"), ("b", "2")):
        header = {"__metadata__": {"k": value, name: "é\n"}, name: F32}
        (tmp_path / f"{name}.safetensors").write_bytes(file_with(header))
    index = tmp_path / "i.json"
    index.write_text('{"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}')
    found = onnxmap.load_safetensors(index).metadata_props
    assert dict(found) == {"k": "1", "a": "é\n", "b": "é\n"}


def test_a_file_that_changed_after_the_load(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(file_with({"a": F32}))
    model = onnxmap.load_safetensors(path)
    path.rename(tmp_path / "old")
    path.write_bytes(file_with({"b": entry(shape=[2], offsets=[0, 8])}, bytes(8)))
    assert model.initializers["a"].numpy().tolist() == [0]  # the file that was loaded
    (tmp_path / "old").write_bytes(b"short")
    with pytest.raises(onnxmap.FileChangedError):
        model.arrays()


def test_a_cache_of_links(tmp_path: Path) -> None:
    """As the cache of Hugging Face: the snapshot has links to blobs."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots/1"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (blobs / "123").write_bytes(file_with({"a": F32}))
    (blobs / "456").write_text('{"weight_map": {"a": "w.safetensors"}}')
    (snapshot / "w.safetensors").symlink_to("../../blobs/123")
    (snapshot / "w.safetensors.index.json").symlink_to("../../blobs/456")
    for name in ("w.safetensors", "w.safetensors.index.json"):
        assert list(onnxmap.load_safetensors(snapshot / name).arrays()) == ["a"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "w.safetensors").symlink_to("../blobs/123")
    (other / "i.json").write_text('{"weight_map": {"a": "w.safetensors"}}')
    with pytest.raises(onnxmap.UnsafePathError):
        onnxmap.load_safetensors(other / "i.json")
    onnxmap.load_safetensors(other / "i.json", link_policy="trusted")


@pytest.mark.parametrize("name", FORMATS)
def test_other_files_say_what_they_are(name: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(FORMATS[name])
    with pytest.raises(onnxmap.ParseError) as caught:
        onnxmap.load_safetensors(path)
    assert "this is not a safetensors file; it looks like" in str(caught.value)
    assert name.lower() in str(caught.value).lower()
    assert caught.value.code == "model.safetensors"


def test_other_loaders_say_that_a_file_is_of_this_kind(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(file_with({"a": F32}))
    with pytest.raises(onnxmap.ParseError, match=r"onnxmap\.load_safetensors reads it"):
        onnxmap.load(tmp_path / "w.safetensors")
