"""The steps of the demo: what each one costs, and what it proves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

import onnxmap
from onnxmap.cli.demo.model import DemoFiles
from onnxmap.cli.process_memory import Mapping, mappings_of, resident, return_free_memory

Result = TypeVar("Result")


@dataclass(frozen=True)
class Weight:
    """One line of the demo's table."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    is_external: bool
    offset: int | None
    aligned: bool
    first: str


@dataclass(frozen=True)
class Step:
    """The cost of one piece of work."""

    seconds: float
    own_memory: int


@dataclass(frozen=True)
class DemoFacts:
    """The results of the demo. `--json` prints them unchanged."""

    load: Step
    views: Step
    touch: Step
    plain_read: Step
    plain_touch: Step
    node_count: int
    function_count: int
    tensor_count_with_subgraphs: int
    weights: list[Weight]
    weight_bytes: int
    copied_bytes: int
    mapped_bytes: int
    mapped_files: int
    views_inside_mapping: int
    refusal_to_write: str
    alive_after_close: bool


def run_demo(files: DemoFiles) -> DemoFacts:
    """Open the model, view every weight, read every byte, and compare with `read()`."""
    return_free_memory()  # making the model used memory
    model, load = _measured(lambda: onnxmap.load(files.model))
    views, taking_views = _measured(model.views)
    # Before the bytes are read: the addresses alone prove whose memory it is.
    mapped = mappings_of(files.model, files.weights)
    inside = sum(_is_inside(view, mapped) for view in views.values())
    largest, touch = _measured(lambda: _look_at_every_byte(views.values()))

    plain_read, plain_touch = _read_plainly(files)

    tensors = model.initializers
    weights = [_weight(tensors[name], view) for name, view in views.items()]
    copied = sum(tensor.nbytes for tensor in tensors.values() if not tensor.is_view)
    node_count, function_count = len(model.graph.nodes), len(model.functions)
    everywhere = sum(1 for _ in model.tensors())
    nbytes = model.nbytes
    model.close()
    return DemoFacts(
        load=load,
        views=taking_views,
        touch=touch,
        plain_read=plain_read,
        plain_touch=plain_touch,
        node_count=node_count,
        function_count=function_count,
        tensor_count_with_subgraphs=everywhere,
        weights=weights,
        weight_bytes=nbytes,
        copied_bytes=copied,
        mapped_bytes=sum(mapping.end - mapping.start for mapping in mapped),
        mapped_files=len({mapping.path for mapping in mapped}),
        views_inside_mapping=inside,
        refusal_to_write=_refusal_to_write(next(iter(views.values()))),
        alive_after_close=_look_at_every_byte(views.values()) == largest,
    )


def _read_plainly(files: DemoFiles) -> tuple[Step, Step]:
    """The cost of reading the same files by `read()`, and of looking at every byte."""
    contents, reading = _measured(
        lambda: [file.read_bytes() for file in (files.model, files.weights)]
    )
    arrays = [np.frombuffer(content, np.uint8) for content in contents]
    _, looking = _measured(lambda: _look_at_every_byte(arrays))
    return reading, looking


def _measured(work: Callable[[], Result]) -> tuple[Result, Step]:
    before = resident().own
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    return result, Step(seconds, max(resident().own - before, 0))


def _look_at_every_byte(arrays: Iterable[np.ndarray]) -> int:
    """The sum of the largest byte of each array: cheap, but it must read every byte."""
    return sum(int(array.reshape(-1).view(np.uint8).max()) for array in arrays)


def _is_inside(view: np.ndarray, mappings: Iterable[Mapping]) -> bool:
    start: int = view.__array_interface__["data"][0]
    return any(known.start <= start and start + view.nbytes <= known.end for known in mappings)


def _refusal_to_write(view: np.ndarray) -> str:
    try:
        view[...] = 0
    except ValueError as refusal:
        return str(refusal)
    return ""


def _weight(tensor: onnxmap.Tensor, view: np.ndarray) -> Weight:
    return Weight(
        name=tensor.name,
        dtype=str(view.dtype),
        shape=tensor.shape,
        nbytes=tensor.nbytes,
        is_external=tensor.is_external,
        offset=tensor.offset,
        aligned=tensor.is_aligned,
        first=_in_few_digits(view.flat[0]),
    )


def _in_few_digits(value: np.generic) -> str:
    if isinstance(value, (np.integer, np.bool_, np.complexfloating)):
        return str(value)
    return f"{float(value):.3g}"
