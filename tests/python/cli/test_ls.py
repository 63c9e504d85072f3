"""`onnxmap ls`: the list on terminals, in pipes and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from support.models.hard_names import EVIL_SHOWN, LONG_NAME, save, tensor
from support.processes.command_line import Ran, Run, on_terminal, piped

import onnxmap

HEADINGS = ["name", "type", "shape", "bytes", "in", "offset", "aligned"]


class TestLs:
    def test_json_is_what_the_official_package_reads(self, run: Run, demo: Path) -> None:
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

    def test_every_initializer_has_a_line(self, run: Run, small: Path) -> None:
        lines = run("ls", small).out.splitlines()
        assert lines[0].split() == HEADINGS
        assert lines[1].split()[:5] == ["b.weight", "FLOAT", "[4,5]", "80", "inline"]
        assert lines[3].split()[:5] == ["a.bias", "INT64", "[]", "8", "inline"]
        assert [line.split()[0] for line in lines[4:]] == [EVIL_SHOWN, LONG_NAME]

    @pytest.mark.parametrize(
        ("order", "first"),
        [
            ("size", ["a.weight", "b.weight", "a.bias"]),
            ("name", ["a.bias", "a.weight", "b.weight"]),
            ("dtype", ["b.weight", "a.weight", "a.bias"]),
        ],
    )
    def test_sort(self, run: Run, small: Path, order: str, first: list[str]) -> None:
        rows = json.loads(run("ls", small, "--sort", order, "--json", "*.weight", "*.bias").out)
        assert [row["name"] for row in rows if row["name"] != LONG_NAME] == first

    def test_sort_by_file(self, run: Run, demo: Path) -> None:
        rows = json.loads(run("ls", "--sort", "file", "--json", demo).out)
        places = [(row["file"] or "", row["offset"]) for row in rows]
        assert places == sorted(places)
        assert places[-1][0] == "demo.weights.data"

    def test_names_and_globs_choose(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "names.onnx"
        names = ["w[1]", "w1", "w2", "v"]
        save(path, *(tensor(name, np.ones(1)) for name in names))

        def chosen(*arguments: str) -> list[str]:
            return [row["name"] for row in json.loads(run("ls", path, "--json", *arguments).out)]

        assert chosen("w[1]") == ["w[1]"]  # the exact name, and not the pattern that matches w1
        assert chosen("w[12]") == ["w1", "w2"]
        assert chosen("v", "w?") == ["w1", "w2", "v"]
        assert chosen("w1", "--sort", "size", "v") == ["v", "w1"]  # equally large

    def test_a_name_that_is_not_there_is_an_error(self, run: Run, small: Path) -> None:
        ran = run("ls", small, "a.*", "zzz*")
        assert (ran.status, ran.out) == (2, "")
        assert "'zzz*'" in ran.err

    def test_malformed_tensors_are_listed(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "broken.onnx"
        missing = TensorProto(name="missing", data_type=1, dims=[2], data_location=1)
        for key, value in (("location", "gone.data"), ("offset", "64")):
            missing.external_data.add(key=key, value=value)
        no_location = TensorProto(name="nowhere", data_type=1, dims=[2], data_location=1)
        save(
            path,
            TensorProto(name="type 99", data_type=99, dims=[1], raw_data=b"0000"),
            TensorProto(name="short", data_type=1, dims=[7], raw_data=b"0000"),
            TensorProto(name="typed", data_type=6, dims=[2], int32_data=[1, 2]),
            TensorProto(name="typed run", data_type=1, dims=[2], float_data=[1, 2]),
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
        assert rows["typed run"]["offset"] > 0
        assert rows["negative"]["shape"] == [-2]
        assert (rows["missing"]["file"], rows["missing"]["offset"]) == ("gone.data", 64)
        assert rows["nowhere"]["file"] == "?"
        lines = run("ls", path).out.splitlines()
        assert len(lines) == 1 + 9
        assert sum(line.startswith("twice\t") for line in lines) == 2

    @pytest.mark.parametrize("width", [80, 200])
    def test_terminal(self, width: int, small: Path) -> None:
        screen = on_terminal(width, "ls", small)
        assert screen.status == 0
        lines = screen.text.splitlines()
        assert max(map(len, lines)) <= width
        assert lines[-1].startswith("5 tensors · 295 B")
        end = lines[0].index("bytes") + len("bytes")
        begin = lines[0].index("type")
        names = "".join(line[: begin - 1].strip() for line in lines[1:-1])  # long ones go on
        assert names.endswith(EVIL_SHOWN + LONG_NAME)
        numbers = [line[:end].split()[-1] for line in lines[1:-1] if line[end - 1] != " "]
        assert numbers == ["80", "200", "8", "3", "4"]  # aligned to the right

    def test_colours_can_be_turned_off(self, small: Path) -> None:
        screen = on_terminal(80, "ls", small)
        assert "\x1b[" in screen.raw
        for off in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            plain = on_terminal(80, "ls", small, environment=off)
            assert plain.raw == plain.text == screen.text

    def test_pipe_has_no_colour_and_cuts_nothing(self, small: Path) -> None:
        """A line has a field for each heading, between tabs."""
        ran = piped("ls", small, environment={"COLUMNS": "40"})
        assert ran.returncode == 0
        assert "\x1b" not in ran.stdout
        assert LONG_NAME in ran.stdout
        assert len(ran.stdout.splitlines()) == 1 + 5
        assert {line.count("\t") for line in ran.stdout.splitlines()} == {len(HEADINGS) - 1}

    def test_many_tensors(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "many.onnx"
        one = TensorProto(data_type=TensorProto.INT8, dims=[1], raw_data=b"1")
        model = onnx.ModelProto(ir_version=10)
        for number in range(20_000):
            one.name = f"tensor.{number}"
            model.graph.initializer.append(one)
        path.write_bytes(model.SerializeToString())
        lines = run("ls", path).out.splitlines()
        assert len(lines) == 1 + 20_000
        assert lines[-1].split()[0] == "tensor.19999"
        assert len(json.loads(run("ls", path, "--json").out)) == 20_000

    def test_a_model_without_initializers(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "none.onnx"
        save(path)
        assert json.loads(run("ls", path, "--json").out) == []
        assert run("ls", path).out.split() == HEADINGS

    def test_a_list_of_nothing_says_where_the_tensors_are(
        self, run: Run, hidden: Path, tmp_path: Path
    ) -> None:
        onnx.save(onnx.ModelProto(ir_version=10, graph=onnx.GraphProto()), tmp_path / "bare.onnx")
        assert run("ls", tmp_path / "bare.onnx").err == ""
        model = onnx.load(hidden)
        del model.graph.sparse_initializer[:]
        onnx.save(model, hidden)
        ran = run("ls", hidden)
        assert ran.status == 0
        assert ran.err == "onnxmap: no initializers; --all lists 6 tensors of nodes and functions\n"
        assert run("ls", hidden, "--json") == Ran(0, "[]\n", "")
        assert run("ls", hidden, "--inputs").err == ""

    def test_sparse_initializers_are_listed(self, run: Run, hidden: Path) -> None:
        (line,) = run("ls", hidden).out.splitlines()[1:]
        assert line.split() == ["sparse", "sparse:FLOAT", "[10]", "24", "inline", "-", "-"]
        (row,) = json.loads(run("ls", hidden, "--json", "sparse").out)
        assert (row["dtype"], row["shape"], row["nbytes"]) == ("FLOAT", [10], 24)
        assert row["sparse"] is True

    def test_cells_of_a_pipe_are_single_words(self, run: Run, demo: Path) -> None:
        """For awk and sort. An offset is a number, or - if it is unknown."""
        rows = json.loads(run("ls", demo, "--json").out)
        lines = [line.split() for line in run("ls", demo).out.splitlines()[1:]]
        aligned = {True: "yes", False: "no", None: "-"}
        assert [line[5:] for line in lines] == [
            ["-" if row["offset"] is None else str(row["offset"]), aligned[row["aligned"]]]
            for row in rows
        ]
        assert {"yes", "no"} <= {line[6] for line in lines}
        shapes = [line[2] for line in lines]
        assert shapes == [str(row["shape"]).replace(" ", "") for row in rows]
        assert [int(line[3]) for line in lines] == [row["nbytes"] for row in rows]
        assert max(row["nbytes"] for row in rows) == 16_777_216

    def test_numbers_in_names_are_sorted_by_value(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "numbers.onnx"
        names = ["w", "w.1.b", "w.2", "w.10", "w.10.a", "w.²"]
        save(path, *(tensor(name, np.ones(1)) for name in reversed(names)))
        for order in ("name", "size", "dtype"):
            rows = json.loads(run("ls", path, "--json", "--sort", order).out)
            assert [row["name"] for row in rows] == names

    def test_a_pasted_path_may_have_a_star(self, run: Run, hidden: Path) -> None:
        def chosen(*arguments: str) -> list[str]:
            ran = run("ls", hidden, "--json", *arguments)
            assert ran.status == 0, ran.err
            return [row.get("where", row["name"]) for row in json.loads(ran.out)]

        path = 'graph.node[1].attribute["value"].t'
        assert chosen("--all", "graph.node[1]*") == [path]
        assert chosen("--all", path) == [path]
        assert len(chosen("--all", "graph.node[0]*.t")) == 4
        assert chosen("--nodes", "graph.node[1]") == ["graph.node[1]"]
        assert len(chosen("--nodes", 'graph.node[0].attribute["else_branch"]*')) == 2

    def test_a_heading_says_what_the_first_column_is(self, run: Run, hidden: Path) -> None:
        assert run("ls", hidden, "--all").out.split()[:2] == ["path", "name"]

    def test_names_stand_beside_paths(self, run: Run, small: Path) -> None:
        """A tensor of a node may have none. JSON has the path alone."""
        rows = [line.split("\t")[:3] for line in run("ls", small, "--all").out.splitlines()]
        assert rows[1] == ['graph.node[2].attribute["value"].t', "inner", "DOUBLE"]
        assert rows[2] == ["graph.initializer[0]", "b.weight", "FLOAT"]
        assert rows[5][1] == EVIL_SHOWN
        model = onnx.load(small)
        model.graph.node[2].attribute[0].t.name = ""
        onnx.save(model, small)
        assert run("ls", small, "--all").out.splitlines()[1].split("\t")[1] == "-"
        assert run("ls", small, "--all", "--json", "b.weight").out == (
            '[{"name": "graph.initializer[0]", "dtype": "FLOAT", "shape": [4, 5], "nbytes": 80, '
            f'"file": null, "offset": {offset_of(small, "b.weight")}, "aligned": false, '
            '"sparse": false}]\n'
        )

    @pytest.mark.parametrize("width", [80, 120])
    def test_paths_on_a_terminal_stay_apart(self, width: int, hidden: Path) -> None:
        lines = on_terminal(width, "ls", "--all", hidden).text.splitlines()
        assert lines[-1] == "8 tensors · 48 B · 6 not aligned"
        begin = lines[0].index("name")
        shown = "".join(line[:begin].strip() for line in lines[1:-1])  # paths go on in other lines
        assert all(path in shown for path, _ in onnxmap.load(hidden).tensors())

    @pytest.mark.parametrize("width", [80, 120, 200])
    def test_nodes_on_a_terminal(self, width: int, tmp_path: Path) -> None:
        path = tmp_path / "nodes.onnx"
        nodes = [
            onnx.helper.make_node(
                "BatchNormalization",
                [f"layer.{i}.{part}.of.it" for part in ("input", "scale", "bias")],
                [f"layer.{i}.normalized.output"],
                name=f"layer.{i}.norm",
            )
            for i in range(50)
        ]
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], [])), path)
        lines = on_terminal(width, "ls", "--nodes", path).text.splitlines()
        assert lines[0].split() == ["name", "op", "where", "inputs", "outputs"]
        assert max(map(len, lines)) <= width
        assert lines[-1] == "50 nodes · 1 operator"
        if width == 200:
            assert lines[1].split()[:2] == ["layer.0.norm", "BatchNormalization"]
            assert lines[1].split()[-1] == "layer.0.normalized.output"


def offset_of(path: Path, name: str) -> int:
    offset = onnxmap.load(path).initializers[name].offset
    assert offset is not None
    return offset
