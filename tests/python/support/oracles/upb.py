"""Compares onnxmap with upb for one input: the verdict and the canonical form.

The canonical form is the message as upb writes it: known fields by number in their shortest form,
then the unknown fields as in the input. Equal bytes mean equal values, presence and unknown fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from support.hostile.wire_mutator import without_zero_in_groups
from support.oracles.canonical import DESCRIPTORS, parse


@dataclass
class Reading:
    """onnxmap's result for an input: a verdict (empty if accepted), and the canonical form."""

    root: str
    data: bytes
    verdict: str
    form: bytes


def form_of(root: str, data: bytes) -> bytes | None:
    """The canonical form; None if upb refuses the input."""
    message = parse(data, root)
    return None if message is None else message.SerializePartialToString(deterministic=True)


def difference(reading: Reading) -> str:
    """How upb's result differs; empty if it agrees."""
    if reading.verdict and not reading.verdict.startswith(("wire.", "limit.")):
        return reading.verdict
    form = form_of(reading.root, reading.data)
    if form is None:
        return "" if reading.verdict else "upb refuses, onnxmap accepts"
    if reading.verdict:
        return f"upb accepts, onnxmap refuses: {reading.verdict}"
    return "" if form == reading.form else "values differ"


def is_stated_deviation(reading: Reading, read: Callable[[str, bytes], Reading]) -> bool:
    """Whether the only difference is that onnxmap refuses a field number 0 in an unknown group."""
    if reading.verdict != "wire.field_number":
        return False
    mended = without_zero_in_groups(reading.data, DESCRIPTORS[reading.root])
    return mended is not None and difference(read(reading.root, mended)) == ""


def outcome(reading: Reading, read: Callable[[str, bytes], Reading]) -> str:
    """Return "accepted", "rejected", "deviation", or the difference. `read` calls onnxmap again."""
    found = difference(reading)
    if not found:
        return "rejected" if reading.verdict else "accepted"
    return "deviation" if is_stated_deviation(reading, read) else found
