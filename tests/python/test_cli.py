"""The commands: what they print, for people and for programs, and how they fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from command_line import on_terminal, piped, started
from google.protobuf import json_format, text_format
from onnx import TensorProto, helper, numpy_helper
from onnxmap.cli import main

EVIL_NAME = "evil\x1b[31m\x07\u202egnp\n\x00end"
EVIL_SHOWN = r"evil\x1b[31m\x07\u202egnp\n\x00end"
LONG_NAME = "encoder." + "deeply.nested." * 20 + "weight"


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command line in this process."""

    def run_here(*arguments: object) -> Ran:
        status = main([str(argument) for argument in arguments])
        return Ran(status, *capsys.readouterr())

    return run_here


def tensor(name: str, array: np.ndarray[Any, Any]) -> TensorProto:
    return numpy_helper.from_array(array, name)


def save(path: Path, *initializers: TensorProto, **fields: Any) -> onnx.ModelProto:
    """A small model with a bit of everything that `show` tells."""
    nodes = [
        helper.make_node("Relu", ["x"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["y"], name="second"),
        helper.make_node("Constant", [], ["c"], value=tensor("inner", np.arange(40.0))),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, None])],
        [helper.make_tensor_sequence_value_info("y", TensorProto.INT64, None)],
        initializer=initializers,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 3)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="maker", **fields)
    helper.set_model_props(model, {"author": "somebody"})
    onnx.save(model, path)
    return model


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    save(
        path,
        tensor("b.weight", np.ones((4, 5), np.float32)),
        tensor("a.weight", np.ones((100,), np.float16)),
        tensor("a.bias", np.ones((), np.int64)),
        tensor(EVIL_NAME, np.ones(3, np.int8)),
        tensor(LONG_NAME, np.ones((2, 2), np.uint8)),
    )
    return path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert piped("demo", "--keep", folder, "--json").returncode == 0
    return folder / "demo.onnx"


class TestDemo:
    def test_does_what_it_promises(self, run: Callable[..., Ran]) -> None:
        ran = run("demo", "--json")
        assert ran.status == 0
        facts = json.loads(ran.out)
        total = sum(facts["files"].values())
        assert 20e6 < total < 100e6
        assert facts["copied_bytes"] == 0
        assert facts["mapped_files"] == 2
        assert facts["mapped_bytes"] >= facts["weight_bytes"] > 0.9 * total
        assert facts["views_inside_mapping"] == len(facts["weights"])
        assert facts["tensor_count_with_subgraphs"] == len(facts["weights"]) + 1
        assert "read-only" in facts["refusal_to_write"]
        assert facts["alive_after_close"] is True
        assert {weight["is_external"] for weight in facts["weights"]} == {True, False}
        assert len({weight["dtype"] for weight in facts["weights"]}) == 20

    def test_leaves_nothing_behind(self, run: Callable[..., Ran]) -> None:
        files = json.loads(run("demo", "--json").out)["files"]
        assert len(files) == 2
        assert not any(Path(file).parent.exists() for file in files)

    def test_model_is_valid_and_reads_equal_to_the_official_package(self, demo: Path) -> None:
        import onnxmap

        onnx.checker.check_model(str(demo), full_check=True)
        stored = onnx.load(demo, load_external_data=False).graph.initializer
        places = [{entry.key: entry.value for entry in tensor.external_data} for tensor in stored]
        assert [int(place["offset"]) % 4096 for place in places if place] == [0, 0]
        official = onnx.load(demo)
        views = onnxmap.load(demo).views()
        assert list(views) == [tensor.name for tensor in official.graph.initializer]
        for expected in official.graph.initializer:
            found = views[expected.name]
            assert found.tobytes() == numpy_helper.to_array(expected).tobytes(), expected.name
            assert found.dtype == helper.tensor_dtype_to_np_dtype(expected.data_type)

    def test_overwrites_nothing(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        (tmp_path / "demo.weights.data").write_text("mine")
        ran = run("demo", "--keep", tmp_path)
        assert (ran.status, ran.out) == (2, "")
        assert "exists already" in ran.err
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]

    @pytest.mark.parametrize("width", [80, 200])
    def test_page_fits_the_terminal(self, width: int) -> None:
        page = on_terminal(width, "demo")
        assert page.status == 0
        assert page.text.count("✓") == 3
        assert "✗" not in page.text
        assert "…" not in page.text.replace("… 15 like", "")
        assert max(map(len, page.text.splitlines())) <= width
        assert "\x1b[" in page.raw


