"""Draws the results of the demo, in the order of its steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from onnxmap._text import bytes_in_words
from onnxmap.cli.demo.steps import DemoFacts, Step, Weight
from onnxmap.cli.screen import draw
from onnxmap.cli.text import count, seconds_in_words, shape_in_words

if TYPE_CHECKING:
    from rich.console import Console

# All layers are alike, so the table shows only the first one.
SHOWN_LAYER, OTHER_LAYERS = "layers.0.", "layers."


def draw_demo(screen: Console, sizes: Mapping[str, int], facts: DemoFacts, *, kept: bool) -> None:
    """Print the whole page."""
    draw(screen, Panel.fit(_files(sizes, kept=kept), title="onnxmap demo", border_style="blue"))
    draw(screen, _done('model = onnxmap.load("demo.onnx")', facts.load))
    draw(screen, _found(facts))
    draw(screen, _done("views = model.views()", facts.views))
    draw(screen, _taken(facts))
    draw(screen, _weights(facts.weights))
    for proof in _proofs(facts):
        draw(screen, proof)
    draw(screen, Text())
    draw(screen, _comparison(facts))


def _files(sizes: Mapping[str, int], *, kept: bool) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    total = bytes_in_words(sum(sizes.values()))
    kind = "A small language model with random weights" + ("" if kept else ", gone after this")
    table.add_row(kind, total, style="bold")
    for path, nbytes in sizes.items():
        table.add_row(path, bytes_in_words(nbytes), style="dim")
    return table


def _done(code: str, step: Step) -> Text:
    return Text.assemble("\n", (code, "bold cyan"), "  ", (seconds_in_words(step.seconds), "green"))


def _found(facts: DemoFacts) -> Text:
    more = facts.tensor_count_with_subgraphs - len(facts.weights)
    parts = [
        count(facts.node_count, "node"),
        count(facts.function_count, "function"),
        f"{count(len(facts.weights), 'initializer')}, {more} more in a subgraph",
    ]
    return Text(f"  {' · '.join(parts)}")


def _taken(facts: DemoFacts) -> Text:
    types = len({weight.dtype for weight in facts.weights})
    return Text(
        f"  {count(len(facts.weights), 'array')} of {types} element types · "
        f"{bytes_in_words(facts.mapped_bytes)} mapped from {count(facts.mapped_files, 'file')}, "
        f"{bytes_in_words(facts.copied_bytes)} copied\n"
    )


def _weights(weights: Sequence[Weight]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("dtype", no_wrap=True)
    table.add_column("shape", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("where", no_wrap=True)
    table.add_column("first", justify="right", no_wrap=True)
    left_out = 0
    for weight in weights:
        if weight.name.startswith(OTHER_LAYERS) and not weight.name.startswith(SHOWN_LAYER):
            left_out += 1
            continue
        table.add_row(
            weight.name,
            weight.dtype,
            shape_in_words(weight.shape),
            bytes_in_words(weight.nbytes),
            "external" if weight.is_external else "inline",
            weight.first,
        )
    if left_out:
        table.add_row(Text(f"… {left_out} like layers.0", style="dim"))
    return table


def _proofs(facts: DemoFacts) -> Iterator[Text]:
    total = len(facts.weights)
    yield Text()
    yield _proof(
        facts.views_inside_mapping == total,
        f"{facts.views_inside_mapping} of {total} arrays lie inside the mapped files, "
        "as /proc/self/maps shows",
    )
    yield _proof(
        bool(facts.refusal_to_write),
        f"writing to a view is refused: {facts.refusal_to_write or 'it is not!'}",
    )
    yield _proof(facts.alive_after_close, "the arrays outlive the model: close() left them intact")


def _proof(holds: bool, text: str) -> Text:
    mark, style = ("✓", "green") if holds else ("✗", "red")
    return Text.assemble("  ", (mark, style), f" {text}")


def _comparison(facts: DemoFacts) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("  what it took", no_wrap=True)
    table.add_column("all at hand", justify="right", no_wrap=True)
    table.add_column("every byte seen", justify="right", no_wrap=True)
    table.add_column("own memory", justify="right", no_wrap=True)
    rows = (
        ("onnxmap, views of the files", "bold", [facts.load, facts.views], facts.touch),
        ("read(), copies of the files", "", [facts.plain_read], facts.plain_touch),
    )
    for label, style, available, touch in rows:
        at_hand = sum(step.seconds for step in available)
        memory = sum(step.own_memory for step in (*available, touch))
        table.add_row(
            f"  {label}",
            seconds_in_words(at_hand),
            seconds_in_words(at_hand + touch.seconds),
            bytes_in_words(memory),
            style=style,
        )
    return table
