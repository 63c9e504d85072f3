"""Our handler of SIGBUS together with others: it handles our faults, and passes on the rest."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.faults.bus_errors import ended_by_bus_error
from support.processes.subprocesses import facts_from, run_python
from support.run_options import SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="fault_handlers.cpp does the same in C++")

TRACE = "Fatal Python error: Bus error"  # for faulthandler
PREPARE = """
import faulthandler, os, signal, sys, threading
from support.faults import bus_errors
{before}
import onnxmap
from support.faults.cut_model import CutModel
folder = sys.argv[1]
cut = CutModel(folder)
{after}
print(cut.read(), cut.read(), flush=True)
"""
TOUCH = "int(bus_errors.emptied_mapping(folder)[0])"
TOUCH_OUR_VIEW = "float(cut.view[0])"
OURS = "changed changed\n"
# The handler of another library. It prints the fault that it was called for, and ends the process.
FOREIGN = """
mapped = None
def handle(address):
    inside = mapped is not None and address == mapped.ctypes.data
    os.write(1, b"foreign fault" if inside else b"fault of another")
    os._exit(42)
bus_errors.install_handler(handle)
"""
TOUCH_WITH_FOREIGN = "mapped = bus_errors.emptied_mapping(folder)\nint(mapped[0])"


def ran(tmp_path: Path, last: str, before: str = "", after: str = "") -> tuple[str, str, bool, int]:
    """Output, errors, whether SIGBUS ended the process, and its status."""
    code = PREPARE.format(before=before, after=after) + last
    result = run_python(code, str(tmp_path))
    return result.stdout, result.stderr, ended_by_bus_error(result), result.returncode


ANOTHER_LOAD = "\ncut = CutModel(folder)"
ORDERS = {
    "enabled before": {"before": "assert faulthandler.is_enabled()"},
    "enabled after": {
        "before": "faulthandler.disable()",
        "after": "assert cut.read() == 'changed'\nfaulthandler.enable()" + ANOTHER_LOAD,
    },
    "enabled again": {
        "after": "cut.read()\nfaulthandler.disable()\nfaulthandler.enable()" + ANOTHER_LOAD
    },
}


@pytest.mark.parametrize("touch", [TOUCH, TOUCH_OUR_VIEW])
@pytest.mark.parametrize("order", ORDERS)
def test_faulthandler(tmp_path: Path, order: str, touch: str) -> None:
    """It reports faults that are not ours, and no others."""
    out, err, ended, _ = ran(
        tmp_path, "print('ours are over', file=sys.stderr, flush=True)\n" + touch, **ORDERS[order]
    )
    assert out == OURS, err
    before, _, after = err.partition("ours are over")
    assert "error" not in before
    assert TRACE in after
    assert ended


def test_faulthandler_enabled_while_a_model_is_open(tmp_path: Path) -> None:
    """Until the next load, its handler comes before ours and may print. The process continues."""
    after = "assert cut.read() == 'changed'\nfaulthandler.enable()"
    out, err, ended, status = ran(tmp_path, "", before="faulthandler.disable()", after=after)
    assert (out, ended, status) == (OURS, False, 0), err


@pytest.mark.parametrize("touch", [TOUCH, TOUCH_OUR_VIEW])
def test_faulthandler_disabled_later(tmp_path: Path, touch: str) -> None:
    """It restores the handler that was there before it. If ours came later, that is not ours."""
    after = "cut.read()\nfaulthandler.disable()" + ANOTHER_LOAD
    out, err, ended, _ = ran(tmp_path, touch, after=after)
    assert out == OURS, err
    assert TRACE not in err
    assert ended


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_handler_of_another_library(tmp_path: Path, when: str) -> None:
    after = "cut.read()\n" + FOREIGN + ANOTHER_LOAD
    installed = {"before": FOREIGN} if when == "before" else {"after": after}
    out, err, _, status = ran(tmp_path, TOUCH_WITH_FOREIGN, **installed)
    assert (out, status) == (OURS + "foreign fault", 42), err


def test_a_fault_in_another_thread_reaches_the_other_handler(tmp_path: Path) -> None:
    touch = "mapped = bus_errors.emptied_mapping(folder)\n" + (
        "thread = threading.Thread(target=lambda: int(mapped[0]))\nthread.start()\nthread.join()"
    )
    out, err, _, status = ran(tmp_path, touch, before=FOREIGN)
    assert (out, status) == (OURS + "foreign fault", 42), err


HANDLE_IN_PYTHON = "signal.signal(signal.SIGBUS, lambda number, frame: print('got', number))"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_sent_signal_reaches_a_handler_in_python(tmp_path: Path, when: str) -> None:
    after = "cut.read()\n" + HANDLE_IN_PYTHON + ANOTHER_LOAD
    handler = {"before": HANDLE_IN_PYTHON} if when == "before" else {"after": after}
    last = "os.kill(os.getpid(), signal.SIGBUS)\nprint('alive', cut.read())"
    out, err, _, status = ran(tmp_path, last, **handler)
    assert (out, status) == (f"{OURS}got {int(signal.SIGBUS)}\nalive changed\n", 0), err


def test_a_sent_signal_that_is_ignored(tmp_path: Path) -> None:
    ignore = "signal.signal(signal.SIGBUS, signal.SIG_IGN)"
    send = "os.kill(os.getpid(), signal.SIGBUS)\nsignal.raise_signal(signal.SIGBUS)\n"
    out, err, _, status = ran(tmp_path, send + "print('alive', cut.read())", before=ignore)
    assert (out, status) == (OURS + "alive changed\n", 0), err


@pytest.mark.parametrize("touch", [TOUCH, TOUCH_OUR_VIEW])
def test_a_fault_is_not_ignored(tmp_path: Path, touch: str) -> None:
    """The kernel never ignores a fault, because the instruction could not continue."""
    ignore = "signal.signal(signal.SIGBUS, signal.SIG_IGN)"
    out, err, ended, _ = ran(tmp_path, touch, before=ignore)
    assert out == OURS, err
    assert ended


@pytest.mark.parametrize(
    "send", ["os.kill(os.getpid(), signal.SIGBUS)", "signal.raise_signal(signal.SIGBUS)"]
)
def test_a_sent_signal_ends_a_process_that_does_not_expect_it(tmp_path: Path, send: str) -> None:
    out, err, ended, _ = ran(tmp_path, send, before="faulthandler.disable()")
    assert out == OURS, err
    assert ended


def test_a_thread_in_which_all_signals_are_blocked(tmp_path: Path) -> None:
    """Programs may let one thread handle all signals.

    The kernel ends a process if a fault's signal is blocked. Therefore onnxmap unblocks the signal
    of faults, and no other.
    """
    # An editable install rebuilds on import, and its ninja waits for SIGCHLD.
    block = "import onnxmap\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
    last = (
        "blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
        "print(signal.SIGBUS in blocked, signal.SIGTERM in blocked)"
    )
    out, err, _, status = ran(tmp_path, last, before=block)
    assert (out, status) == (OURS + "False True\n", 0), err


def test_nothing_is_installed_before_it_is_needed(tmp_path: Path) -> None:
    facts = facts_from(
        """
        from support.faults import bus_errors
        before = bus_errors.handler_address()
        import onnxmap
        imported = bus_errors.handler_address()
        from support.faults.cut_model import CutModel
        read = CutModel(sys.argv[1]).read()
        report(before=before, imported=imported, after=bus_errors.handler_address(), read=read)
        """,
        str(tmp_path),
        fresh=True,
    )
    assert facts["before"] == facts["imported"] != facts["after"]
    assert facts["read"] == "changed"


def test_it_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a file that is cut off ends the process, as it does without onnxmap."""
    monkeypatch.setenv("ONNXMAP_SIGBUS_HANDLER", "0")
    code = """
    from support.faults import bus_errors
    before = bus_errors.handler_address()
    import onnxmap
    from support.faults.cut_model import CutModel
    from support.models.paged import stored
    from pathlib import Path
    good = stored("raw")
    good.write(Path(sys.argv[1]))
    array = onnxmap.load(sys.argv[1] + "/model.onnx", io="mmap").initializers["t"].numpy(copy=True)
    print((array == good.values).all(), bus_errors.handler_address() == before, flush=True)
    print(CutModel(sys.argv[1]).read())
    """
    result = run_python(code, str(tmp_path))
    assert result.stdout == "True True\n", result.stderr
    assert ended_by_bus_error(result), result.stderr


@pytest.mark.parametrize("value", ["1", ""])
def test_other_values_leave_it_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ONNXMAP_SIGBUS_HANDLER", value)
    assert ran(tmp_path, "")[0] == OURS