class TestShow:
    def test_json_is_what_the_official_package_reads(
        self, run: Callable[..., Ran], small: Path
    ) -> None:
        ran = run("show", small, "--json")
        assert ran.status == 0
        facts = json.loads(ran.out)
        model = onnx.load(small)
        assert facts["path"] == str(small)
        assert facts["nbytes"] == small.stat().st_size
        assert facts["producer_name"] == model.producer_name == "maker"
        assert facts["ir_version"] == model.ir_version
        assert facts["opset_imports"] == {"": 21, "com.example": 3}
        assert facts["graph_name"] == "small"
        assert facts["node_count"] == 3
        assert facts["op_counts"] == {"Relu": 2, "Constant": 1}
        assert facts["inputs"] == [{"name": "x", "type": "FLOAT batch×3×?"}]  # noqa: RUF001
        assert facts["outputs"] == [{"name": "y", "type": "sequence of INT64 any shape"}]
        assert facts["metadata_props"] == {"author": "somebody"}
        assert facts["external_files"] == facts["functions"] == []
        assert facts["initializers"]["count"] == 5
        assert facts["initializers"]["nbytes"] == 80 + 200 + 8 + 3 + 4
        assert list(facts["initializers"]["by_dtype"].items())[:2] == [
            ("FLOAT16", {"count": 1, "nbytes": 200}),
            ("FLOAT", {"count": 1, "nbytes": 80}),
        ]

    def test_page_tells_the_same(self, run: Callable[..., Ran], demo: Path) -> None:
        page = run("show", demo).out
        for told in (
            "demo.onnx  13.8 MB  opened in ",
            "onnxmap demo",
            "IR 12 · ai.onnx 24 · onnxmap.demo 1",
            "45 nodes · 41 initializers · 47.4 MB",
            "tokens  INT64 batch×length",  # noqa: RUF001
            "MatMul            13  █",
            "… and 12 more",
            "demo.weights.data  33.6 MB",
            "onnxmap.demo::Swish  2 nodes",
            "license  Apache-2.0",
        ):
            assert told in page
        assert not any(line.endswith(" ") for line in page.splitlines())

    def test_missing_external_file_is_told(
        self, run: Callable[..., Ran], demo: Path, tmp_path: Path
    ) -> None:
        alone = tmp_path / "alone.onnx"
        alone.write_bytes(demo.read_bytes())
        ran = run("show", alone)
        assert ran.status == 0
        assert "demo.weights.data  missing" in ran.out

    @pytest.mark.parametrize("width", [80, 200])
    def test_page_fits_the_terminal(self, width: int, tmp_path: Path) -> None:
        path = tmp_path / "wordy.onnx"
        save(path, tensor(LONG_NAME, np.ones(1)), doc_string="many words " * 100)
        page = on_terminal(width, "show", path)
        assert page.status == 0
        lines = page.text.splitlines()
        assert max(map(len, lines)) <= width
        assert sum("many words" in line for line in lines) == 1

    def test_many_lines_are_summed_up(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "many.onnx"
        inputs = [helper.make_tensor_value_info(f"x{i}", 1, [1]) for i in range(1000)]
        nodes = [helper.make_node(f"Op{i}", ["x0"], [f"y{i}"]) for i in range(1000)]
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, [])), path)
        lines = run("show", path).out.splitlines()
        assert len(lines) < 40
        assert sum("… and 992 more" in line for line in lines) == 2


