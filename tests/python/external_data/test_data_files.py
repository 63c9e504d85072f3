"""`Model.data_files()` and `verify_files`: every data file of models, whatever is wrong with it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from support.models.checksums import DATA, WRONG, Hashed, data_file, declared
from support.models.sample import floats, model_of, write

import onnxmap


def files_of(path: Path) -> dict[str, onnxmap.DataFile]:
    return {Path(file.path).name: file for file in onnxmap.load(path).data_files()}


def test_every_data_file_once(tmp_path: Path) -> None:
    digest = data_file(tmp_path / "w.bin")
    tensors = [
        floats("inline", 2),
        declared("a", "w.bin", digest),
        declared("b", "./w.bin", None),
        declared("c", "gone.bin", digest),
        declared("d", "../w.bin", None),
    ]
    found = onnxmap.load(write(model_of(tensors), tmp_path / "m.onnx")).data_files()
    assert [file.nbytes for file in found] == [len(DATA), None, None]
    assert [file.digest for file in found] == [None] * 3
    assert list(found[0].declared) == [digest]
    assert found[0].failure is None
    assert isinstance(found[1].failure, FileNotFoundError)
    assert isinstance(found[2].failure, onnxmap.UnsafePathError)


def test_files_of_several_models_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = data_file(tmp_path / "w.bin")
    for name, checksum in (("good", digest), ("wrong", WRONG), ("none", None)):
        write(model_of([declared("t", "w.bin", checksum)]), tmp_path / f"{name}.onnx")
    hashed = Hashed()
    monkeypatch.setattr("hashlib.sha1", hashed)
    good, wrong, none = (
        files_of(tmp_path / f"{name}.onnx")["w.bin"] for name in ("good", "wrong", "none")
    )
    told: list[tuple[int, int]] = []
    onnxmap.verify_files([good, wrong, none], progress=lambda *sizes: told.append(sizes))
    assert hashed.files == 1
    assert told[-1] == (len(DATA), len(DATA))
    assert (good.digest, good.failure, good.wrong_checksum) == (digest, None, None)
    assert (wrong.digest, wrong.wrong_checksum) == (digest, WRONG)
    assert isinstance(wrong.failure, onnxmap.ChecksumError)
    assert (none.digest, none.failure) == (None, None)


def test_a_failure_is_not_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = write(
        model_of([declared("t", "w.bin", data_file(tmp_path / "w.bin"))]), tmp_path / "m.onnx"
    )
    monkeypatch.setattr("hashlib.sha1", fail)
    file = files_of(path)["w.bin"]
    onnxmap.verify_files([file])
    assert isinstance(file.failure, OSError)
    with pytest.raises(OSError, match="Input/output error"):
        onnxmap.load(path).verify()
