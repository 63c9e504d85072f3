"""A fork while other threads are in onnxmap. The child lacks them, and must not wait for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.processes.subprocesses import facts_from
from support.run_options import SANITIZED

pytestmark = pytest.mark.skipif(
    SANITIZED, reason="ASan keeps the marks of stacks whose threads the child lacks"
)

FORKS = int(os.environ.get("ONNXMAP_FORKS", "4"))


@pytest.mark.parametrize("mode", ["mmap", "read"])
def test_every_call_works_in_the_child(tmp_path: Path, mode: str) -> None:
    facts = facts_from(
        """
        from pathlib import Path
        from support.processes.forking import fork_while_busy, write_model
        path = write_model(Path(sys.argv[1]))
        report(**fork_while_busy(path, sys.argv[2], int(sys.argv[3])))
        """,
        str(tmp_path),
        mode,
        str(FORKS),
        timeout=120 + 10 * FORKS,
    )
    assert facts == {"good": FORKS}


def test_a_signal_handler_that_forks(tmp_path: Path) -> None:
    """Python runs the handler while a call waits for its threads, which the child lacks."""
    facts = facts_from(
        """
        import os, signal, warnings
        from pathlib import Path
        import onnxmap
        from support.readers.in_threads import write_model
        warnings.simplefilter("ignore", DeprecationWarning)
        write_model(Path(sys.argv[1]), 32)
        model = onnxmap.load(Path(sys.argv[1], "model.onnx"))
        parent, children = os.getpid(), []

        def fork(*_):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
            else:
                children.append(child)

        signal.signal(signal.SIGALRM, fork)
        ends = set()
        for delay in (0.02, 0.05, 0.1):
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                model.arrays(dtype="float32")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except RuntimeError as error:
                os._exit(0 if os.getpid() != parent and "forked" in str(error) else 1)
            if os.getpid() != parent:
                os._exit(0)  # the call had ended
        for child in children:
            ends.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        report(ends=sorted(ends), children=len(children))
        """,
        str(tmp_path),
    )
    assert facts["children"] >= 1
    assert facts["ends"] == [0]
