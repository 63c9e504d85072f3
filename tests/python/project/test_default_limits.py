"""The defaults of `Limits` stand in the package and in the core. They are the same."""

from __future__ import annotations

import re
from pathlib import Path

import onnxmap

CPP = Path(__file__).parents[3] / "cpp"
# The core makes no connections.
OF_URLS = {"timeout", "low_speed_limit", "low_speed_time"}
CONSTANTS = {"wire::kDefaultDepth": "wire/tag.hpp"}


def number(text: str) -> int:
    """The value of a C++ number like 1'000 or 1 << 30, or of one of CONSTANTS."""
    if text in CONSTANTS:
        name = text.rpartition(":")[2]
        header = (CPP / CONSTANTS[text]).read_text()
        (text,) = re.findall(rf"inline constexpr [\w:]+ {name} = ([^;]+);", header)
    digits, _, shift = text.replace("'", "").partition(" << ")
    return int(digits) << int(shift or 0)


def test_the_core_has_the_same_default_limits() -> None:
    header = (CPP / "model/load_options.hpp").read_text()
    (limits,) = re.findall(r"struct Limits \{(.*?)\};", header, re.DOTALL)
    in_core = {name: number(value) for name, value in re.findall(r"(\w+) = ([^;]+);", limits)}
    ours = onnxmap.Limits()
    assert in_core == {name: getattr(ours, name) for name in ours.__slots__ if name not in OF_URLS}
