"""`Model.report`: what is on the page, what hostile names do there, its size, time and memory."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from
from support.processes.work import instructions_of
from support.readers.report_page import page_of
from support.run_options import SANITIZED

import onnxmap
from onnxmap.errors import printable

pytest.importorskip("jinja2")
pytest.importorskip("squarify")

EVIL = "</script><img src=x onerror='document.title=1'>&amp;{{ 7*7 }}\u202e\""
EMPTY = model_of([]).SerializeToString()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model with something for every section."""
    rng = np.random.default_rng(0)
    (tmp_path / "w.data").write_bytes(rng.normal(size=100).astype(np.float32).tobytes() + b"....")
    inner = numpy_helper.from_array(np.int64([4, 5]), "")
    message = model_of(
        [
            external("block.0.w", [10, 10], {"location": "w.data", "length": "400"}),
            numpy_helper.from_array(np.arange(50, dtype=np.int8), "block.0.b"),
            numpy_helper.from_array(np.complex64([1j]), "head"),
        ],
        producer_name="maker", doc_string="a text",
        functions=[helper.make_function(
            "d", "F", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])],
            [helper.make_opsetid("", 21)],
        )],
    )  # fmt: skip
    message.graph.node.extend([
        helper.make_node("Add", ["x", "block.0.w"], ["h"]),
        helper.make_node("Add", ["h", "h"], ["g"]),
        helper.make_node("Relu", ["g"], ["y"], wrong=1),
        helper.make_node("Constant", [], ["c"], value=inner),
    ])  # fmt: skip
    message.graph.input.append(helper.make_tensor_value_info("x", 1, ["batch", 10]))
    message.graph.output.append(helper.make_tensor_value_info("y", 1, None))
    helper.set_model_props(message, {"author": "somebody"})
    return write(message, tmp_path / "model.onnx")


def test_every_section(path: Path, tmp_path: Path) -> None:
    page = page_of(onnxmap.load(path), tmp_path)
    assert list(page.texts) == [
        "", "interface", "operators", "weights", "histograms", "findings", "files", "functions",
        "metadata", "tensors", "nodes",
    ]  # fmt: skip
    said = {name: " ".join(text.split()) for name, text in page.texts.items()}
    assert "model.onnx 4 nodes · 4 tensors · 474 B of weights" in said[""]
    assert f"parameters{onnxmap.load(path).num_parameters} producermaker" in said[""]
    assert "producermaker versionsIR 10, ai.onnx 21 graphweights abouta text" in said[""]
    assert said["interface"] == "Inputs xFLOAT [batch, 10] Outputs yFLOAT unknown rank"
    assert said["operators"] == "Operators Add2 Constant1 Relu1"
    widths = [each["style"] for each in page.of_class("bar")]
    assert widths == ["width:100.00%", "width:50.00%", "width:50.00%"]
    assert "node.attributes" in said["findings"] or "wrong" in said["findings"]
    assert "w.data404 B4 B" in said["files"]
    assert said["functions"] == "Functions d.F1 node"
    assert said["metadata"] == "Metadata authorsomebody"


def test_the_size_is_that_of_the_file(path: Path, tmp_path: Path) -> None:
    model = onnxmap.load(path)
    said = page_of(model, tmp_path).texts[""]
    assert f"file size{path.stat().st_size} B and data files" in " ".join(said.split())
    model.producer_name = "another"
    assert "size as protobuf" in page_of(model, tmp_path).texts[""]
    model.save(tmp_path / "m.textproto", external_data=False)
    assert "size as protobuf" in page_of(onnxmap.load(tmp_path / "m.textproto"), tmp_path).texts[""]


def test_the_table_has_all_tensors(path: Path, tmp_path: Path) -> None:
    assert page_of(onnxmap.load(path), tmp_path).rows == [
        ["block.0.w", "FLOAT", "[10, 10]", 400, "w.data"],
        ["block.0.b", "INT8", "[50]", 50, "inline"],
        ["head", "COMPLEX64", "[1]", 8, "inline"],
        ['graph.node[3].attribute["value"].t', "INT64", "[2]", 16, "inline"],
    ]


