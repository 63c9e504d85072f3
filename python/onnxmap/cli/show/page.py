"""Draws the page of `onnxmap show` from the facts that it prints as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import PurePath
from typing import Any

from onnxmap._text import bytes_in_words, counted, escape
from onnxmap.cli.columns import Column, lay_out
from onnxmap.cli.screen import Screen
from onnxmap.cli.text import cut, seconds_in_words

# These keep the page to one screen; --json prints everything.
MOST_LINES = 8
MOST_CHARACTERS = 200
BAR_WIDTH = 20

# Where nodes and tensors are beside the lists of the graph: in the facts, and on the page.
PLACES = {
    "node_attributes": "Constant and other nodes",
    "sparse_initializers": "sparse initializers",
    "subgraphs": "subgraphs",
    "functions": "functions",
    "training": "training",
}

_LABEL_WIDTH = 11  # of the longest label, and a gap
_NARROWEST = 12  # of a name on a small terminal


def page(facts: dict[str, Any], screen: Screen) -> Iterator[str]:
    """Return the lines of the page."""
    room = screen.narrowed(_LABEL_WIDTH)
    for label, lines in _sections(facts, room):
        shown = label
        for line in lines:
            yield screen.styled(shown.ljust(_LABEL_WIDTH), "dim") + line
            shown = ""


def _sections(facts: dict[str, Any], screen: Screen) -> Iterator[tuple[str, Iterable[str]]]:
    yield "model", [_headline(facts, screen)]
    producer = f"{facts['producer_name']} {facts['producer_version']}".strip()
    if producer:
        yield "producer", [_line(producer, screen)]
    yield "versions", [_versions(facts, screen)]
    if facts["doc_string"]:
        yield "about", [_line(facts["doc_string"], screen)]
    yield "graph", [_graph_line(facts, screen)]
    for label in ("inputs", "outputs"):
        yield label, _named([(value["name"], value["type"]) for value in facts[label]], screen)
    if facts["op_counts"]:
        yield "operators", _operators(facts["op_counts"], screen)
    if facts["initializers"]["count"]:
        yield "weights", _weights(facts["initializers"], screen)
    if facts["elsewhere"]:
        yield "elsewhere", _elsewhere(facts["elsewhere"], screen)
    if facts["external_files"]:
        yield "files", _named([_file_row(file) for file in facts["external_files"]], screen)
    if facts["functions"]:
        yield "functions", _named([_function_row(each) for each in facts["functions"]], screen)
    if facts["metadata_props"]:
        yield "metadata", _named(list(facts["metadata_props"].items()), screen)


def _headline(facts: dict[str, Any], screen: Screen) -> str:
    name = escape(PurePath(facts["path"]).name)
    size = f"  {bytes_in_words(facts['nbytes'])}"
    opened = f"  opened in {seconds_in_words(facts['load_seconds'])}"
    name = cut(name, max(screen.width - len(size) - len(opened), _NARROWEST))
    return screen.styled(name, "bold") + size + screen.styled(opened, "green")


def _short(text: str) -> str:
    return cut(escape(text[: 2 * MOST_CHARACTERS]), MOST_CHARACTERS)


def _line(text: str, screen: Screen) -> str:
    return next(lay_out([Column("", [_short(text)], narrowest=1)], screen, headed=False))


def _versions(facts: dict[str, Any], screen: Screen) -> str:
    opsets = (
        f"{domain or 'ai.onnx'} {version}" for domain, version in facts["opset_imports"].items()
    )
    return _line(" · ".join((f"IR {facts['ir_version']}", *opsets)), screen)


def _graph_line(facts: dict[str, Any], screen: Screen) -> str:
    weights = facts["initializers"]
    parts = [
        counted(facts["node_count"], "node"),
        counted(weights["count"], "initializer"),
        bytes_in_words(weights["nbytes"]),
    ]
    return _line(f"{facts['graph_name']}  {' · '.join(parts)}".lstrip(), screen)


def _named(rows: Sequence[tuple[str, str]], screen: Screen) -> Iterator[str]:
    """Lines of names and texts. If there is little room, the names keep it."""
    shown = rows[:MOST_LINES]
    columns = [
        Column(
            "",
            [_short(name or "(unnamed)") for name, _ in shown],
            style="cyan",
            narrowest=_NARROWEST,
        ),
        Column("", [_short(said) for _, said in shown], narrowest=1),
    ]
    yield from lay_out(columns, screen, headed=False)
    yield from _rest(len(rows), screen)


def _operators(op_counts: dict[str, int], screen: Screen) -> Iterator[str]:
    ranked = sorted(op_counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ranked[:MOST_LINES]
    columns = [
        Column("", [_short(name) for name, _ in shown], style="cyan", narrowest=_NARROWEST),
        Column("", [f"{number:,}" for _, number in shown], right=True),
        _bars([number for _, number in shown]),
    ]
    yield from lay_out(columns, screen, headed=False)
    yield from _rest(len(ranked), screen)


def _weights(initializers: dict[str, Any], screen: Screen) -> Iterator[str]:
    by_type = initializers["by_dtype"]
    shown = dict(islice(by_type.items(), MOST_LINES))
    columns = [
        Column("", list(shown), style="cyan"),
        Column("", [f"{sums['count']:,}" for sums in shown.values()], right=True),
        Column("", [bytes_in_words(sums["nbytes"]) for sums in shown.values()], right=True),
        _bars([sums["nbytes"] for sums in shown.values()]),
    ]
    yield from lay_out(columns, screen, headed=False)
    yield from _rest(len(by_type), screen)


def _elsewhere(places: dict[str, dict[str, int]], screen: Screen) -> Iterator[str]:
    rows = []
    for place, sums in places.items():
        parts = [counted(sums["node_count"], "node")] if sums["node_count"] else []
        if sums["count"]:
            parts += [counted(sums["count"], "tensor"), bytes_in_words(sums["nbytes"])]
        rows.append((PLACES[place], " · ".join(parts)))
    yield from _named(rows, screen)
    if any(sums["count"] for sums in places.values()):
        yield screen.styled("'onnxmap ls --all' lists these tensors", "dim")


def _bars(numbers: Sequence[int]) -> Column:
    most = max(numbers)
    return Column("", [_bar(number, most) for number in numbers], style="blue", droppable=True)


def _bar(number: int, most: int) -> str:
    if not number:
        return ""
    return "█" * round(BAR_WIDTH * number / most) or "▏"


def _rest(total: int, screen: Screen) -> Iterator[str]:
    if total > MOST_LINES:
        yield screen.styled(f"… and {total - MOST_LINES:,} more", "dim")


def _file_row(file: dict[str, Any]) -> tuple[str, str]:
    return PurePath(file["path"]).name, file["error"] or bytes_in_words(file["nbytes"])


def _function_row(function: dict[str, Any]) -> tuple[str, str]:
    name = f"{function['domain']}::{function['name']}" if function["domain"] else function["name"]
    return name, counted(function["node_count"], "node")
