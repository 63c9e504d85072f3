"""A move that reports an error has moved nothing, and what stays behind is reported."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.models.weighted import names_in, save_weighted, values_of
from support.processes.command_line import Run
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED

from onnxmap import _core


@pytest.fixture
def to(tmp_path: Path) -> Path:
    folder = tmp_path / "to"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("locations", [{"a": None}, {"a": "m.data"}, {"a": "w.bin"}])
@pytest.mark.parametrize("place", ["n.onnx", "to/n.onnx"])
def test_the_folder_cannot_be_synced(
    run: Run,
    tmp_path: Path,
    to: Path,
    place: str,
    locations: dict[str, str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save_weighted(tmp_path / "m.onnx", locations)
    before = names_in(tmp_path)

    for name in ("rename_file", "remove_file"):
        real = getattr(_core, name)

        def fail(*arguments: Any, real: Any = real, **options: Any) -> None:
            real(*arguments, **options)
            if options.get("sync", True):
                raise OSError(5, "Input/output error")

        monkeypatch.setattr(_core, name, fail)
    assert run("mv", tmp_path / "m.onnx", tmp_path / place).status == 2
    assert names_in(tmp_path) == before


@pytest.mark.skipif(SANITIZED, reason="a filter of system calls would stop the sanitizers")
@pytest.mark.parametrize("command", ["mv", "cp"])
def test_no_file_can_be_synced(tmp_path: Path, to: Path, command: str) -> None:
    """Also by the core, which writes the new model."""
    save_weighted(tmp_path / "m.onnx", {"a": "m.data", "b": None})
    before = names_in(tmp_path)
    facts = facts_from(
        """
    import errno
    from onnxmap import cli
    from support.faults import seccomp_filter
    seccomp_filter.refuse(74 if seccomp_filter.X86_64 else 82, errno.EIO)
    report(status=cli.main(sys.argv[1:]))
    """,
        command,
        str(tmp_path / "m.onnx"),
        str(to / "n.onnx"),
    )
    assert facts == {"status": 2}
    assert names_in(tmp_path) == before


def test_old_files_that_cannot_be_removed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = save_weighted(tmp_path / "m.onnx", {"a": "m.data"})
    real = _core.remove_file

    def fail(folder: bytes, location: bytes, sync: bool) -> None:
        if location.endswith(b".data"):
            raise PermissionError(13, "Permission denied", location)
        real(folder, location, sync)

    with TemporaryDirectory(dir="/dev/shm") as folder:
        elsewhere = Path(folder)
        with monkeypatch.context() as patch:
            patch.setattr(_core, "remove_file", fail)
            ran = run("mv", tmp_path / "m.onnx", elsewhere, "--json")
        found = values_of(elsewhere / "m.onnx")
    assert ran.status == 0
    assert json.loads(ran.out)["left_over"] == [str(tmp_path / "m.data")]
    assert found == values
    assert names_in(tmp_path) == {"m.data"}
