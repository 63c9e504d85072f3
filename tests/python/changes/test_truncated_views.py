"""A mapped file is cut off under its views. NumPy then meets what the documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.faults.bus_errors import ended_by_bus_error
from support.processes.subprocesses import facts_from, run_python

KINDS = ["raw", "external", "floats_in_one_run"]


@pytest.mark.parametrize("kind", KINDS)
def test_pages_that_are_still_there_keep_their_values(tmp_path: Path, kind: str) -> None:
    facts = facts_from(
        """
        from support.faults.cut_model import CutModel
        from support.models.paged import PAGE
        cut = CutModel(sys.argv[1], pages=3, kind=sys.argv[2])
        count = (3 * PAGE - cut.tensor.offset) // cut.view.itemsize
        before = cut.view[:count].tobytes()
        read = cut.read()
        right = cut.one.values[:count].tobytes()
        after = cut.view[:count].tobytes()
        report(read=read, count=count, before=before == right, after=after == right)
        """,
        str(tmp_path),
        kind,
    )
    assert facts["count"] > 1_000
    assert facts == {"read": "changed", "count": facts["count"], "before": True, "after": True}


EARLIER = {
    "nothing": "",
    "a copy that failed": "assert cut.read() == 'changed'",
    "many copies that failed": "assert {cut.read() for _ in range(100)} == {'changed'}",
    "a conversion that failed": """
try:
    cut.tensor.numpy(dtype='f8')
except onnxmap.FileChangedError:
    pass
""",
    "a copy in another thread": """
import threading
thread = threading.Thread(target=cut.read)
thread.start()
thread.join()
""",
}
TOUCH = """
import onnxmap
from support.faults.cut_model import CutModel
cut = CutModel(sys.argv[1], pages=3, kind=sys.argv[2])
{earlier}
print("before", flush=True)
float(cut.view[-1])
print("after", flush=True)
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("earlier", EARLIER)
def test_numpy_meets_the_lost_pages_of_a_view(tmp_path: Path, earlier: str, kind: str) -> None:
    """Our own faults leave no zeros behind: wrong values would be worse than a crash."""
    result = run_python(TOUCH.format(earlier=EARLIER[earlier]), str(tmp_path), kind)
    assert result.stdout == "before\n", result.stderr
    assert ended_by_bus_error(result), (result.returncode, result.stderr)


def test_a_guard_protects_only_its_own_thread(tmp_path: Path) -> None:
    """One thread copies good tensors in our guarded loops, while another has a fault of its own."""
    result = run_python(
        """
        import faulthandler, os, threading, time
        import onnxmap
        from support.faults.cut_model import CutModel
        from support.readers.in_threads import write_model
        from pathlib import Path
        # With all threads, Python reads the frames of threads that still run, and may never end.
        faulthandler.enable(all_threads=False)
        folder = sys.argv[1]
        os.mkdir(folder + "/good")
        write_model(Path(folder, "good"), 16)
        good = onnxmap.load(folder + "/good/model.onnx", io="mmap").initializers["inside"]
        cut = CutModel(folder)
        assert cut.read() == "changed"
        copies = 0
        def copy():
            global copies
            while True:
                good.numpy(copy=True)
                copies += 1
        for _ in range(2):
            threading.Thread(target=copy, daemon=True).start()
        while copies < 10:
            time.sleep(0.001)
        print("before", flush=True)
        float(cut.view[-1])
        print("after", flush=True)
        """,
        str(tmp_path),
    )
    assert result.stdout == "before\n", result.stderr
    assert ended_by_bus_error(result), (result.returncode, result.stderr)


def test_no_zeros_for_others_while_a_copy_fails(tmp_path: Path) -> None:
    """While one thread copies lost pages, NumPy in another thread must not read zeros for them."""
    facts = facts_from(
        """
        import faulthandler, os, threading, time, warnings
        from pathlib import Path
        import onnxmap
        from support.tensors.stored import write_sparse
        faulthandler.disable()
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy has threads of its own
        path = Path(sys.argv[1], "model.onnx")

        def look(delay):
            model = onnxmap.load(path, io="mmap", watch=False)
            tensor = model.initializers["t"]
            view = tensor.numpy()
            os.truncate(path, 1 << 16)
            begun = threading.Event()
            def copy():
                while True:
                    begun.set()
                    try:
                        tensor.numpy(copy=True)
                    except onnxmap.FileChangedError:
                        pass
            threading.Thread(target=copy, daemon=True).start()
            begun.wait()
            time.sleep(delay)
            return "zero" if view[-1] == 0 else "something else"

        ends = {"zero": 0, "something else": 0, "none": 0}
        for turn in range(40):
            write_sparse(path, "FLOAT", [32 << 20], b"\\1" * 8)
            child = os.fork()
            if child == 0:
                os._exit(100 + list(ends).index(look(0.001 * (turn % 20))))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            ends[list(ends)[status - 100] if 100 <= status < 102 else "none"] += 1
        report(**ends)
        """,
        str(tmp_path),
    )
    assert facts == {"zero": 0, "something else": 0, "none": 40}


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_continues_after_failed_readings(tmp_path: Path, kind: str) -> None:
    """After failed readings, a good model opens. Models that are dropped leave nothing behind."""
    facts = facts_from(
        """
        import gc, os
        from pathlib import Path
        import onnxmap
        from support.faults.cut_model import CutModel
        from support.models.paged import stored
        folder, kind = sys.argv[1:]

        def turn():
            cut = CutModel(folder, kind=kind)
            return {cut.read() for _ in range(5)}

        def state():
            gc.collect()
            with open("/proc/self/maps") as maps:
                return len(os.listdir("/proc/self/fd")), maps.read().count(folder)

        read = turn()
        before = state()
        for _ in range(50):
            read |= turn()
        after = state()
        one = stored(kind)
        one.write(Path(folder))
        good = onnxmap.load(folder + "/model.onnx").initializers["t"].numpy(copy=True)
        report(read=sorted(read), before=before, after=after, good=bool((good == one.values).all()))
        """,
        str(tmp_path),
        kind,
    )
    assert facts["read"] == ["changed"]
    assert facts["good"]
    assert facts["before"] == facts["after"]
    assert facts["after"][1] == 0


def test_a_fork_of_a_process_with_a_cut_model(tmp_path: Path) -> None:
    facts = facts_from(
        """
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy has threads of its own
        from support.faults.cut_model import CutModel
        def in_a_child(work):
            child = os.fork()
            if child == 0:
                os._exit(0 if work() else 1)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        cut = CutModel(sys.argv[1], pages=16)  # all but the end
        first = in_a_child(lambda: cut.read() == "changed")
        os.truncate(sys.argv[1] + "/model.onnx", 0)
        parent = cut.read()
        second = in_a_child(lambda: cut.read() == "changed")
        def cut_another():
            os.mkdir(sys.argv[1] + "/other")
            return CutModel(sys.argv[1] + "/other").read() == "changed"
        report(first=first, parent=parent, second=second, third=in_a_child(cut_another),
               after=cut.read())
        """,
        str(tmp_path),
    )
    assert facts == {"first": 0, "parent": "changed", "second": 0, "third": 0, "after": "changed"}
