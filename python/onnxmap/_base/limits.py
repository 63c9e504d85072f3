"""Bounds on the time and memory that a file, or its server, may cost."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass
from functools import partial

_MOST_DEPTH = 200  # printing recurses once per level, and the stack of a thread may be small
_MOST = (1 << 64) - 1
_OF_TIME = ("timeout", "low_speed_time")


@dataclass(kw_only=True, slots=True, unsafe_hash=True)
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
        timeout: for URLs: seconds that opening the file, and each later read of a range, may take.
            None, the default, sets no bound.
        low_speed_limit: for URLs: bytes per second that a server must send at least while a read
            waits for it. 0 allows any speed.
        low_speed_time: for URLs: seconds over which that speed is measured.

    If a server is too slow for one of the last three, TransferTimeoutError, a LimitError, is
    raised.
    """

    tensors: int = 1_000_000
    pieces: int = 100_000
    depth: int = 100
    external_entries: int = 64
    dense_bytes: int = 1 << 30
    overlap: int = 16
    text_bytes: int = 1 << 30
    timeout: float | None = None
    low_speed_limit: int = 1024
    low_speed_time: float = 60.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            given = getattr(self, name)
            if name in _OF_TIME:
                checked = None if given is None and name == "timeout" else _seconds(name, given)
            else:
                checked = _bound(name, given, _MOST_DEPTH if name == "depth" else _MOST)
            setattr(self, name, checked)
        self.overlap = max(1, self.overlap)

    # Without this, the first pickle protocols refuse a class with slots.
    def __reduce__(self) -> tuple[object, ...]:
        return partial(Limits, **asdict(self)), ()


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
