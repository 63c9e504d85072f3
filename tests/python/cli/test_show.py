"""`onnxmap show`: the page and its JSON say what the official package reads."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from support.models.hard_names import LONG_NAME, save, tensor
from support.processes.command_line import Run, on_terminal


class TestShow:
    def test_json_is_what_the_official_package_reads(self, run: Run, small: Path) -> None:
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
        constants = [node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"]
        tensors = [*model.graph.initializer, *constants]
        assert facts["num_parameters"] == sum(math.prod(each.dims) for each in tensors)
        assert facts["inputs"] == [{"name": "x", "type": "FLOAT [batch, 3, ?]"}]
        assert facts["outputs"] == [{"name": "y", "type": "sequence of INT64 unknown rank"}]
        assert facts["metadata_props"] == {"author": "somebody"}
        assert facts["external_files"] == facts["functions"] == []
        assert facts["elsewhere"] == {
            "node_attributes": {"node_count": 0, "count": 1, "nbytes": 320}
        }
        assert facts["initializers"]["count"] == 5
        assert facts["initializers"]["nbytes"] == 80 + 200 + 8 + 3 + 4
        assert list(facts["initializers"]["by_dtype"].items())[:2] == [
            ("FLOAT16", {"count": 1, "nbytes": 200}),
            ("FLOAT", {"count": 1, "nbytes": 80}),
        ]

    def test_the_page_agrees_with_the_json(self, run: Run, demo: Path) -> None:
        page = run("show", demo).out
        for told in (
            "model\tdemo.onnx\t13.8 MB\topened in ",
            "onnxmap demo",
            "IR 12 · ai.onnx 24 · onnxmap.demo 1",
            "46 nodes · 41 initializers · 15,009,537 parameters · 47.4 MB",
            "inputs\ttokens\tINT64 [batch, length]",
            "operators\tMatMul\t13\t█",
            "… and 12 more",
            "files\tdemo.weights.data\t33.6 MB",
            "functions\tonnxmap.demo::Swish\t2 nodes",
            "functions\tonnxmap.demo::Total\t19 nodes",
            "metadata\tlicense\tApache-2.0",
        ):
            assert told in page
        assert all(line.split("\t")[0].isalpha() for line in page.splitlines())

    def test_domain_and_version_of_the_model(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "named.onnx"
        made = helper.make_model(helper.make_graph([], "g", [], []), ir_version=10)
        del made.opset_import[:]
        onnx.save(made, path)
        assert "domain" not in (page := run("show", path).out)
        assert "versions\tIR 10\n" in page
        made.domain, made.model_version = "org.example", 3
        onnx.save(made, path)
        page = run("show", path).out
        assert "versions\tIR 10 · model 3\n" in page
        assert "domain\torg.example\n" in page

    def test_weights_that_are_no_initializers_are_counted(self, run: Run, hidden: Path) -> None:
        facts = json.loads(run("show", hidden, "--json").out)
        assert facts["initializers"]["count"] == 0
        assert facts["elsewhere"] == {
            "node_attributes": {"node_count": 0, "count": 1, "nbytes": 4},
            "sparse_initializers": {"node_count": 0, "count": 1, "nbytes": 8 + 16},
            "subgraphs": {"node_count": 4, "count": 4, "nbytes": 4 * 4},
            "functions": {"node_count": 0, "count": 1, "nbytes": 4},
        }
        lines = [" ".join(line.split()) for line in run("show", hidden).out.splitlines()]
        begin = next(i for i, line in enumerate(lines) if line.startswith("elsewhere"))
        assert lines[begin : begin + 6] == [
            "elsewhere Constant and other nodes 1 tensor · 4 B",
            "elsewhere sparse initializers 1 tensor · 24 B",
            "elsewhere subgraphs 4 nodes · 4 tensors · 16 B",
            "elsewhere functions 1 tensor · 4 B",
            "elsewhere 'onnxmap ls --all' lists these tensors",
            "functions d::F 1 node",
        ]

    def test_operators_are_in_full_where_there_is_room(self, tmp_path: Path) -> None:
        names = ["BatchNormalization", "Add", "Mul", "Conv", "Relu", "Sum", "Div", "Sub"]
        nodes = [helper.make_node(name, ["x"], [name]) for name in names]
        path = tmp_path / "ops.onnx"
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", [], [])), path)
        assert "BatchNormalization  1  █" in on_terminal(60, "show", path).text

    def test_a_missing_external_file_is_reported(
        self, run: Run, demo: Path, tmp_path: Path
    ) -> None:
        alone = tmp_path / "alone.onnx"
        alone.write_bytes(demo.read_bytes())
        ran = run("show", alone)
        assert ran.status == 0
        assert "demo.weights.data\tmissing" in ran.out

    @pytest.mark.parametrize("width", [80, 200])
    def test_page_fits_the_terminal(self, width: int, tmp_path: Path) -> None:
        path = tmp_path / "wordy.onnx"
        save(path, tensor(LONG_NAME, np.ones(1)), doc_string="many words " * 100)
        page = on_terminal(width, "show", path)
        assert page.status == 0
        lines = page.text.splitlines()
        assert max(map(len, lines)) <= width
        assert 1 < page.text.count("words") < 20  # it is cut to 200 characters

    def test_many_lines_are_summed_up(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "many.onnx"
        inputs = [helper.make_tensor_value_info(f"x{i}", 1, [1]) for i in range(1000)]
        nodes = [helper.make_node(f"Op{i}", ["x0"], [f"y{i}"]) for i in range(1000)]
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, [])), path)
        lines = run("show", path).out.splitlines()
        assert len(lines) < 40
        assert sum("… and 992 more" in line for line in lines) == 2
