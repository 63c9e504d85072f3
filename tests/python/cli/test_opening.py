"""How the commands open a model: options of `onnxmap.load`, standard input, and completion."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from support.models.hard_names import save, tensor
from support.processes.command_line import Ran, Run, piped

import onnxmap
from onnxmap.cli import COMMANDS, bench
from onnxmap.cli.model_file import (
    STANDARD_INPUT,
    add_opening_options,
    open_message,
    open_model,
)
from onnxmap.types import message_types


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """A model whose data file is in the folder `data` beside the model's folder."""
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data/w.bin").write_bytes(np.float32([1, 2]).tobytes())
    weight = TensorProto(name="w", data_type=1, dims=[2], data_location=1)
    weight.external_data.add(key="location", value="w.bin")
    save(folder / "model.onnx", weight)
    return folder / "model.onnx"


def files_of(ran: Ran) -> dict[str, str | None]:
    assert ran.status == 0
    return {Path(f["path"]).name: f["error"] for f in json.loads(ran.out)["external_files"]}


def test_external_root(run: Run, split: Path) -> None:
    root = split.parent.parent / "data"
    assert files_of(run("show", split, "--json")) == {"w.bin": "missing"}
    assert files_of(run("show", split, "--json", "--external-root", root)) == {"w.bin": None}
    assert run("verify", split).status == 1
    assert run("verify", split, "--external-root", root).status == 0
    assert run("bench", split, "--rounds", 1).status == 2


@pytest.mark.parametrize(
    ("link", "option"),
    [("symlink_to", "--link-policy=trusted"), ("hardlink_to", "--allow-hardlinks")],
)
def test_policies(run: Run, split: Path, link: str, option: str) -> None:
    getattr(split.parent / "w.bin", link)(split.parent.parent / "data/w.bin")
    refused = files_of(run("show", split, "--json"))["w.bin"]
    assert refused is not None
    assert "w.bin" in run("show", split).out
    assert "link" in run("show", split).out
    assert files_of(run("show", split, "--json", option)) == {"w.bin": None}
    told = run("verify", split)
    assert told.status == 1
    words = option.replace("=", " ")
    assert words in told.out
    out = split.parent / "n.onnx"
    for command in (("cp", split, out), ("save", split, out, "--inline")):
        ran = run(*command)
        assert ran.status == 2
        assert words in ran.err
        assert "save has these" not in ran.err
    assert run("verify", split, option).status == 0


@pytest.mark.parametrize("words", [["show"], ["cp"]])
def test_an_option_that_does_not_fit(run: Run, tmp_path: Path, words: list[str]) -> None:
    out = [tmp_path] * (words == ["cp"])
    ran = run(*words, "http://127.0.0.1:9/m.onnx", *out, "--io", "mmap")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "is for local files" in ran.err


def test_every_type_of_message_can_be_named() -> None:
    assert set(message_types()) >= set(onnx.ModelProto.DESCRIPTOR.file.message_types_by_name)


def test_bench_opens_as_it_is_told(
    run: Run, split: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "PEERS", {bench.OURS: bench.PEERS[bench.OURS]})
    (split.parent / "w.bin").symlink_to(tmp_path / "data/w.bin")
    assert run("bench", split, "--rounds", 1).status == 2
    found = run("bench", split, "--rounds", 1, "--link-policy=trusted", "--io=read", "--json")
    (result,) = json.loads(found.out)["results"]
    assert result["error"] is None


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])
def test_every_command_takes_the_options(run: Run, command: str) -> None:
    told = run(command, "--help").out
    for option in ("--external-root", "--link-policy", "--allow-hardlinks", "--lenient", "--io"):
        assert option in told