class TestLs:
    def test_json_is_what_the_official_package_reads(
        self, run: Callable[..., Ran], demo: Path
    ) -> None:
        ran = run("ls", demo, "--json")
        assert ran.status == 0
        rows = json.loads(ran.out)
        model = onnx.load(demo, load_external_data=False)
        assert len(rows) == len(model.graph.initializer)
        content = demo.read_bytes()
        for row, expected in zip(rows, model.graph.initializer, strict=True):
            assert row["name"] == expected.name
            assert row["dtype"] == TensorProto.DataType.Name(expected.data_type)
            assert row["shape"] == list(expected.dims)
            if expected.data_location == TensorProto.EXTERNAL:
                place = {entry.key: entry.value for entry in expected.external_data}
                assert (row["file"], row["offset"]) == (place["location"], int(place["offset"]))
                assert row["nbytes"] == int(place["length"])
                assert row["aligned"] is True
            else:
                assert row["file"] is None
                assert row["nbytes"] == len(expected.raw_data)
                end = row["offset"] + row["nbytes"]
                assert content[row["offset"] : end] == expected.raw_data

    def test_every_initializer_has_a_line(self, run: Callable[..., Ran], small: Path) -> None:
        lines = run("ls", small).out.splitlines()
        assert lines[0].split() == ["name", "type", "shape", "bytes", "in", "offset"]
        assert lines[1].split()[:5] == ["b.weight", "FLOAT", "4×5", "80", "inline"]  # noqa: RUF001
        assert lines[3].split()[:5] == ["a.bias", "INT64", "scalar", "8", "inline"]
        assert [line.split()[0] for line in lines[4:]] == [EVIL_SHOWN, LONG_NAME]

    @pytest.mark.parametrize(
        ("order", "first"),
        [
            ("size", ["a.weight", "b.weight", "a.bias"]),
            ("name", ["a.bias", "a.weight", "b.weight"]),
            ("dtype", ["b.weight", "a.weight", "a.bias"]),
        ],
    )
    def test_sort(self, run: Callable[..., Ran], small: Path, order: str, first: list[str]) -> None:
        rows = json.loads(run("ls", small, "--sort", order, "--json", "*.weight", "*.bias").out)
        assert [row["name"] for row in rows if row["name"] != LONG_NAME] == first

    def test_sort_by_file(self, run: Callable[..., Ran], demo: Path) -> None:
        rows = json.loads(run("ls", "--sort", "file", "--json", demo).out)
        places = [(row["file"] or "", row["offset"]) for row in rows]
        assert places == sorted(places)
        assert places[-1][0] == "demo.weights.data"

    def test_names_and_globs_choose(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "names.onnx"
        names = ["w[1]", "w1", "w2", "v"]
        save(path, *(tensor(name, np.ones(1)) for name in names))

        def chosen(*arguments: str) -> list[str]:
            return [row["name"] for row in json.loads(run("ls", path, "--json", *arguments).out)]

        assert chosen("w[1]") == ["w[1]"]  # that very name, not the glob that means w1
        assert chosen("w[12]") == ["w1", "w2"]
        assert chosen("v", "w?") == ["w1", "w2", "v"]
        assert chosen("w1", "--sort", "size", "v") == ["v", "w1"]  # as large

    def test_a_name_that_is_not_there_is_an_error(
        self, run: Callable[..., Ran], small: Path
    ) -> None:
        ran = run("ls", small, "a.*", "zzz*")
        assert (ran.status, ran.out) == (2, "")
        assert "'zzz*'" in ran.err

    def test_tensors_that_make_no_sense_are_listed(
        self, run: Callable[..., Ran], tmp_path: Path
    ) -> None:
        path = tmp_path / "broken.onnx"
        missing = TensorProto(name="missing", data_type=1, dims=[2], data_location=1)
        for key, value in (("location", "gone.data"), ("offset", "64")):
            missing.external_data.add(key=key, value=value)
        no_location = TensorProto(name="nowhere", data_type=1, dims=[2], data_location=1)
        save(
            path,
            TensorProto(name="type 99", data_type=99, dims=[1], raw_data=b"0000"),
            TensorProto(name="short", data_type=1, dims=[7], raw_data=b"0000"),
            TensorProto(name="typed", data_type=1, dims=[2], float_data=[1, 2]),
            TensorProto(name="negative", data_type=1, dims=[-2], raw_data=b"0000"),
            missing,
            no_location,
            tensor("twice", np.ones(1)),
            tensor("twice", np.ones(2)),
        )
        rows = {row["name"]: row for row in json.loads(run("ls", path, "--json").out)}
        assert rows["type 99"]["dtype"] == "type 99"
        assert (rows["short"]["shape"], rows["short"]["nbytes"]) == ([7], 4)
        assert (rows["typed"]["offset"], rows["typed"]["aligned"]) == (None, None)
        assert rows["negative"]["shape"] == [-2]
        assert (rows["missing"]["file"], rows["missing"]["offset"]) == ("gone.data", 64)
        assert rows["nowhere"]["file"] == "?"
        lines = run("ls", path).out.splitlines()
        assert len(lines) == 1 + 8
        assert sum(line.startswith("twice ") for line in lines) == 2

    @pytest.mark.parametrize("width", [80, 200])
    def test_terminal(self, width: int, small: Path) -> None:
        screen = on_terminal(width, "ls", small)
        assert screen.status == 0
        lines = screen.text.splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) == 1 + 5 + 1  # heading, tensors, totals
        assert lines[-1].startswith("5 tensors · 295 B")
        assert any(line.startswith(EVIL_SHOWN) for line in lines)
        assert any(line.startswith("encoder.deeply.") and "…" in line for line in lines)
        end = lines[0].index("bytes") + len("bytes")
        assert [line[:end].split()[-1] for line in lines[1:6]] == ["80", "200", "8", "3", "4"]
        assert all(line[end - 1].isdigit() for line in lines[1:6])  # to the right

    def test_narrow_terminal_gives_the_names_the_room(self, tmp_path: Path) -> None:
        path = tmp_path / "names.onnx"
        name = "model.layers.17.self_attention.query_key.weight"
        save(path, *(tensor(f"{name}.{i}", np.ones((64, 64), np.float32)) for i in range(3)))
        screen = on_terminal(80, "ls", path)
        lines = screen.text.splitlines()
        assert lines[0].split() == ["name", "type", "shape", "bytes", "in"]
        assert [line.split()[0] for line in lines[1:4]] == [f"{name}.{i}" for i in range(3)]

    def test_wide_characters_keep_the_columns(self, tmp_path: Path) -> None:
        from rich.cells import cell_len

        path = tmp_path / "wide.onnx"
        save(path, tensor("重み", np.ones(1)), tensor("plain name", np.ones(1)))
        lines = piped("ls", path).stdout.splitlines()[1:]
        starts = {cell_len(line[: line.index("DOUBLE")]) for line in lines}
        assert starts == {len("plain name  ")}

    def test_pipe_has_no_colour_and_cuts_nothing(self, small: Path) -> None:
        ran = piped("ls", small, environment={"COLUMNS": "40"})
        assert ran.returncode == 0
        assert "\x1b" not in ran.stdout
        assert LONG_NAME in ran.stdout
        assert len(ran.stdout.splitlines()) == 1 + 5
        assert not any(line.endswith(" ") for line in ran.stdout.splitlines())

    def test_many_tensors(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "many.onnx"
        one = TensorProto(data_type=TensorProto.INT8, dims=[1], raw_data=b"1")
        model = onnx.ModelProto(ir_version=10)
        for number in range(100_000):
            one.name = f"tensor.{number}"
            model.graph.initializer.append(one)
        path.write_bytes(model.SerializeToString())
        lines = run("ls", path).out.splitlines()
        assert len(lines) == 1 + 100_000
        assert lines[-1].split()[0] == "tensor.99999"
        assert len(json.loads(run("ls", path, "--json").out)) == 100_000

    def test_a_model_without_initializers(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "none.onnx"
        save(path)
        assert json.loads(run("ls", path, "--json").out) == []
        assert run("ls", path).out.split() == ["name", "type", "shape", "bytes", "in", "offset"]


class TestDump:
    def test_full_text_is_protobufs(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "plain.onnx"
        model = save(path, tensor("w", np.arange(300, dtype=np.float32)), doc_string="é 漢")
        ran = run("dump", path, "--full")
        assert (ran.status, ran.out) == (0, str(model))

    def test_cut_text_is_short_and_still_text_format(
        self, run: Callable[..., Ran], demo: Path
    ) -> None:
        out = run("dump", demo).out
        assert len(out) < 200_000
        assert "1048576 bytes, 128 shown" in out
        parsed = text_format.Parse(out, onnx.ModelProto())
        expected = onnx.load(demo, load_external_data=False)
        assert parsed.graph.node[:43] == expected.graph.node[:43]
        assert parsed.graph.initializer[4].raw_data == expected.graph.initializer[4].raw_data[:128]

    def test_full_json_is_protobufs(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "plain.onnx"
        numbers = TensorProto(
            name="numbers",
            data_type=TensorProto.FLOAT,
            dims=[6],
            float_data=[0.1, np.nan, np.inf, -np.inf, 1e-45, 16777217],
            double_data=[0.1, 1e300],
            int32_data=[-1, 2],
            int64_data=[-(2**63)],
            raw_data=bytes(range(256)) * 2,
        )
        model = save(path, numbers, tensor(EVIL_NAME, np.ones(200, np.int8)))
        found = json.loads(run("dump", path, "--json", "--full").out)
        assert found == json_format.MessageToDict(model, preserving_proto_field_name=True)

    def test_cut_json_says_so(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "long.onnx"
        typed = TensorProto(
            name="n" * 1000, data_type=TensorProto.INT64, dims=[500], int64_data=range(500)
        )
        save(path, typed, tensor("raw", np.arange(500, dtype=np.uint8)))
        found = json.loads(run("dump", path, "graph.initializer", "--json").out)
        assert found[0]["name"] == {"cut": True, "length": 1000, "first": "n" * 128}
        assert found[0]["int64_data"]["length"] == 500
        assert found[0]["int64_data"]["first"] == [str(i) for i in range(128)]
        assert found[1]["raw_data"]["length"] == 500

    @pytest.mark.parametrize(
        ("field", "expected"),
        [
            ("producer_name", "maker\n"),
            ("graph.node[1].op_type", "Relu\n"),
            ("graph.node[-1].op_type", "Constant\n"),
            ('graph.node["first"].output', "h\n"),
            ('graph.node["first"].output[0]', "h\n"),
            ('opset_import["com.example"].version', "3\n"),
            ('metadata_props["author"].value', "somebody\n"),
            ("graph.initializer[0].dims", "4\n5\n"),
            ('graph.node[2].attribute["value"].type', "TENSOR\n"),
            ('graph.node[2].attribute["value"].t.dims', "40\n"),
            ('graph.initializer["a.bias"].raw_data', r"\x01" + r"\x00" * 7 + "\n"),
            ("graph.initializer[3].name", EVIL_SHOWN + "\n"),
            (
                "opset_import",
                '# [0]\ndomain: ""\nversion: 21\n# [1]\ndomain: "com.example"\nversion: 3\n',
            ),
            ('opset_import["com.example"]', 'domain: "com.example"\nversion: 3\n'),
            ("functions", ""),
        ],
    )
    def test_field(self, run: Callable[..., Ran], small: Path, field: str, expected: str) -> None:
        ran = run("dump", small, field)
        assert (ran.status, ran.out, ran.err) == (0, expected, "")

    def test_bytes_are_told_as_bytes(self, run: Callable[..., Ran], tmp_path: Path) -> None:
        path = tmp_path / "bytes.onnx"
        save(path, tensor("w", np.frombuffer(b"a\xe9\xff\n" * 50, np.uint8)))
        shown = r"a\xe9\xff\n" * 32
        assert run("dump", path, "graph.initializer[0].raw_data").out == (
            f"{shown}  # 200 long, 128 shown\n"
        )

    def test_fields_of_every_tensor_can_be_found(self, run: Callable[..., Ran], demo: Path) -> None:
        """The paths of `Model.tensors()` are the ones that `dump` takes."""
        import onnxmap

        for where, found in onnxmap.load(demo).tensors()[::8]:
            assert run("dump", demo, f"{where}.name").out == found.name + "\n"

    @pytest.mark.parametrize(
        ("field", "said"),
        [
            ("nothing", "ModelProto has no field 'nothing'"),
            ("graph.nod", "GraphProto has no field 'nod'"),
            ("graph..node", "cannot read"),
            ("graph.", "cannot read"),
            ("graph.node[", "cannot read"),
            ('graph.node["a\\q"]', "quoted name"),
            ("graph.node[99]", "length of 3"),
            ('graph.node["zzz"]', "no element with the name 'zzz'"),
            ("graph.node.name", "say which"),
            ("graph.name.x", "plain value"),
            ("graph.name[0]", "not a list"),
            ("graph[0]", "not a list"),
            ("domain", "has no domain"),
            ('graph.node[0].input["x"]', "no names"),
        ],
    )
    def test_bad_field(self, run: Callable[..., Ran], small: Path, field: str, said: str) -> None:
        ran = run("dump", small, field)
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err
        assert ran.err.count("\n") == 1


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
    @pytest.mark.parametrize("command", ["show", "ls", "dump"])
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_unreadable_input_is_one_line(
        self, run: Callable[..., Ran], command: str, options: list[str], bad_file: Path
    ) -> None:
        ran = run(command, bad_file, *options)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith("onnxmap: ")
        assert ran.err.endswith("\n")
        assert ran.err[:-1].isprintable()

    @pytest.mark.parametrize(
        "arguments",
        [[], ["nonsense"], ["show"], ["ls", "f", "--sort", "colour"], ["show", "f", "--nonsense"]],
    )
    def test_bad_usage_is_one_line(self, run: Callable[..., Ran], arguments: list[str]) -> None:
        ran = run(*arguments)
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert "--help" in ran.err

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
        self, run: Callable[..., Ran], small: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import onnxmap

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(onnxmap, "load", interrupted)
        assert run("ls", small) == Ran(130, "", "")

    def test_nothing_from_a_file_reaches_the_terminal_raw(
        self, run: Callable[..., Ran], tmp_path: Path
    ) -> None:
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
            assert ran.out.replace("\n", "").isprintable(), command


class TestWithoutRich:
    @staticmethod
    def run_without_rich(*arguments: object) -> subprocess.CompletedProcess[str]:
        code = (
            "import sys; sys.modules['rich'] = None; from onnxmap.cli import main; sys.exit(main())"
        )
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
        )

    @pytest.mark.parametrize("command", ["show", "ls", "demo"])
    def test_tables_say_how_to_get_it(self, small: Path, command: str) -> None:
        files = [] if command == "demo" else [small]
        ran = self.run_without_rich(command, *files)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.count("\n") == 1
        assert "pip install 'onnxmap[cli]'" in ran.stderr

    def test_dump_and_json_work(self, small: Path) -> None:
        assert self.run_without_rich("dump", small, "producer_name").stdout == "maker\n"
        for command in (["show", small], ["ls", small], ["dump", small], ["demo"]):
            ran = self.run_without_rich(*command, "--json")
            assert (ran.returncode, ran.stderr) == (0, "")
            assert json.loads(ran.stdout)


class TestStart:
    def test_help_imports_nothing_heavy(self) -> None:
        code = (
            "import sys; from onnxmap.cli import main; status = main(['--help']);"
            "print(status, sorted({'rich', 'ml_dtypes', 'onnx', 'google'} & set(sys.modules)))"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout.startswith("usage: onnxmap")
        assert ran.stdout.splitlines()[-1] == "0 []"
        for command in ("show", "ls", "dump", "demo"):
            assert f"\n    {command} " in ran.stdout

    def test_version(self, run: Callable[..., Ran]) -> None:
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

    def test_bytes_that_are_no_utf8_are_escaped(self, tmp_path: Path) -> None:
        path = tmp_path / "latin.onnx"
        save(path, tensor("caf__", np.ones(1)))
        path.write_bytes(path.read_bytes().replace(b"caf__", b"caf\xe9\xff"))
        ran = piped("ls", os.fsencode(path))
        assert ran.returncode == 0
        assert r"caf\xe9\xff" in ran.stdout
