"""How the commands start and fail."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.models.hard_names import EVIL_NAME, save, tensor
from support.processes.command_line import Ran, Run, piped, started

import onnxmap
from onnxmap.cli import COMMANDS

EXAMPLES_NEED = {"report": ["jinja2", "squarify"], "run": ["onnxruntime"]}


class TestFailures:
    @pytest.fixture
    def bad_file(self, request: pytest.FixtureRequest, tmp_path: Path, small: Path) -> Path:
        path = tmp_path / "bad.onnx"
        match request.param:
            case "missing":
                pass
            case "folder":
                path.mkdir()
            case "empty":
                path.touch()
            case "truncated":
                path.write_bytes(small.read_bytes()[:-10])
            case "page":
                path.write_text("<!DOCTYPE html><html></html>")
            case "evil name":
                path = tmp_path / "evil\n\x1b[2J.onnx"
        return path

    @pytest.mark.parametrize(
        "bad_file",
        ["missing", "folder", "empty", "truncated", "page", "evil name"],
        indirect=True,
    )
    @pytest.mark.parametrize(
        "command",
        [
            ["show"],
            ["ls"],
            ["dump"],
            ["bench"],
            ["stats"],
            ["report", "FILE", "-o", "out.onnx"],
            ["save", "FILE", "out.onnx"],
            ["save", "FILE", "-"],
            ["set", "FILE", "k=v"],
            ["set", "FILE", "ir_version=9"],
            ["rename-tensor", "FILE", "a", "b"],
            ["cp", "FILE", "out.onnx"],
            ["mv", "FILE", "out.onnx"],
            ["edit", "FILE", "out.onnx", "--prune"],
            ["edit", "FILE", "out.onnx", "--prune", "--dry-run"],
            ["merge", "FILE", "FILE", "out.onnx"],
        ],
        ids=" ".join,
    )
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_unreadable_input_is_one_line(
        self,
        run: Run,
        command: list[str],
        options: list[str],
        bad_file: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(bad_file.parent)
        words = [bad_file if word == "FILE" else word for word in command]
        if "FILE" not in command:
            words.append(bad_file)
        ran = run(*words, *options)
        assert not Path("out.onnx").exists()
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith("onnxmap: ")
        assert ran.err.endswith("\n")
        assert ran.err[:-1].isprintable()

    @pytest.mark.parametrize(
        "arguments",
        [[], ["nonsense"], ["show"], ["ls", "f", "--sort", "colour"], ["show", "f", "--nonsense"]],
    )
    def test_bad_usage_is_one_line(self, run: Run, arguments: list[str]) -> None:
        ran = run(*arguments)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert "--help" in ran.err

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["ls"], "onnxmap ls: the following arguments are required: file (see"),
            (["ls", "f", "--nonsense"], "--nonsense (see 'onnxmap ls --help')"),
            (["sho"], "no command is named 'sho'; did you mean 'show'?"),
            (["list", "f"], "no command is named 'list'; did you mean 'ls'?"),
            (
                ["zzz"],
                (
                    "the commands are show, ls, dump, stats, report, check, verify, diff, save, "
                    "convert, extract, cp, mv, edit, merge, set, rename-tensor, "
                ),
            ),
            (["rename"], "no command is named 'rename'; did you mean 'rename-tensor'?"),
        ],
    )
    def test_bad_usage_says_what_is_right(self, run: Run, arguments: list[str], said: str) -> None:
        assert said in run(*arguments).err

    @pytest.mark.parametrize("arguments", [["ls", "--nodes"], ["show"], ["dump", "--json"]])
    def test_a_closed_standard_output_is_one_line(self, small: Path, arguments: list[str]) -> None:
        line = shlex.join([sys.executable, "-m", "onnxmap", *arguments, str(small)]) + " >&-"
        ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (2, "onnxmap: standard output is closed\n")

    @pytest.mark.parametrize("command", ["check -", "dump -", "save - out.onnx"])
    def test_a_closed_standard_input_is_one_line(self, tmp_path: Path, command: str) -> None:
        line = f"{shlex.quote(sys.executable)} -m onnxmap {command} <&-"
        ran = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (2, "onnxmap: standard input is closed\n")

    def test_a_closed_standard_error_gets_nothing_into_the_output(self, tmp_path: Path) -> None:
        model = onnxmap.from_arrays({"w": np.ones(2)})
        model.proto.metadata_props.add(key="k", value="1")
        model.proto.metadata_props.add(key="k", value="2")
        model.save(tmp_path / "m.onnx")
        line = f"{shlex.quote(sys.executable)} -m onnxmap show --json m.onnx 2>&-"
        ran = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0
        assert json.loads(ran.stdout)["metadata_props"] == {"k": "2"}
        line = line.replace("2>&-", "")
        ran = subprocess.run(
            ["sh", "-c", line],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        assert ran.returncode == 2
        assert ran.stderr.startswith("onnxmap: metadata_props: 'k' occurs more than once")

    def test_a_working_folder_that_is_gone(self, small: Path, tmp_path: Path) -> None:
        """It matters to relative paths only."""
        (tmp_path / "gone").mkdir()
        command = f"{shlex.quote(sys.executable)} -m onnxmap"
        line = f"rmdir ../gone && {command} ls {small} && {command} save {small} {tmp_path}/n.onnx"
        ran = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path / "gone", capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, "")

    def test_a_pipe_as_a_file_says_how_to_read_it(self, run: Run, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert "to read a pipe, write - for the file" in run("show", tmp_path / "pipe").err

    @pytest.mark.parametrize("command", [["ls"], ["ls", "--json"], ["dump"], ["dump", "--json"]])
    def test_closed_pipe_ends_quietly(self, tmp_path: Path, command: list[str]) -> None:
        path = tmp_path / "long.onnx"
        save(path, *(tensor(f"tensor.{i}", np.ones(1)) for i in range(5000)))
        process = started(command[0], path, *command[1:], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout, process.stderr:
            assert process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.wait() == 0

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_full_disk_is_one_line(self, small: Path) -> None:
        with Path("/dev/full").open("w") as full:
            process = started("dump", small, "ir_version", stdout=full)
        error = process.communicate()[1].decode()
        assert process.returncode == 2
        assert error.count("\n") == 1
        assert "No space left" in error

    def test_interrupt_ends_quietly(
        self, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import onnxmap

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(onnxmap, "load", interrupted)
        assert run("ls", small) == Ran(130, "", "")

    def test_text_from_a_file_is_escaped_for_the_terminal(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "evil.onnx"
        model = save(path, tensor(EVIL_NAME, np.ones(1)), doc_string=EVIL_NAME)
        model.producer_name = model.graph.name = model.graph.input[0].name = EVIL_NAME
        model.graph.node[0].op_type = model.metadata_props[0].key = EVIL_NAME
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = EVIL_NAME
        model.functions.add(name=EVIL_NAME, domain=EVIL_NAME)
        path.write_bytes(model.SerializeToString())
        for command in (["show"], ["ls"], ["dump"], ["dump", "--full"]):
            ran = run(command[0], path, *command[1:])
            assert ran.status == 0
            assert "gnp" in ran.out
            assert re.sub(r"[\n\t]", "", ran.out).isprintable(), command


class TestStart:
    def test_help_imports_nothing_heavy(self) -> None:
        code = (
            "import sys; from onnxmap.cli import main; status = main(['--help']);"
            "heavy = {'argcomplete', 'ml_dtypes', 'onnx', 'google', 'rich', 'tqdm'};"
            "print(status, sorted(heavy & set(sys.modules)))"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout.startswith("usage: onnxmap")
        assert ran.stdout.splitlines()[-1] == "0 []"
        for command in COMMANDS:
            assert re.search(rf"^    {command}\s", ran.stdout, re.MULTILINE)

    def test_help_is_also_a_command(self, run: Run) -> None:
        assert run("help") == run("--help")
        assert run("help", "ls") == run("ls", "--help")
        assert run("help").status == 0

    def test_help_lists_the_commands_in_groups(self, run: Run) -> None:
        told = run("--help").out
        groups = re.findall(r"^([a-z ]+):\n((?:    .*\n)+)", told, re.MULTILINE)
        listed = {
            title: re.findall(r"^    ([a-z-]+) ", lines, re.MULTILINE) for title, lines in groups
        }
        assert listed["look at a model"][0] == "show"
        assert listed["check and compare"] == ["check", "verify", "diff"]
        assert [name for names in listed.values() for name in names] == [*COMMANDS]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_help_ends_with_an_example_that_works(
        self,
        run: Run,
        command: str,
        demo: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for need in EXAMPLES_NEED.get(command, ()):
            pytest.importorskip(need)
        example = run(command, "--help").out.rpartition("Example: ")[2].strip()
        words = shlex.split(example)
        assert words[:2] == ["onnxmap", command]
        monkeypatch.chdir(tmp_path)
        for file in demo.parent.iterdir():
            shutil.copy(file, tmp_path)
        match command:  # what other examples make
            case "diff" | "merge":
                assert run("cp", "demo.onnx", "copy.onnx").status == 0
            case "convert":
                made = run("extract", "demo.onnx", "layers.*", "-o", "layers.safetensors")
                assert made.status == 0
        ran = run(*words[1:])
        assert (ran.status, ran.err) == (0, "")

    def test_help_says_how_names_are_completed(self, run: Run) -> None:
        told = run("--help").out.splitlines()
        assert any("Completion" in line for line in told)
        (line,) = (line.strip() for line in told if "eval" in line)
        assert line == 'eval "$(register-python-argcomplete --no-defaults onnxmap)"'
        root = Path(__file__).parents[3]
        for document in ("docs/guide/shell.md",):
            assert line in (root / document).read_text()

    def test_version(self, run: Run) -> None:
        from importlib.metadata import version

        assert run("--version") == Ran(0, f"onnxmap {version('onnxmap')}\n", "")

    def test_command_and_module_are_the_same(self, small: Path) -> None:
        command = Path(sys.executable).with_name("onnxmap")
        ran = subprocess.run([command, "ls", small], capture_output=True, text=True, check=True)
        assert ran.stdout == piped("ls", small).stdout

    def test_a_terminal_without_unicode_gets_escapes(self, tmp_path: Path) -> None:
        path = tmp_path / "wide.onnx"
        save(path, tensor("重み", np.ones(1)))
        ran = piped("ls", path, environment={"PYTHONIOENCODING": "ascii"})
        assert ran.returncode == 0
        assert r"\u91cd\u307f" in ran.stdout
        page = piped("show", path, environment={"PYTHONIOENCODING": "ascii"}).stdout
        assert "\\" not in page
        assert re.search("3 nodes - 1 initializer - [0-9]+ parameters - 8 B", page)
        assert "[batch, 3, ?]" in page
        assert "\t####" in page

    def test_bytes_that_are_not_utf8_are_escaped(self, tmp_path: Path) -> None:
        path = tmp_path / "latin.onnx"
        save(path, tensor("caf__", np.ones(1)))
        path.write_bytes(path.read_bytes().replace(b"caf__", b"caf\xe9\xff"))
        ran = piped("ls", os.fsencode(path))
        assert ran.returncode == 0
        assert r"caf\xe9\xff" in ran.stdout
