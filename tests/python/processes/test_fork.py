"""A fork while other threads are in onnxmap. The child lacks them, and must not wait for them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from support.processes.forking import write_model
from support.processes.subprocesses import facts_from, run_python
from support.run_options import EXHAUSTIVE, LONG, SANITIZED

pytestmark = pytest.mark.skipif(
    SANITIZED, reason="ASan keeps the marks of stacks whose threads the child lacks"
)

FORKS = int(os.environ.get("ONNXMAP_FORKS", "4"))
FIRST_CALLS = 1000 if LONG else 100 if EXHAUSTIVE else 20
SEED = int(os.environ.get("ONNXMAP_FORKS_SEED", str(time.time_ns() % 10**9 if LONG else 1)))


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


@pytest.mark.parametrize(
    ("call", "module"),
    [
        ("arrays", "onnxmap._read.bulk_arrays"),
        ("arrays", "fractions"),  # of the standard library, below a module of the package
        ("check", "onnxmap._read.checks"),
        ("pickled", "onnxmap._read.pickled_tensors"),
        ("wrong_name", "onnxmap._show.unknown_names"),
        ("save", "onnxmap._files.save"),
        ("bfloat16", "ml_dtypes"),  # the core imports it
        ("text", "google.protobuf"),
        ("url", "fsspec.implementations.memory"),
    ],
)
def test_a_fork_waits_for_an_import(tmp_path: Path, call: str, module: str) -> None:
    facts = facts_from(
        """
        from pathlib import Path
        from support.processes.forking import fork_in_import
        report(end=fork_in_import(Path(sys.argv[1]), *sys.argv[2:]))
        """,
        str(write_model(tmp_path)),
        call,
        module,
    )
    assert facts == {"end": "good"}


def test_a_fork_that_waited_long_enough() -> None:
    """It goes on while another thread imports, and both processes can import afterwards."""
    facts = facts_from(
        """
        import threading, warnings
        from onnxmap._base import later
        from support.processes.forking import Importing, _forked
        warnings.simplefilter("ignore", DeprecationWarning)
        later._PATIENCE = 0.01
        finder = Importing("secrets")
        sys.meta_path.insert(0, finder)
        thread = threading.Thread(target=later.import_module, args=["secrets"])
        thread.start()
        finder.began.wait()
        end = _forked([lambda: later.import_module("colorsys")])
        thread.join()
        report(end=end, in_parent=later.import_module("colorsys").__name__)
        """,
        timeout=60,
    )
    assert facts == {"end": "good", "in_parent": "colorsys"}


def test_a_fork_while_an_import_logs(tmp_path: Path) -> None:
    """The thread that forks has the lock of `logging`, and the import needs it."""
    (tmp_path / "tqdm").mkdir()
    (tmp_path / "tqdm/__init__.py").touch()
    text = "import logging, secrets\nlogging.getLogger('tqdm')\nraise ImportError"
    (tmp_path / "tqdm/auto.py").write_text(text)
    result = run_python(
        """
        from pathlib import Path
        from support.processes.forking import fork_in_import
        assert "logging" not in sys.modules
        path = Path(sys.argv[1])
        sys.path.insert(0, str(path.parent))
        assert fork_in_import(path, "bar", "secrets") == "good"
        """,
        str(write_model(tmp_path)),
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


@pytest.mark.parametrize("with_libraries", [False, True])
def test_first_calls_in_the_child(tmp_path: Path, with_libraries: bool) -> None:
    forks = FIRST_CALLS if EXHAUSTIVE or not with_libraries else 4
    result = run_python(
        """
        from pathlib import Path
        from support.processes.forking import fork_in_first_calls_of_children
        ends = fork_in_first_calls_of_children(
            Path(sys.argv[1]), *map(int, sys.argv[2:4]), with_libraries=sys.argv[4] == "True"
        )
        report(**ends)
        """,
        str(write_model(tmp_path)),
        str(SEED),
        str(forks),
        str(with_libraries),
        timeout=120 + 20 * forks,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"good": forks}
    assert result.stderr == ""


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
