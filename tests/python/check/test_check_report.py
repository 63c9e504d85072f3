"""The report of a check: what it has, what it prints, and how rules are chosen."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from support import wire_bytes as wire
from support.checks.rules import LEVELS, RULES

import onnxmap


def broken(nodes: int = 1) -> ModelProto:
    """A model with an error, a warning and a hint, each once for each node."""
    return helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Clip", ["nowhere", ""], [f"y{i}"], name=f"n{i}")
                for i in range(nodes)
            ]
            + [helper.make_node("Not", ["flag"], ["other"])],
            "g",
            [],
            [],
            [numpy_helper.from_array(np.array([2], np.uint8).view(bool), "flag")],
            value_info=[helper.make_tensor_value_info(f"z{i}", 1, [1]) for i in range(nodes)],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=10,
    )


def check(model: ModelProto, **options: Any) -> onnxmap.CheckReport:
    return onnxmap.loads(model.SerializeToString()).check(**options)


def test_a_report_is_a_list_of_findings() -> None:
    report = check(broken())
    assert [(each.severity, each.rule, each.where) for each in report] == [
        ("hint", "node.trailing_empty", "graph.node[0].input[1]"),
        ("error", "value.undefined", "graph.node[0].input[0]"),
        ("warning", "graph.value_info_inner", "graph.value_info[0]"),
    ]
    assert len(report) == 3
    assert report[1] is report.errors[0]
    assert report[-1:] == (report[2],)
    assert not report.ok
    assert report.counts == {
        "graph.value_info_inner": 1, "value.undefined": 1, "node.trailing_empty": 1,
    }  # fmt: skip
    assert pickle.loads(pickle.dumps(report)) == report


@pytest.mark.parametrize("root", [None, "data"])
def test_findings_leave_out_where_the_files_are(tmp_path: Path, root: str | None) -> None:
    """A service shows them to its users. What the model itself says stays."""
    folder = tmp_path / (root or ".")
    folder.mkdir(exist_ok=True)
    (folder / "link.bin").symlink_to("../outside.bin")
    (folder / "loop.bin").symlink_to("loop.bin")
    os.mkfifo(folder / "pipe.bin")
    elsewhere = str(tmp_path / "data/gone.bin")
    model, said = (
        onnx.ModelProto(ir_version=10),
        {
            "gone.bin": "no file 'gone.bin'",
            "sub/gone.bin": "no file 'sub/gone.bin'",
            "link.bin": "'link.bin' is unsafe: a symlink leads outside the model directory",
            "loop.bin": "symlink loop at 'loop.bin'",
            "pipe.bin": "'pipe.bin' is not a regular file",
            "sub/": "external location 'sub/' is not a file: a slash at the end means a directory",
            elsewhere: f"external location '{elsewhere}' is unsafe: absolute",
        },
    )
    for location in said:
        tensor = model.graph.initializer.add(name="w", data_type=1, dims=[2], data_location=1)
        tensor.external_data.add(key="location", value=location)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    loaded = onnxmap.load(tmp_path / "m.onnx", external_root=None if root is None else folder)
    report = loaded.check(select=["ext.missing", "ext.unsafe_path", "ext.not_regular", "ext.loc*"])
    assert len(report) == len(said)
    for each, text in zip(report, said.values(), strict=True):
        assert text in each.message
        assert str(tmp_path) not in each.message.replace(elsewhere, "")
    broken_model = broken()
    onnx.save(broken_model, tmp_path / "b.onnx")
    (fault,) = onnxmap.load(tmp_path / "b.onnx").check(full=True, select="onnx.checker")
    assert "/" not in fault.message


def test_a_report_as_json() -> None:
    report = check(broken())
    facts = json.loads(json.dumps(report.to_dict()))
    assert (facts["ok"], facts["counts"]) == (False, report.counts)
    names = ("severity", "rule", "where", "message", "advice", "source")
    expected = [{name: getattr(each, name) for name in names} for each in report]
    assert facts["findings"] == expected


def test_a_finding_explains_itself() -> None:
    (found,) = check(broken(), select="value.undefined")
    assert found.message == "the node 'n0' uses 'nowhere', which nothing defines"
    assert found.source == "IR.md, Nodes"
    assert found.text.startswith("An input of a node is an input, an initializer or the output")
    assert found.advice == "Correct the name, or add what defines the value."
    assert str(found) == f"graph.node[0].input[0]: {found.message} [value.undefined]"


def test_a_model_without_findings() -> None:
    report = check(helper.make_model(helper.make_graph([], "g", [], []), ir_version=10))
    assert (report.ok, list(report), report.counts, str(report)) == (True, [], {}, "no findings")
    report.raise_if_failed()


def test_raise_if_failed() -> None:
    report = check(broken())
    with pytest.raises(onnxmap.CheckError, match="1 error, 1 warning, 1 hint") as caught:
        report.raise_if_failed()
    assert (caught.value.code, caught.value.report) == ("check.failed", report)
    assert isinstance(caught.value, ValueError)
    check(broken(), ignore="value.*").raise_if_failed()  # warnings are no failure


def test_many_findings_are_counted() -> None:
    report = check(broken(1200))
    assert report.counts["value.undefined"] == 1200
    assert sum(each.rule == "value.undefined" for each in report) == 1000
    lines = str(report).splitlines()
    assert lines[0] == "1200 errors, 1200 warnings, 1200 hints"
    assert lines[1] == (
        "error value.undefined: the node 'n0' uses 'nowhere', which nothing defines "
        "(graph.node[0].input[0])"
    )
    assert (len(lines), lines[11]) == (1 + 2 * 12 + 3, "  and 1190 more")
    assert lines[-2] == "  and 1199 more"  # one hint stands for all
    assert lines[12] == "  Correct the name, or add what defines the value. (IR.md, Nodes)"


@pytest.mark.parametrize("name", ["\u202eabc", "two\nlines", b"\xff"])
def test_names_in_places_are_escaped(name: str | bytes) -> None:
    graph = NodeProto(op_type="If", input=["x"], output=["y"])
    graph.attribute.add(name="then_branch", type=5).g.node.add(output=["z"])
    data = graph.SerializeToString().replace(
        b"\x0a\x0bthen_branch",
        b"\x0a\x0b" + (name if isinstance(name, bytes) else name.encode()).ljust(11),
    )
    model = onnxmap.loads(wire.blob(7, wire.blob(1, data)))
    report = model.check(select="node.op_type")
    (finding,) = report
    for text in (str(report), str(finding)):
        assert text.isprintable() or text.count("\n") == 2
        assert text.isascii()
        text.encode()


def test_rules_are_chosen_by_name() -> None:
    def rules(**options: Any) -> set[str]:
        return {each.rule for each in check(broken(), **options)}

    assert rules(select=["node.*"]) == {"node.trailing_empty"}
    assert rules(select="*", ignore=["value.*", "node.*", "model.*", "*.doc_string"]) == {
        "graph.value_info_inner"
    }
    assert rules(ignore="graph.*") == {"node.trailing_empty", "value.undefined"}
    assert rules(values=True) >= {"tensor.bool_value"}
    assert rules(select="graph.identifier") == set()
    with pytest.raises(ValueError, match=r"no rule is named 'node.output'; did you mean 'node.out"):
        check(broken(), select="node.output")


@pytest.mark.parametrize("names", [[3], [b"value.cycle"], b"value.cycle"])
def test_names_of_rules_are_text(names: Any) -> None:
    for option in ("select", "ignore"):
        with pytest.raises(TypeError, match="the name of a rule is a str"):
            check(broken(), **{option: names})


def test_strict_rules() -> None:
    model = broken()
    model.graph.name = "a graph"
    assert "graph.identifier" not in check(model).counts
    (found,) = (each for each in check(model, strict=True) if each.rule == "graph.identifier")
    assert (found.severity, found.where) == ("hint", "graph")
    assert {rule for rule in RULES if LEVELS[rule] == "strict"} == {
        "model.no_domain", "model.opset_import_domain", "model.producer", "model.metadata_form",
        "graph.identifier", "graph.doc_string", "attribute.doc_string",
    }  # fmt: skip


def test_edits_are_checked() -> None:
    model = onnxmap.loads(broken().SerializeToString())
    del model.proto.graph.value_info[:]
    model.graph.nodes[0].inputs[:] = ["flag"]
    model.graph.nodes[0].op_type = "Not"
    assert model.check().ok
    model.graph.nodes[0].op_type = ""
    assert [each.rule for each in model.check()] == ["node.op_type"]


def test_a_lenient_model_is_checked_like_others() -> None:
    model = broken()
    model.graph.initializer.append(TensorProto(name="long", dims=[1], data_type=2, raw_data=b"12"))
    data = model.SerializeToString()
    for lenient in (False, True):
        report = onnxmap.loads(data, lenient=lenient).check(select="tensor.*")
        assert [each.rule for each in report] == ["tensor.data_size"]


def test_full_asks_onnx_for_shapes() -> None:
    node = helper.make_node("Tile", ["x", "s"], ["y"])  # of which a check knows no shape
    infos = [helper.make_tensor_value_info(name, 1, [6]) for name in ("x", "y")]
    times = numpy_helper.from_array(np.array([2]), "s")
    graph = helper.make_graph([node], "g", infos[:1], infos[1:], [times])
    model = helper.make_model(graph, ir_version=10)
    assert check(model).ok
    report = check(model, full=True)
    assert [each.rule for each in report] == ["onnx.checker"]
    assert "Tile" in report[0].message
    assert check(model, full=True, ignore="onnx.checker").ok
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [12]))
    assert check(model, full=True).ok
    onnx.checker.check_model(model, full_check=True)


def test_the_rule_of_onnx_checker_needs_full() -> None:
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"], unknown=1)],
            "g",
            [helper.make_tensor_value_info("x", 1, [1])],
            [helper.make_tensor_value_info("y", 1, [1])],
        )
    )
    with pytest.raises(ValueError, match=r"onnx\.checker.*full"):
        check(model, select="onnx.checker")
    (finding,) = check(model, select=iter(["onnx.checker"]), full=True)
    assert "unknown" in finding.message
    assert "\n" not in finding.message
    assert check(model, operators=False).ok


def test_a_missing_version_is_one_finding() -> None:
    """Rules of later versions are looked for as in the newest one."""
    model = broken()
    model.graph.initializer[0].data_type = TensorProto.FLOAT8E4M3FN
    model.ClearField("ir_version")
    with_version = broken()
    with_version.graph.initializer[0].data_type = TensorProto.FLOAT8E4M3FN
    assert check(model).counts == {"model.ir_version": 1, **check(with_version).counts}


def test_operator_sets_are_checked() -> None:
    made = onnxmap.new("OperatorSetProto", magic="ONNXOPSET", ir_version=8, opset_version=2)
    assert onnxmap.wrap(made).check().ok
    made.magic = "other"
    assert [each.rule for each in onnxmap.wrap(made).check()] == ["operator_set.magic"]


def test_a_closed_model() -> None:
    model = onnxmap.loads(broken().SerializeToString())
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model.check()


@pytest.mark.parametrize("count", [600, 3000])  # read by one thread, and by several
def test_findings_of_subgraphs_follow_those_of_their_batch(count: int) -> None:
    """A rule keeps its first findings, so how a list is read must not change their order."""
    bad = helper.make_node("Add", ["x"], ["y"])
    body = helper.make_graph([bad], "body", [], [])
    nodes = [helper.make_node("Add", ["x"], [f"y{i}"]) for i in range(count)]
    nodes[100] = helper.make_node("If", ["x"], ["z"], then_branch=body)
    graph = helper.make_graph(nodes, "g", [], [])
    model = onnxmap.loads(helper.make_model(graph).SerializeToString())
    found = [each.where for each in model.check(select="operator.inputs")]
    assert [i for i, where in enumerate(found) if "then_branch" in where] == [511]
