"""Runs `onnxmap` and ends the process, without any clean-up, at the n-th change of a name.

Arguments: n, "before" or "after" the change, and the words of the command line. The exit status is
9 if the process ended so, else that of the command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from onnxmap import _core
from onnxmap.cli import main

CHANGES = ((_core, "rename_file"), (_core, "remove_file"))


def _crashing(change: Callable[..., Any], left: list[int], when: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and when == "before":
            os._exit(9)
        change(*arguments, **options)
        if left[0] == 0:
            os._exit(9)

    return call


if __name__ == "__main__":
    count, when, *words = sys.argv[1:]
    left = [int(count)]
    for module, name in CHANGES:
        setattr(module, name, _crashing(getattr(module, name), left, when))
    sys.exit(main(words))
