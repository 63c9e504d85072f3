"""What a run under sanitizers takes: folders whose tests get bytes from the core, and some cases.

The sanitizers watch the C++ core, and Python takes three times as long under them. A test that
cannot run there, or that C++ tests do under the same sanitizers, says so with `skipif(SANITIZED)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from support.run_options import MEMORY_ONLY

# The folders of a run with ONNXMAP_TEST_MEMORY=1.
MEMORY = (
    "bulk", "changes", "edit", "external_data", "loading", "model", "pickling", "save", "tensor",
    "wire",
)  # fmt: skip
# Of one test; in the folders of hostile files each case is a trick of its own, and all are run.
MOST_CASES = 2 if MEMORY_ONLY else 50
_HOSTILE = ("wire", "changes")


def left_out_cases(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the cases to leave out of tests that have more than `MOST_CASES`, spread evenly."""
    cases = defaultdict(list)
    for item in items:
        if item.path.parent.name not in _HOSTILE:
            cases[item.nodeid.partition("[")[0]].append(item)
    return [
        item
        for case in cases.values()
        for i, item in enumerate(case)
        if i * MOST_CASES // len(case) == (i - 1) * MOST_CASES // len(case)
    ]
