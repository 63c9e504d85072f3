"""`arrays` and `stream` end in the middle: they leave nothing behind, and no byte is wrong."""

from __future__ import annotations

import pytest
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

ROUNDS = 2_000 if LONG else 30 if SANITIZED else 204 if EXHAUSTIVE else 60
WAYS = ["interrupt", "leave", "fail_in_progress", "close_elsewhere", "drop_in_a_cycle", "kill"]


@pytest.fixture(scope="module")
def happened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    code = """
    import os
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # whose threads end at a fork
    from pathlib import Path
    from support.faults.bulk_faulting import Faults
    faults = Faults(Path(sys.argv[1]), seed=1)
    faults.run(int(sys.argv[2]))
    report(waited=faults.longest_wait, **faults.happened)
    """
    folder = tmp_path_factory.mktemp("faults")
    return facts_from(code, str(folder), str(ROUNDS), timeout=3_000 if LONG else 300)


@pytest.mark.parametrize("way", WAYS)
def test_random_ends_leave_nothing_behind(way: str, happened: dict[str, int]) -> None:
    """Each round checks itself. This test checks that enough rounds ended early."""
    assert happened[way] >= ROUNDS // len(WAYS) // 3
