"""`onnxmap verify`: a line per data file, exit status, several models, and the bar."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto
from support.models.checksums import WRONG, Hashed, data_file, declared
from support.models.hard_names import EVIL_NAME
from support.models.sample import floats, model_of, write
from support.processes.command_line import Ran, Run, on_terminal, piped, started

import onnxmap
from onnxmap._read import checksums
from onnxmap.cli import bar


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command runs, so that it shows short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def model(path: Path, *tensors: TensorProto) -> Path:
    return write(model_of(list(tensors)), path)


def good_model(folder: Path, name: str = "good") -> tuple[Path, str]:
    digest = data_file(folder / f"{name}.bin", name.encode())
    return model(folder / f"{name}.onnx", declared("w", f"{name}.bin", digest)), digest


def lines(ran: Ran) -> list[str]:
    return ran.out.splitlines()


def rows(ran: Ran) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ran.out)
    assert len(found) == len(ran.out.splitlines())  # one name a line
    return found


class TestLines:
    def test_good(self, run: Run, folder: Path) -> None:
        path, digest = good_model(folder)
        assert run("verify", path) == Ran(0, f"ok\tgood.bin\t{digest}\n", "")

    def test_every_kind_of_line_about_a_file(self, run: Run, folder: Path) -> None:
        digests = {name: data_file(folder / name, name.encode()) for name in "abcd"}
        os.mkfifo(folder / "pipe")
        (folder / "sub").mkdir()
        path = model(
            folder / "model.onnx",
            floats("inline", 2),
            declared("1", "a", digests["a"]),
            declared("2", "b", WRONG),
            declared("3", "c", None),
            declared("4", "d", "abc\x1b"),
            declared("5", "gone", digests["a"]),
            declared("6", "pipe", None),
            declared("7", "../outside", WRONG),
            declared("8", "sub/../a", digests["a"]),
        )
        ran = run("verify", path)
        assert (ran.status, ran.err) == (1, "")
        shown = lines(ran)
        assert [line.split("\t")[0] for line in shown] == [
            "ok", "differs", "no checksum", "bad checksum", *["cannot be read"] * 3,
        ]  # fmt: skip
        assert [line.split()[-1] for line in shown[:2]] == [digests["a"], digests["b"]]
        assert shown[1] == f"differs\tb\tdeclared {WRONG}, found {digests['b']}"
        assert shown[2] == "no checksum\tc\t"
        assert r"abc\x1b" in shown[3].replace("\\\\", "\\")
        assert str(folder / "gone") in shown[4]
        assert shown[5].startswith("cannot be read\tpipe\t")
        assert "outside the model directory" in shown[6]
        assert re.sub(r"[\n\t]", "", ran.out).isprintable()

    def test_a_file_that_no_tensor_can_name(self, run: Run, folder: Path) -> None:
        digest = data_file(folder / "w.bin")
        twice = declared("twice", "w.bin", digest)
        twice.external_data.add(key="location", value="w.bin")
        nowhere = TensorProto(name="nowhere", data_type=1, dims=[1], data_location=1)
        ran = run(
            "verify", model(folder / "m.onnx", twice, nowhere, declared("w", "w.bin", digest))
        )
        assert ran.status == 1
        assert [line.split("\t")[0] for line in lines(ran)] == ["cannot be read"] * 2 + ["ok"]
        assert "'twice'" in lines(ran)[0]
        assert "'nowhere'" in lines(ran)[1]

    def test_without_checksums_all_is_well(self, run: Run, folder: Path) -> None:
        data_file(folder / "w.bin")
        path = model(folder / "model.onnx", declared("w", "w.bin", None))
        assert run("verify", path) == Ran(0, "no checksum\tw.bin\t\n", "")

    def test_without_data_files_all_is_well(self, run: Run, folder: Path) -> None:
        path = model(folder / "model.onnx", floats("w", 2))
        assert run("verify", path) == Ran(0, f"no data files\t{path}\t\n", "")

    def test_files_elsewhere_have_their_full_path(self, run: Run, folder: Path) -> None:
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        (folder / "here").mkdir()
        path, digest = good_model(elsewhere)
        os.chdir(folder / "here")
        assert lines(run("verify", path)) == [f"ok\t{elsewhere}/good.bin\t{digest}"]
        os.chdir(folder)
        assert lines(run("verify", path)) == [f"ok\telsewhere/good.bin\t{digest}"]

    def test_text_from_a_file_is_escaped_for_the_terminal(self, run: Run, folder: Path) -> None:
        tensors = [declared(EVIL_NAME, f"sub/{i}{EVIL_NAME}", EVIL_NAME) for i in range(2)]
        location = EVIL_NAME.replace("\0", "")
        data_file(folder / location)
        tensors += [declared(EVIL_NAME, location, text) for text in (EVIL_NAME, WRONG)]
        ran = run("verify", model(folder / "model.onnx", *tensors))
        assert ran.status == 1
        assert len(lines(ran)) == 3
        assert re.sub(r"[\n\t]", "", ran.out).isprintable()


class TestSeveralModels:
    def test_all_files_of_all_models_are_listed(self, run: Run, folder: Path) -> None:
        (first, one), (second, two) = good_model(folder, "first"), good_model(folder, "second")
        ran = run("verify", first, second)
        assert ran.status == 0
        assert [line.split() for line in lines(ran)] == [
            ["ok", "first.bin", one],
            ["ok", "second.bin", two],
        ]

    def test_a_wrong_model_does_not_hide_the_others(self, run: Run, folder: Path) -> None:
        (first, _), (last, _) = good_model(folder, "first"), good_model(folder, "last")
        data_file(folder / "first.bin", b"changed")
        ran = run("verify", first, last)
        assert ran.status == 1
        assert [line.split()[0] for line in lines(ran)] == ["differs", "ok"]

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_an_unreadable_model_does_not_hide_the_others(
        self, run: Run, folder: Path, options: list[str]
    ) -> None:
        (folder / "bad.onnx").write_text("<!DOCTYPE html>")
        first, _ = good_model(folder, "first")
        last, _ = good_model(folder, "last")
        data_file(folder / "last.bin", b"changed")
        ran = run("verify", first, folder / "bad.onnx", folder / "gone.onnx", last, *options)
        assert ran.status == 2
        assert "first.bin" in ran.out
        assert "last.bin" in ran.out
        bad, gone = ran.err.splitlines()
        assert bad.startswith("onnxmap: ")
        assert "bad.onnx" in bad
        assert "gone.onnx: No such file" in gone

    def test_a_shared_file_is_read_once_and_listed_twice(
        self, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hashed = Hashed()
        monkeypatch.setattr("hashlib.sha1", hashed)
        path, digest = good_model(folder)
        other = model(folder / "other.onnx", declared("v", "good.bin", digest.upper()))
        wrong = model(folder / "wrong.onnx", declared("v", "./good.bin", WRONG))
        found = rows(run("verify", path, other, wrong, "--json"))
        assert [row["status"] for row in found] == ["ok", "ok", "differs"]
        assert [row["found"] for row in found] == [digest] * 3
        assert [Path(row["model"]).name for row in found] == [
            "good.onnx",
            "other.onnx",
            "wrong.onnx",
        ]
        assert hashed.files == 1

    def test_options_may_stand_between_names(self, run: Run, folder: Path) -> None:
        (first, _), (second, _) = good_model(folder, "first"), good_model(folder, "second")
        assert len(rows(run("verify", first, "--json", second))) == 2
        assert len(rows(run("verify", "--json", first, second))) == 2


class TestJson:
    def test_the_json_has_every_field(self, run: Run, folder: Path) -> None:
        digest = data_file(folder / "w.bin")
        data_file(folder / "x.bin")
        path = model(
            folder / "model.onnx",
            declared("w", "w.bin", digest.upper()),
            declared("v", "./w.bin", WRONG),
            declared("x", "x.bin", None),
            declared("gone", "gone.bin", digest),
        )
        ran = run("verify", path, "--json")
        assert (ran.status, ran.err) == (1, "")
        both, plain, gone = rows(ran)
        assert both["message"].startswith("tensor 'v'")
        del both["message"]
        assert both == {
            "model": str(path),
            "file": str(folder / "w.bin"),
            "status": "differs",
            "declared": WRONG,
            "found": digest,
        }
        nothing = {"model": str(path), "declared": None, "found": None, "message": None}
        assert plain == {**nothing, "file": str(folder / "x.bin"), "status": "no checksum"}
        assert (gone["status"], gone["declared"], gone["found"]) == ("cannot be read", digest, None)
        assert "gone.bin" in gone["message"]

    def test_json_of_good_models(self, run: Run, folder: Path) -> None:
        path, digest = good_model(folder)
        inline = model(folder / "inline.onnx", floats("w", 1))
        ran = run("verify", path, inline, "--json")
        assert ran.status == 0
        first, second = rows(ran)
        assert (first["status"], first["declared"], first["found"]) == ("ok", digest, digest)
        assert (second["status"], second["file"]) == ("no data files", None)


class TestFailures:
    @pytest.mark.parametrize("content", [None, b"", b"\x3a\x0a", b"<!DOCTYPE html>"])
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_an_unreadable_model_is_one_line(
        self, run: Run, tmp_path: Path, content: bytes | None, options: list[str]
    ) -> None:
        path = tmp_path / "evil\n\x1b[2J.onnx"
        if content is not None:
            path.write_bytes(content)
        ran = run("verify", path, *options)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith("onnxmap: ")
        assert ran.err[:-1].isprintable()

    @pytest.mark.parametrize("arguments", [[], ["f", "--nonsense"], ["f", "--sort", "size"]])
    def test_bad_usage_is_one_line(self, run: Run, arguments: list[str]) -> None:
        ran = run("verify", *arguments)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert "--help" in ran.err

    def test_ctrl_c_ends_quietly(
        self, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        path, _ = good_model(folder)
        monkeypatch.setattr(onnxmap, "verify_files", interrupted)
        assert run("verify", path) == Ran(130, "", "")

    def test_the_error_of_a_failing_disk_names_the_file(
        self, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise OSError(errno.EIO, "Input/output error \x1b[2J")

        path, digest = good_model(folder)
        data_file(folder / "other.bin")
        model(path, declared("w", "good.bin", digest), declared("v", "other.bin", None))
        monkeypatch.setattr(checksums, "_digest", fail)
        ran = run("verify", path)
        assert (ran.status, ran.err) == (1, "")
        assert lines(ran) == [
            "cannot be read\tgood.bin\t[Errno 5] Input/output error \\x1b[2J",
            "no checksum\tother.bin\t",
        ]

    def test_closed_pipe_ends_quietly(self, folder: Path) -> None:
        digest = data_file(folder / "w.bin")
        tensors = [declared(f"{i}", f"missing{i}", digest) for i in range(5_000)]
        process = started("verify", model(folder / "m.onnx", *tensors), stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout, process.stderr:
            assert process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.wait() == 0


class TestBar:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    @pytest.mark.parametrize(("seconds", "shown"), [(0.0, True), (60.0, False)])
    def test_a_bar_shows_only_for_longer_work(
        self,
        run: Run,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        seconds: float,
        shown: bool,
    ) -> None:
        monkeypatch.setattr(bar, "SECONDS_BEFORE_A_BAR", seconds)
        path, digest = good_model(folder)
        terminal = self.Terminal()
        with redirect_stderr(terminal):
            ran = run("verify", path)
        assert ran.out == f"ok\tgood.bin\t{digest}\n"
        assert ("verifying" in terminal.getvalue()) == shown

    def test_short_work_on_a_terminal(self, folder: Path) -> None:
        path, digest = good_model(folder)
        screen = on_terminal(80, "verify", path)
        assert (screen.status, screen.text.split()) == (0, ["ok", "good.bin", digest])

    def test_never_in_a_pipe(self, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bar, "SECONDS_BEFORE_A_BAR", 0.0)
        path, digest = good_model(folder)
        pipe = io.StringIO()
        with redirect_stderr(pipe):
            assert run("verify", path).status == 0
        assert pipe.getvalue() == ""
        ran = piped("verify", path)
        assert (ran.stdout, ran.stderr) == (f"ok\tgood.bin\t{digest}\n", "")
