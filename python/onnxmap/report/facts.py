"""Facts about a model for its report: what it is, its operators, findings and files."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from onnxmap._base.text import bytes_in_words, qualified, type_in_words
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxmap._core import ValueInfo
    from onnxmap._files.model import Model
    from onnxmap._read.checks import CheckReport

_MOST = 100  # entries of a list
_MOST_OPERATORS = 30
_MOST_FINDINGS = 5  # of one rule


def facts_of(model: Model) -> dict[str, Any]:
    """Return what the page says about the model besides its weights."""
    graph = model.graph
    opsets = (f"{name or 'ai.onnx'} {number}" for name, number in model.opset_imports.items())
    report = model.check()
    counts = sorted(graph.op_counts().items(), key=lambda item: (-item[1], item[0]))
    files, reason = _files(model)
    is_file = model.path is not None and not model.edited and model.format == "protobuf"
    size = bytes_in_words(model.proto.ByteSize()) + (" and data files" if files else "")
    return {
        "facts": {
            "file size" if is_file else "size as protobuf": size,
            "parameters": f"{model.num_parameters:,}",
            "producer": f"{model.producer_name} {model.producer_version}".strip(),
            "versions": ", ".join([f"IR {model.ir_version}", *opsets]),
            "model version": model.model_version,
            "domain": model.domain,
            "graph": graph.name,
            "about": model.doc_string or graph.doc_string,
        },
        "node_count": len(graph.nodes),
        "interface": [("Inputs", *_values(graph.inputs)), ("Outputs", *_values(graph.outputs))],
        "functions": [
            (qualified(each.domain, each.name), len(each.nodes)) for each in model.functions[:_MOST]
        ],
        "function_count": len(model.functions),
        "metadata": list(model.metadata_props.items())[:_MOST],
        "operators": counts[:_MOST_OPERATORS],
        "other_operators": counts[_MOST_OPERATORS:],
        "verdict": report.summary(),
        "findings": _findings(report),
        "files": files,
        "no_use": reason,
    }


def _values(values: Sequence[ValueInfo]) -> tuple[list[tuple[str, str]], int]:
    """Names and types of the first ones, and how many there are."""
    return [(value.name, type_in_words(value.type)) for value in values[:_MOST]], len(values)


def _findings(report: CheckReport) -> list[tuple[str, str, int, list[tuple[str, str]]]]:
    """For each rule that is broken: severity, name, how often, and the first places."""
    by_rule: dict[str, list[Any]] = {}
    for each in report.findings:
        by_rule.setdefault(each.rule, []).append(each)
    return [
        (
            found[0].severity, rule, report.counts[rule],
            [(each.where, each.message) for each in found[:_MOST_FINDINGS]],
        )
        for rule, found in by_rule.items()
    ]  # fmt: skip


def _files(model: Model) -> tuple[list[tuple[str, int | None, int | None, str]], str]:
    """For each data file: name, size, unused bytes, and why it cannot be opened."""
    unused, reason = {}, ""
    try:
        unused = model.unused_bytes()
    except (OnnxMapError, OSError) as error:
        reason = str(error)
    found = model.data_files()[:_MOST]
    rows = []
    for each in found:
        name = each.path if each.opened is None else PurePath(each.path).name
        rows.append((name, each.nbytes, unused.get(each.path), str(each.failure or "")))
    return rows, reason
