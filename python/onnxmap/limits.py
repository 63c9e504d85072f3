"""What a file may ask for before it is refused."""

from __future__ import annotations

_MOST_DEPTH = 1000  # lazily decoded messages recurse that deep when they are printed


class Limits:
    """Bounds on what a file may make us do. Exceeding one raises LimitError, which names it.

    Args:
        tensors: TensorProto messages in a file.
        depth: messages and groups inside each other, below the model; protobuf's own is 100.
        external_entries: `external_data` entries of one tensor.
    """

    __slots__ = ("depth", "external_entries", "tensors")

    def __init__(
        self, *, tensors: int = 1_000_000, depth: int = 100, external_entries: int = 64
    ) -> None:
        if not 0 <= depth <= _MOST_DEPTH:
            raise ValueError(f"depth must be from 0 to {_MOST_DEPTH}, not {depth}")
        if tensors < 0 or external_entries < 0:
            raise ValueError("limits cannot be negative")
        self.tensors = tensors
        self.depth = depth
        self.external_entries = external_entries

    def __repr__(self) -> str:
        limits = ", ".join(f"{name}={getattr(self, name)}" for name in sorted(self.__slots__))
        return f"Limits({limits})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Limits):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.tensors, self.depth, self.external_entries))
