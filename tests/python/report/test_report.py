"""`Model.report`: what is on the page, what hostile names do there, its size, time and memory."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.models.sample import external, floats, model_of, write
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED

import onnxmap
from onnxmap.errors import printable

pytest.importorskip("jinja2")
pytest.importorskip("squarify")

EVIL = "</script><img src=x onerror='document.title=1'>&amp;{{ 7*7 }}\u202e\""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
EMPTY = model_of([]).SerializeToString()
VOID = {"meta", "br", "input"}


class Page(html.parser.HTMLParser):
    """The elements of a page with their attributes, and the text of each section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.section = ""
        self.texts: dict[str, str] = {}
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "section":
            self.section = str(dict(attrs)["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "section":
            self.section = ""

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.texts[self.section] = self.texts.get(self.section, "") + data

    def count(self) -> Counter[str]:
        return Counter(tag for tag, _ in self.elements)

    def of_class(self, name: str) -> list[dict[str, Any]]:
        return [attrs for _, attrs in self.elements if attrs.get("class") == name]

    @property
    def rows(self) -> list[list[Any]]:
        rows: list[list[Any]] = json.loads(self.scripts[0])
        return rows


def page_of(model: onnxmap.Model, folder: Path, other: onnxmap.Model | None = None) -> Page:
    model.report(folder / "report.html", other)
    return Page((folder / "report.html").read_text(encoding="utf-8"))


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
        "metadata", "tensors",
    ]  # fmt: skip
    said = {name: " ".join(text.split()) for name, text in page.texts.items()}
    assert "model.onnx 4 nodes · 4 tensors · 474 B of weights" in said[""]
    assert "producermaker versionsIR 10, ai.onnx 21 graphweights abouta text" in said[""]
    assert said["interface"] == "Inputs xFLOAT [batch, 10] Outputs yFLOAT unknown rank"
    assert said["operators"] == "Operators Add2 Constant1 Relu1"
    widths = [each["style"] for each in page.of_class("bar")]
    assert widths == ["width:100.00%", "width:50.00%", "width:50.00%"]
    assert "node.attributes" in said["findings"] or "wrong" in said["findings"]
    assert "w.data404 B4 B" in said["files"]
    assert said["functions"] == "Functions d.F1 node"
    assert said["metadata"] == "Metadata authorsomebody"


def test_the_table_has_all_tensors(path: Path, tmp_path: Path) -> None:
    assert page_of(onnxmap.load(path), tmp_path).rows == [
        ["block.0.w", "FLOAT", "10x10", 400, "w.data"],
        ["block.0.b", "INT8", "50", 50, "inline"],
        ["head", "COMPLEX64", "1", 8, "inline"],
        ['graph.node[3].attribute["value"].t', "INT64", "2", 16, "inline"],
    ]


def bars(outline: str) -> list[float]:
    return [100 - float(top) for top in re.findall(r"V([\d.]+)h", outline)]


def test_the_histograms(path: Path, tmp_path: Path) -> None:
    model = onnxmap.load(path)
    page = page_of(model, tmp_path)
    outlines = [str(attrs["d"]) for tag, attrs in page.elements if tag == "path"]
    tensors = [model.initializers[name] for name in ("block.0.w", "block.0.b")]
    assert len(outlines) == 2
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
    for ends in ("-0.50.5w", "0.51.5w", "1.52.5"):
        assert ends in "".join(page.texts["histograms"].split())


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


def cells_of(page: Page) -> list[tuple[str, list[float]]]:
    return [
        (str(each["title"]), [float(number) for number in re.findall(r":([\d.]+)%", each["style"])])
        for each in page.of_class("cell")
    ]


def test_areas_of_the_treemap(tmp_path: Path) -> None:
    tensors = [floats(f"layers.{i}.{part}", 100 * (i + 1)) for i in range(4) for part in "ab"]
    tensors += [floats(f"flat_{i}", 1) for i in range(300)] + [floats("large", 20_000)]
    page = page_of(onnxmap.loads(model_of(tensors).SerializeToString()), tmp_path)
    cells = cells_of(page)
    labels = {title.rpartition(": ")[0] for title, _ in cells}
    assert {"large", "layers.3.a", "layers.0.a", "*"} <= labels
    assert sum(width * height for _, (_, _, width, height) in cells) == pytest.approx(1e4, rel=1e-3)
    total = sum(tensor.dims[0] for tensor in tensors)
    for title, (_, _, width, height) in cells:
        count = {"large": 20_000, "layers.3.a": 400, "*": 300}.get(title.rpartition(": ")[0])
        if count:
            assert width * height / 1e4 == pytest.approx(count / total, rel=1e-2)


def test_many_groups_of_one_size(tmp_path: Path) -> None:
    tensors = [floats(f"layer_{i}/w", 10) for i in range(100)]
    page = page_of(onnxmap.loads(model_of(tensors).SerializeToString()), tmp_path)
    assert len(cells_of(page)) == 60


def test_a_model_without_anything(tmp_path: Path) -> None:
    page = page_of(onnxmap.loads(EMPTY), tmp_path)
    assert page.rows == []
    assert "a model in memory" in page.texts[""]
    assert not {"weights", "histograms", "operators", "files"} & set(page.texts)


class TestDifferences:
    def test_none(self, path: Path, tmp_path: Path) -> None:
        page = page_of(onnxmap.load(path), tmp_path, onnxmap.load(path))
        assert page.texts["changes"].split() == (
            ["Compared", "with", "model.onnx", "No", "differences."]
        )
        assert "changes" not in page_of(onnxmap.load(path), tmp_path).texts

    def test_some(self, path: Path, tmp_path: Path) -> None:
        model, other = onnxmap.load(path), onnxmap.load(path)
        other.initializers["block.0.b"] = np.arange(1, 51, dtype=np.int8)
        other.graph.nodes[0].op_type = "Mul"
        other.doc_string = EVIL
        other.metadata_props["author"] = "another"
        other.producer_version = "7" * 500
        page = page_of(model, tmp_path, other)
        said = " ".join(page.texts["changes"].split())
        assert "tensors: 1 difference changedblock.0.b50 elements (100.00%), by 1 at most" in said
        assert "op_type" in said
        assert "'somebody' → 'another'" in said
        assert f"addedproducer_version- → '{'7' * 50}" in said
        assert "7" * 130 not in page.text
        assert page.count()["img"] == 0


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
    assert (found["img"], found["script"], found["title"]) == (0, 2, 1)
    assert all(not name.startswith("on") for _, attrs in page.elements for name in attrs)
    shown = printable(EVIL)
    assert "\u202e" not in page.text
    for section in ("", "interface", "operators", "weights", "functions", "metadata", "changes"):
        assert shown in page.texts[section] or shown in page.texts[section].replace("\n", " ")
    assert [row[0] for row in page.rows] == [shown, shown + ".b"]
    assert page.rows[0][4] == printable(f"../{EVIL}")
    assert "<img" not in page.scripts[0]


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
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
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
    begin = time.process_time()
    page = page_of(onnxmap.loads(message.SerializeToString()), tmp_path, onnxmap.loads(EMPTY))
    assert "and 4900 more" in page.texts["interface"]
    assert time.process_time() - begin < 5
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


@pytest.mark.skipif(SANITIZED, reason="memory is not measured under ASan")
def test_time_and_memory_for_many_nodes(tmp_path: Path) -> None:
    message = model_of([floats(f"layers.{i // 90}.c{i}", 2) for i in range(30_000)])
    message.graph.node.extend(
        onnx.NodeProto(
            op_type="Add", input=[f"v{i}", f"layers.{i // 90}.c{i}"], output=[f"v{i + 1}"]
        )
        for i in range(30_000)
    )
    path = write(message, tmp_path / "m.onnx")
    code = """
    import time, onnxmap
    onnxmap.from_arrays({}).report(sys.argv[2])
    model = onnxmap.load(sys.argv[1])
    before, begin = resident_kib(), time.process_time()
    model.report(sys.argv[2])
    report(seconds=time.process_time() - begin, growth=peak_kib() - before)
    """
    facts = facts_from(code, str(path), str(tmp_path / "report.html"))
    assert facts["seconds"] < 3  # 0.4 without others on the machine
    assert facts["growth"] < 60 * 1024


def dom_of(page: Path) -> Page:
    assert CHROMIUM is not None
    ran = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", str(page)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return Page(ran.stdout)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
class TestInABrowser:
    def test_the_table(self, tmp_path: Path) -> None:
        tensors = [floats(f"w.{i}", i + 1) for i in range(250)]
        page_of(onnxmap.loads(model_of(tensors).SerializeToString()), tmp_path)
        dom = dom_of(tmp_path / "report.html")
        assert len(re.findall(r"<td>w\.\d+</td><td>FLOAT</td>", dom.text)) == 200
        assert "250 of 250" in dom.texts["tensors"]
        assert dom.count()["svg"] == 12

    def test_filter_and_order(self, tmp_path: Path) -> None:
        """A copy of the page without its policy has a script that uses the table."""
        tensors = [floats(f"w.{i}", 300 - i) for i in (2, 10, 1, 100, 3)] + [floats("bias", 1)]
        page = page_of(onnxmap.loads(model_of(tensors).SerializeToString()), tmp_path)
        steps = {
            "": ["w.2", "w.10", "w.1", "w.100", "w.3", "bias"],
            "type('W.1');": ["w.10", "w.1", "w.100"],
            "type(''); click(0);": ["bias", "w.1", "w.2", "w.3", "w.10", "w.100"],
            "click(0);": ["w.100", "w.10", "w.3", "w.2", "w.1", "bias"],
            "click(3);": ["w.1", "w.2", "w.3", "w.10", "w.100", "bias"],
            "type('float w. 1');": ["w.1", "w.10", "w.100"],
            "type('nothing');": [],
        }
        tail = "<script>function click(i) { heads[i].firstChild.click(); }"
        tail += "function type(text) { filter.value = text; "
        tail += "filter.dispatchEvent(new Event('input')); } const seen = [];"
        tail += (
            "function look() { seen.push([...body.rows].map(row => row.cells[0].textContent)); }"
        )
        tail += "".join(f"{step} look();" for step in steps)
        tail += "document.body.textContent = JSON.stringify(seen);</script>"
        text = re.sub("<meta http-equiv.*?>", "", page.text) + tail
        (tmp_path / "used.html").write_text(text, encoding="utf-8")
        found = re.search(r"<body>(.*)</body>", dom_of(tmp_path / "used.html").text)
        assert found is not None
        assert dict(zip(steps, json.loads(found[1]), strict=True)) == steps

    def test_hostile_names_run_nothing(self, tmp_path: Path) -> None:
        page_of(onnxmap.load(evil_model(tmp_path)), tmp_path)
        dom = dom_of(tmp_path / "report.html")
        assert dom.count()["img"] == 0
        assert "<title>&lt;img src=x&gt;.onnx</title>" in dom.text
        assert dom.count()["tr"] > 4