def bars(outline: str) -> list[float]:
    return [100 - float(top) for top in re.findall(r"V([\d.]+)h", outline)]


def test_the_histograms(path: Path, tmp_path: Path) -> None:
    model = onnxmap.load(path)
    page = page_of(model, tmp_path)
    outlines = [str(attrs["d"]) for tag, attrs in page.elements if tag == "path"]
    tensors = [model.initializers[name] for name in ("block.0.w", "block.0.b")]
    constant = 'graph.node[3].attribute["value"].t'
    tensors.append(dict(model.tensors())[constant])
    assert constant in page.texts["histograms"]
    for outline, tensor in zip(outlines, tensors, strict=True):
        counts, edges = tensor.histogram(48)
        np.testing.assert_allclose(bars(outline), np.ceil(100 * counts / counts.max()))
        for end in (edges[0], edges[-1]):
            assert f"{end:.4g}" in page.texts["histograms"]
    assert "FLOAT, 100 values" in page.texts["histograms"]


def test_weights_whose_names_are_no_keys(tmp_path: Path) -> None:
    tensors = [numpy_helper.from_array(np.float32([i, i]), name) for i, name in enumerate("ww")]
    tensors.append(numpy_helper.from_array(np.float32([2, 2]), ""))
    page = page_of(onnxmap.loads(model_of(tensors).SerializeToString()), tmp_path)
    for ends in ("w -0.50.5 FLOAT, 2 values, 8 B w 0.51.5", "8 B graph.initializer[2] 1.52.5"):
        assert ends in " ".join(page.texts["histograms"].split())


def test_large_weights_are_sampled(tmp_path: Path) -> None:
    values = np.ones((1 << 20) + 1, np.float32)
    values[-1] = 777  # alone in the one run that the sample leaves out
    model = onnxmap.loads(model_of([numpy_helper.from_array(values, "w")]).SerializeToString())
    said = page_of(model, tmp_path).texts["histograms"]
    assert "a sample of 1,048,577 values" in said
    assert "0.51.5" in said


def test_data_that_are_missing(path: Path, tmp_path: Path) -> None:
    (tmp_path / "w.data").unlink()
    page = page_of(onnxmap.load(path), tmp_path)
    assert "w.data" in page.texts["histograms"]
    assert page.texts["files"].count("w.data") >= 2
    assert "INT8, 50 values" in page.texts["histograms"]


def test_a_model_without_anything(tmp_path: Path) -> None:
    page = page_of(onnxmap.loads(EMPTY), tmp_path)
    assert page.rows == []
    assert "a model in memory" in page.texts[""]
    assert not {"weights", "histograms", "operators", "files"} & set(page.texts)


def evil_model(folder: Path) -> Path:
    node = helper.make_node(EVIL, [EVIL], [EVIL + "2"], name=EVIL, domain=EVIL)
    message = model_of(
        [external(EVIL, [4], {"location": f"../{EVIL}"}), floats(EVIL + ".b", 4)],
        producer_name=EVIL, domain=EVIL, doc_string=EVIL,
        functions=[helper.make_function(EVIL, EVIL, [EVIL], [EVIL], [node], [])],
    )  # fmt: skip
    message.graph.name = EVIL
    message.graph.node.append(node)
    message.opset_import.append(helper.make_opsetid(EVIL, 1))
    message.graph.input.append(helper.make_tensor_value_info(EVIL, 1, [EVIL]))
    helper.set_model_props(message, {EVIL: EVIL})
    return write(message, folder / "<img src=x>.onnx")


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    model = onnxmap.load(evil_model(tmp_path))
    page = page_of(model, tmp_path, onnxmap.loads(EMPTY))
    found = page.count()
    assert (found["img"], found["script"], found["title"]) == (0, 3, 1)
    assert all(not name.startswith("on") for _, attrs in page.elements for name in attrs)
    shown = printable(EVIL)
    assert "\u202e" not in page.text
    for section in ("", "interface", "operators", "weights", "functions", "metadata", "changes"):
        assert shown in page.texts[section] or shown in page.texts[section].replace("\n", " ")
    assert [row[0] for row in page.rows] == [shown, shown + ".b"]
    assert page.rows[0][4] == printable(f"../{EVIL}")
    assert all("<img" not in script for script in page.scripts[:2])


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    message = model_of([floats("w", 3)])
    data = message.SerializeToString().replace(b"w", b"\xff").replace(b"\xffeights", b"weights")
    page = page_of(onnxmap.loads(data), tmp_path)
    assert page.rows[0][0] == r"\xff"
    assert r"\xff" in page.texts["histograms"]


