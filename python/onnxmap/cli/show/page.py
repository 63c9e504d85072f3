"""Draws the page of `onnxmap show` from the facts that it prints as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from onnxmap._text import bytes_in_words, escape
from onnxmap.cli.text import count, cut, seconds_in_words

if TYPE_CHECKING:
    from rich.console import RenderableType

# These keep the page to one screen; --json prints everything.
MOST_LINES = 8
MOST_CHARACTERS = 200
BAR_WIDTH = 20


def page(facts: dict[str, Any]) -> RenderableType:
    """Return the page, for rich to print."""
    sections = Table.grid(padding=(0, 2))
    sections.add_column(style="dim", no_wrap=True)
    sections.add_column()
    for label, content in _sections(facts):
        sections.add_row(label, content)
    return sections


def _sections(facts: dict[str, Any]) -> Iterable[tuple[str, RenderableType]]:
    yield "model", _headline(facts)
    producer = f"{facts['producer_name']} {facts['producer_version']}".strip()
    if producer:
        yield "producer", _line(producer)
    yield "versions", _versions(facts)
    if facts["doc_string"]:
        yield "about", _line(facts["doc_string"])
    yield "graph", _graph_line(facts)
    yield "inputs", _named([(value["name"], value["type"]) for value in facts["inputs"]])
    yield "outputs", _named([(value["name"], value["type"]) for value in facts["outputs"]])
    if facts["op_counts"]:
        yield "operators", _operators(facts["op_counts"])
    if facts["initializers"]["count"]:
        yield "weights", _weights(facts["initializers"])
    if facts["external_files"]:
        yield "files", _named([_file_row(file) for file in facts["external_files"]])
    if facts["functions"]:
        yield "functions", _named([_function_row(function) for function in facts["functions"]])
    if facts["metadata_props"]:
        yield "metadata", _named(list(facts["metadata_props"].items()))


def _headline(facts: dict[str, Any]) -> Text:
    return Text.assemble(
        (escape(PurePath(facts["path"]).name), "bold"),
        f"  {bytes_in_words(facts['nbytes'])}",
        (f"  opened in {seconds_in_words(facts['load_seconds'])}", "green"),
        no_wrap=True,
        overflow="ellipsis",
    )


def _line(text: str) -> Text:
    shown = cut(escape(text[: 2 * MOST_CHARACTERS]), MOST_CHARACTERS)
    return Text(shown, no_wrap=True, overflow="ellipsis")


def _versions(facts: dict[str, Any]) -> Text:
    opsets = (
        f"{domain or 'ai.onnx'} {version}" for domain, version in facts["opset_imports"].items()
    )
    return _line(" · ".join((f"IR {facts['ir_version']}", *opsets)))


def _graph_line(facts: dict[str, Any]) -> Text:
    weights = facts["initializers"]
    parts = [
        count(facts["node_count"], "node"),
        count(weights["count"], "initializer"),
        bytes_in_words(weights["nbytes"]),
    ]
    return _line(f"{facts['graph_name']}  {' · '.join(parts)}".lstrip())


def _named(rows: Sequence[tuple[str, str]]) -> Table:
    """A table of names and texts. If there is little room, the names keep it."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True, overflow="ellipsis")
    for name, said in islice(rows, MOST_LINES):
        table.add_row(_line(name or "(unnamed)"), _line(said))
    _add_rest(table, len(rows))
    return table


def _operators(op_counts: dict[str, int]) -> Table:
    table = _bar_table(numbers=1)
    ranked = sorted(op_counts.items(), key=lambda item: (-item[1], item[0]))
    most = ranked[0][1]
    for name, number in ranked[:MOST_LINES]:
        table.add_row(_line(name), f"{number:,}", _bar(number, most))
    _add_rest(table, len(ranked))
    return table


def _weights(initializers: dict[str, Any]) -> Table:
    table = _bar_table(numbers=2)
    by_type = initializers["by_dtype"]
    most = max(sums["nbytes"] for sums in by_type.values())
    for name, sums in islice(by_type.items(), MOST_LINES):
        size = bytes_in_words(sums["nbytes"])
        table.add_row(name, f"{sums['count']:,}", size, _bar(sums["nbytes"], most))
    _add_rest(table, len(by_type))
    return table


def _bar_table(numbers: int) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True, overflow="ellipsis")
    for _ in range(numbers):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(style="blue", no_wrap=True)
    return table


def _bar(number: int, most: int) -> str:
    if not number:
        return ""
    return "█" * round(BAR_WIDTH * number / most) or "▏"


def _add_rest(table: Table, total: int) -> None:
    if total > MOST_LINES:
        table.add_row(Text(f"… and {total - MOST_LINES:,} more", style="dim"))


def _file_row(file: dict[str, Any]) -> tuple[str, str]:
    size = "missing" if file["nbytes"] is None else bytes_in_words(file["nbytes"])
    return PurePath(file["path"]).name, size


def _function_row(function: dict[str, Any]) -> tuple[str, str]:
    name = f"{function['domain']}::{function['name']}" if function["domain"] else function["name"]
    return name, count(function["node_count"], "node")