@pytest.mark.parametrize("command", ["show", "ls", "dump"])
def test_standard_input(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    expected = run(command, small, "--json").out
    stdin = SimpleNamespace(buffer=io.BytesIO(small.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    ran = run(command, "-", "--json")
    assert ran.status == 0
    if command == "dump":
        assert ran.out == expected
        return
    found, others = json.loads(ran.out), json.loads(expected)
    if command == "show":
        assert found["initializers"] == others["initializers"]
    else:  # a buffer has no offsets
        assert [row | {"offset": None} for row in others] == found


def test_verify_reads_standard_input(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(small.read_bytes())))
    ran = run("verify", "-")
    assert (ran.status, ran.out) == (0, "no data files\t-\t\n")


def test_the_options_apply_to_standard_input(split: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = argparse.ArgumentParser()
    add_opening_options(parser)
    arguments = parser.parse_args(["--external-root", str(split.parent.parent / "data")])

    def give_the_model() -> str:
        stdin = SimpleNamespace(buffer=io.BytesIO(split.read_bytes()))
        monkeypatch.setattr(sys, "stdin", stdin)
        return STANDARD_INPUT

    model = open_model(give_the_model(), arguments)
    graph = onnxmap.wrap(open_message(give_the_model(), arguments).graph)
    for opened in (model.graph, graph):
        assert opened.initializers["w"].numpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    "command",
    ["show", "ls", "dump", "verify", "save", "set", "rename-tensor", "stats", "edit", "merge"],
)
def test_the_help_says_what_a_dash_is(run: Run, command: str) -> None:
    assert "- is standard input" in " ".join(run(command, "--help").out.split())


def test_the_size_of_standard_input(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file that is called - has nothing to do with it."""
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(b"a file of this name")
    data = small.read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    facts = json.loads(run("show", "-", "--json").out)
    assert (facts["path"], facts["nbytes"]) == ("-", len(data))
    assert "error" not in facts


def test_bench_refuses_standard_input(run: Run) -> None:
    ran = run("bench", "-")
    assert (ran.status, ran.out) == (2, "")
    assert "bench cannot read standard input: each library opens the file" in ran.err


def test_dump_reads_tensors_and_operator_sets(run: Run, tmp_path: Path) -> None:
    single = tensor("alone", np.arange(3, dtype=np.float32))
    operators = onnx.OperatorSetProto(magic="ONNXOPSET", ir_version=3, opset_version=7, domain="d")
    for name, message in (("t.pb", single), ("ops.pb", operators)):
        (tmp_path / name).write_bytes(message.SerializeToString())
        assert run("dump", tmp_path / name, "--full").out == str(message)
    assert run("dump", tmp_path / "t.pb", "name").out == "alone\n"
    (tmp_path / "not.pb").write_bytes(b"\x08")
    ran = run("dump", tmp_path / "not.pb")
    assert (ran.status, ran.out) == (2, "")


@pytest.mark.parametrize("command", ["show", "ls"])
def test_warnings_are_plain_text(tmp_path: Path, command: str) -> None:
    made = save(tmp_path / "m.onnx")
    for _ in range(2):
        made.metadata_props.add(key="a\x1b", value="1")
    too_long = TensorProto(name="odd", data_type=1, dims=[1], raw_data=bytes(8))
    made.graph.initializer.append(too_long)
    onnx.save(made, tmp_path / "m.onnx")
    ran = piped(command, tmp_path / "m.onnx", "--lenient")
    assert ran.returncode == 0
    lines = ran.stderr.splitlines()
    assert all(line.startswith("onnxmap: warning: ") for line in lines)
    if command == "show":
        assert len(lines) == 1
        assert "'a\\x1b' occurs more than once" in lines[0]


def test_a_wrong_name_is_suggested_another(run: Run, small: Path) -> None:
    ran = run("ls", small, "a.wieght")
    assert (ran.status, ran.out) == (2, "")
    assert "did you mean 'a.weight'" in ran.err
    assert run("ls", small, "--nodes", "frist").err.count("'first'") == 1


class TestLists:
    def test_all_tensors(self, run: Run, small: Path) -> None:
        rows = json.loads(run("ls", small, "--all", "--json").out)
        expected = [where for where, _ in onnxmap.load(small).tensors()]
        assert [row["name"] for row in rows] == expected
        assert 'graph.node[2].attribute["value"].t' in expected
        chosen = json.loads(run("ls", small, "--all", "--json", "graph.node*").out)
        assert [row["nbytes"] for row in chosen] == [320]

    def test_all_tensors_by_name(self, run: Run, small: Path) -> None:
        def chosen(*names: str) -> list[str]:
            ran = run("ls", small, "--all", "--json", *names)
            assert ran.status == 0, ran.err
            return [row["name"] for row in json.loads(ran.out)]

        inner = 'graph.node[2].attribute["value"].t'
        assert chosen("a.weight") == ["graph.initializer[1]"]
        assert chosen("inner") == [inner]
        assert {"graph.initializer[1]", inner} < set(chosen("*.weight", inner))
        ran = run("ls", small, "--all", "iner")
        assert "did you mean 'inner'?" in ran.err

    def test_nodes(self, run: Run, small: Path) -> None:
        rows = json.loads(run("ls", small, "--nodes", "--json").out)
        assert rows[0] == {
            "name": "first",
            "op": "Relu",
            "inputs": ["x"],
            "outputs": ["h"],
            "where": "graph.node[0]",
        }
        assert [row["op"] for row in rows] == ["Relu", "Relu", "Constant"]
        by_op = json.loads(run("ls", small, "--nodes", "--json", "--sort", "op").out)
        assert [row["op"] for row in by_op] == ["Constant", "Relu", "Relu"]
        lines = run("ls", small, "--nodes").out.splitlines()
        assert lines[0].split() == ["name", "op", "where", "inputs", "outputs"]
        assert lines[1].split() == ["first", "Relu", "graph.node[0]", "x", "h"]

    def test_inputs(self, run: Run, small: Path) -> None:
        rows = json.loads(run("ls", small, "--inputs", "--json").out)
        assert rows == [
            {"name": "x", "kind": "input", "type": "FLOAT [batch, 3, ?]"},
            {"name": "y", "kind": "output", "type": "sequence of INT64 unknown rank"},
        ]

    def test_an_order_that_entries_lack(self, run: Run, small: Path) -> None:
        ran = run("ls", small, "--inputs", "--sort", "size")
        assert (ran.status, ran.out) == (2, "")
        assert "cannot be sorted by size; choose from name" in ran.err
