"""Bounds on the time and memory that a file, or its server, may cost."""

from __future__ import annotations

import operator
from typing import Any

_MOST_DEPTH = 200  # printing recurses once per level, and the stack of a thread may be small
_MOST = (1 << 64) - 1


class Limits:
    """Bounds on what a file may make onnxmap do. Exceeding one raises LimitError, which names it.

    Args:
        tensors: TensorProto messages in a file.
        pieces: occurrences of the graph in one file. They merge into one graph.
        depth: levels of messages and groups below the model. The limit of protobuf is 100; at
            most 200.
        external_entries: `external_data` entries of one tensor.
        overlap: the total size of the arrays that `arrays` makes, and of the tensors that `diff`
            reads, may be at most this multiple of the size of their files. Tensors may share bytes,
            and small types may become large ones. At least 1. A total of up to 256 MB is always
            allowed. A tensor with more segments than this number can only be read through its first
            segment.
        dense_bytes: bytes of the array that `to_dense()` makes of a sparse tensor.
        text_bytes: bytes of the text that `str()` or `to_text()` makes of a `.proto`, of what
            `to_dict()` makes of it, and of the paths of `all_nodes()` and `tensors()`. Text may be
            hundreds of times as large as the message, because nested lines are indented.
        timeout: for URLs: seconds that opening the file may take, and then each read of a range.
            None, the default, sets no bound.
        low_speed_limit: for URLs: bytes per second that a server must send at least while a read
            waits for it. 0 allows any speed.
        low_speed_time: for URLs: seconds over which that speed is measured.

    If a server is too slow for one of the last three, TransferTimeoutError, a LimitError, is
    raised.
    """

    __slots__ = (
        "dense_bytes",
        "depth",
        "external_entries",
        "low_speed_limit",
        "low_speed_time",
        "overlap",
        "pieces",
        "tensors",
        "text_bytes",
        "timeout",
    )

    def __init__(
        self,
        *,
        tensors: int = 1_000_000,
        pieces: int = 100_000,
        depth: int = 100,
        external_entries: int = 64,
        dense_bytes: int = 1 << 30,
        overlap: int = 16,
        text_bytes: int = 1 << 30,
        timeout: float | None = None,
        low_speed_limit: int = 1024,
        low_speed_time: float = 60.0,
    ) -> None:
        self.tensors = _bound("tensors", tensors, _MOST)
        self.pieces = _bound("pieces", pieces, _MOST)
        self.depth = _bound("depth", depth, _MOST_DEPTH)
        self.external_entries = _bound("external_entries", external_entries, _MOST)
        self.overlap = max(1, _bound("overlap", overlap, _MOST))
        self.dense_bytes = _bound("dense_bytes", dense_bytes, _MOST)
        self.text_bytes = _bound("text_bytes", text_bytes, _MOST)
        self.timeout = None if timeout is None else _seconds("timeout", timeout)
        self.low_speed_limit = _bound("low_speed_limit", low_speed_limit, _MOST)
        self.low_speed_time = _seconds("low_speed_time", low_speed_time)

    # Without these two, the first pickle protocols refuse a class with slots.
    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__init__(**values)  # type: ignore[misc]

    def __repr__(self) -> str:
        limits = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"Limits({limits})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Limits):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))


def _bound(name: str, value: int, most: int) -> int:
    value = operator.index(value)
    if not 0 <= value <= most:
        raise ValueError(f"{name} must be from 0 to {most}, not {value}")
    return value


def _seconds(name: str, value: float) -> float:
    value = float(value)
    if not value > 0:  # also refuses NaN
        raise ValueError(f"{name} must be a positive number of seconds, not {value}")
    return value
