"""Draws the results of the demo, in the order of its steps."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence

from onnxmap._text import bytes_in_words, counted
from onnxmap.cli.columns import Column, lay_out
from onnxmap.cli.demo.steps import DemoFacts, Step, Weight
from onnxmap.cli.screen import Screen
from onnxmap.cli.text import seconds_in_words, shape_in_words

# A few rows show what there is; `onnxmap ls` lists all.
SHOWN = ("embedding.weight", "layers.0.up.weight", "sample.")
MOST_SAMPLES = 4


def page(
    screen: Screen, sizes: Mapping[str, int], facts: DemoFacts, *, kept: bool
) -> Iterator[str]:
    """Return the lines of the whole page."""
    yield from _files(screen, sizes, kept=kept)
    yield ""
    yield _done(screen, 'model = onnxmap.load("demo.onnx")', facts.load)
    yield _found(facts)
    yield ""
    yield _done(screen, "views = model.views()", facts.views)
    yield _taken(facts)
    yield ""
    yield from _weights(screen, facts.weights)
    yield ""
    yield from _proofs(screen, facts)
    yield ""
    yield from _comparison(screen, facts)
    yield ""
    yield from _next_steps(screen, next(iter(sizes)), kept=kept)


def _files(screen: Screen, sizes: Mapping[str, int], *, kept: bool) -> Iterator[str]:
    total = bytes_in_words(sum(sizes.values()))
    kind = "A small language model with random weights" + ("" if kept else ", gone after this")
    yield screen.styled(f"{kind}  {total}", "bold")
    columns = [
        Column("", list(sizes), style="dim", narrowest=20),
        Column("", [bytes_in_words(nbytes) for nbytes in sizes.values()], right=True, style="dim"),
    ]
    yield from lay_out(columns, screen, headed=False)


def _done(screen: Screen, code: str, step: Step) -> str:
    took = screen.styled(seconds_in_words(step.seconds), "green")
    return f"{screen.styled(code, 'bold cyan')}  {took}"


def _found(facts: DemoFacts) -> str:
    more = facts.tensor_count_with_subgraphs - len(facts.weights)
    parts = [
        counted(facts.node_count, "node"),
        counted(facts.function_count, "function"),
        f"{counted(len(facts.weights), 'initializer')}, {more} more in a subgraph",
    ]
    return f"  {' · '.join(parts)}"


def _taken(facts: DemoFacts) -> str:
    types = len({weight.dtype for weight in facts.weights})
    return (
        f"  {counted(len(facts.weights), 'array')} of {types} element types · "
        f"{bytes_in_words(facts.mapped_bytes)} mapped from {counted(facts.mapped_files, 'file')}, "
        f"{bytes_in_words(facts.copied_bytes)} copied"
    )


def _weights(screen: Screen, weights: Sequence[Weight]) -> Iterator[str]:
    shown: list[Weight] = []
    for begin in SHOWN:
        shown += [weight for weight in weights if weight.name.startswith(begin)][:MOST_SAMPLES]
    columns = [
        Column("name", [weight.name for weight in shown], style="cyan", narrowest=20),
        Column("dtype", [weight.dtype for weight in shown]),
        Column("shape", [shape_in_words(weight.shape) for weight in shown]),
        Column("size", [bytes_in_words(weight.nbytes) for weight in shown], right=True),
        Column("where", ["external" if weight.is_external else "inline" for weight in shown]),
        Column("first", [weight.first for weight in shown], right=True, droppable=True),
    ]
    yield from lay_out(columns, screen)
    yield screen.styled(f"… {len(weights) - len(shown)} more", "dim")


def _proofs(screen: Screen, facts: DemoFacts) -> Iterator[str]:
    total = len(facts.weights)
    yield _proof(
        screen,
        facts.views_inside_mapping == total,
        f"{facts.views_inside_mapping} of {total} arrays lie inside the mapped files, "
        "as /proc/self/maps shows",
    )
    yield _proof(
        screen,
        bool(facts.refusal_to_write),
        f"writing to a view is refused: {facts.refusal_to_write or 'it is not!'}",
    )
    yield _proof(
        screen, facts.alive_after_close, "the arrays outlive the model: close() left them intact"
    )


def _proof(screen: Screen, holds: bool, text: str) -> str:
    mark, style = ("✓", "green") if holds else ("✗", "red")
    return f"  {screen.styled(mark, style)} {text}"


def _comparison(screen: Screen, facts: DemoFacts) -> Iterator[str]:
    rows = (
        ("onnxmap, views of the files", [facts.load, facts.views], facts.touch),
        ("read(), copies of the files", [facts.plain_read], facts.plain_touch),
    )
    at_hand = [sum(step.seconds for step in available) for _, available, _ in rows]
    seen = [at + touch.seconds for at, (_, _, touch) in zip(at_hand, rows, strict=True)]
    memory = [sum(step.own_memory for step in (*steps, touch)) for _, steps, touch in rows]
    columns = [
        Column("  what it took", [f"  {label}" for label, _, _ in rows]),
        Column("all at hand", list(map(seconds_in_words, at_hand)), right=True),
        Column("every byte seen", list(map(seconds_in_words, seen)), right=True),
        Column("own memory", list(map(bytes_in_words, memory)), right=True),
    ]
    yield from lay_out(columns, screen)


def _next_steps(screen: Screen, path: str, *, kept: bool) -> Iterator[str]:
    yield screen.styled("next", "bold")
    if not kept:
        path = "demo.onnx"
        yield "  onnxmap demo --keep .   # leave the model here"
    in_shell, in_python = shlex.quote(path), json.dumps(path, ensure_ascii=False)
    yield f"  onnxmap show {in_shell}"
    yield f"  onnxmap ls {in_shell} 'layers.0.*'"
    yield "  python -c " + shlex.quote(f"import onnxmap; print(onnxmap.load({in_python}))")