def test_the_page_loads_nothing(path: Path, tmp_path: Path) -> None:
    page = page_of(onnxmap.load(path), tmp_path)
    names = {name for _, attrs in page.elements for name in attrs}
    assert not names & {"src", "href", "srcset", "data", "action"}
    assert not re.search(r"url\(|@import|https?:|fetch|import\(", page.text)
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(page.scripts[-1].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_it_is_small(tmp_path: Path) -> None:
    names = [
        f"model.encoder.layers.{i}.self_attention.{'projection' * 3}.weight" for i in range(1000)
    ]
    page = page_of(
        onnxmap.loads(model_of([floats(n, 9) for n in names]).SerializeToString()), tmp_path
    )
    assert len(page.rows) == 1000
    assert len(page.text) < 300_000


def test_long_texts_are_cut(tmp_path: Path) -> None:
    long = "a." * 500_000
    message = model_of([floats(long, 2)], doc_string=long, producer_name=long)
    message.graph.node.extend(helper.make_node(f"{long}{i}", [], [long]) for i in range(3))
    message.graph.input.extend(helper.make_tensor_value_info(str(i), 1, []) for i in range(5000))
    page = page_of(onnxmap.loads(message.SerializeToString()), tmp_path, onnxmap.loads(EMPTY))
    assert "and 4900 more" in page.texts["interface"]
    assert len(page.text) < 100_000


def test_operators_and_findings_are_cut(tmp_path: Path) -> None:
    message = model_of([])
    for i in range(34):
        message.graph.node.extend([helper.make_node(f"Mine{i}", [], [], domain="d")] * (34 - i))
    message.graph.doc_string = "of the graph"
    page = page_of(onnxmap.loads(message.SerializeToString()), tmp_path)
    said = {name: " ".join(text.split()) for name, text in page.texts.items()}
    assert len(page.of_class("bar")) == 30
    assert said["operators"].endswith("Mine295 and 4 more, used 10 times")
    counts = Counter(each.rule for each in onnxmap.loads(message.SerializeToString()).check())
    assert max(counts.values()) > 5
    assert page.count()["li"] == sum(min(count, 5) for count in counts.values())
    assert "aboutof the graph" in said[""]


def many_nodes(count: int) -> onnx.ModelProto:
    message = model_of([floats(f"layers.{i // 90}.c{i}", 2) for i in range(count)])
    message.graph.node.extend(
        onnx.NodeProto(
            op_type="Add", input=[f"v{i}", f"layers.{i // 90}.c{i}"], output=[f"v{i + 1}"]
        )
        for i in range(count)
    )
    return message


def test_work_for_many_nodes(tmp_path: Path) -> None:
    _, few, many = (  # the first one imports what it needs
        instructions_of(partial(onnxmap.loads(data).report, tmp_path / "report.html"))
        for data in (many_nodes(count).SerializeToString() for count in (10, 300, 3_000))
    )
    assert many < 12 * few


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_memory_for_many_nodes(tmp_path: Path) -> None:
    path = write(many_nodes(30_000), tmp_path / "m.onnx")
    code = """
    import onnxmap
    onnxmap.from_arrays({}).report(sys.argv[2])
    model = onnxmap.load(sys.argv[1])
    before = resident_kib()
    model.report(sys.argv[2])
    report(growth=peak_kib() - before)
    """
    facts = facts_from(code, str(path), str(tmp_path / "report.html"))
    assert facts["growth"] < 60 * 1024
