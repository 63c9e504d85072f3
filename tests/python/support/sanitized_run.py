"""What a run under sanitizers takes: folders whose tests get bytes from the core, and some cases.

The sanitizers watch the C++ core, and Python takes three times as long under them. A test that
cannot run there, or that C++ tests do under the same sanitizers, says so with `skipif(SANITIZED)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from support.run_options import MEMORY_ONLY

# The folders of a run with ONNXMAP_TEST_MEMORY=1: arrays and bytes go into the core or come out.
# The C++ tests and the fuzz targets read, edit and save whole files, too.
MEMORY = ("bulk", "changes", "external_data", "tensor", "weights")
# Of one test. In the folders of hostile files each case is a trick of its own, and all are run;
# with ONNXMAP_TEST_MEMORY=1 some: fuzz targets read the corpus under the same sanitizers.
MOST_CASES = 1 if MEMORY_ONLY else 50
MOST_HOSTILE = 5 if MEMORY_ONLY else 1 << 32
_HOSTILE = ("wire", "changes")


def left_out_cases(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the cases to leave out of tests that have more than these, spread evenly."""
    cases = defaultdict(list)
    for item in items:
        most = MOST_HOSTILE if item.path.parent.name in _HOSTILE else MOST_CASES
        cases[item.nodeid.partition("[")[0], most].append(item)
    return [
        item
        for (_, most), case in cases.items()
        for i, item in enumerate(case)
        if i * most // len(case) == (i - 1) * most // len(case)
    ]
