"""The verdicts are the same without openat2, without /proc, and for unprivileged users."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.containment.child import (
    NO_OPENAT2,
    NO_PROC,
    UNPRIVILEGED,
    facts_after,
)
from support.containment.table import POLICIES
from support.processes.subprocesses import facts_from
from support.run_options import EXHAUSTIVE, SANITIZED

pytestmark = pytest.mark.skipif(
    SANITIZED, reason="{link_walk,contained_open}_test do the same in C++"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users may enter. Only their owner may enter pytest's folders."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o777)
        yield Path(path)


def differences_after(*steps: str, folder: Path, policies: Iterable[str] = POLICIES) -> list[str]:
    code = """
    from support.containment.table import build
    report(found=containment_bases.differences_from_a_few(build(folder / "tree"), arguments))
    """
    return facts_after(steps, code, folder, *policies)["found"]


@pytest.mark.parametrize("error", ["ENOSYS", "EPERM", "EINVAL", "EAGAIN"])
def test_openat2_is_refused(folder: Path, error: str) -> None:
    policies = POLICIES if EXHAUSTIVE or error == "ENOSYS" else ["contained"]
    step = f"refuse(OPENAT2, errno.{error})"
    assert differences_after(step, folder=folder, policies=policies) == []


def test_the_filter_really_refuses_openat2() -> None:
    """The tests that use seccomp rely on this."""
    facts = facts_from(
        """
        import ctypes, errno, threading
        from support.faults.seccomp_filter import OPENAT2, refuse
        libc = ctypes.CDLL(None, use_errno=True)
        errors = []
        def call():
            libc.syscall(OPENAT2, -1, None, None, 0)
            errors.append(ctypes.get_errno())
        call()
        waiting = threading.Event()
        thread = threading.Thread(target=lambda: (waiting.wait(), call()))
        thread.start()
        refuse(OPENAT2, errno.ENOSYS)
        waiting.set()
        thread.join()
        call()
        report(errors=errors)
        """
    )
    assert facts["errors"] == [errno.EINVAL, errno.ENOSYS, errno.ENOSYS]


@pytest.mark.parametrize(
    "steps", [(NO_PROC,), (NO_PROC, NO_OPENAT2)], ids=["with openat2", "without openat2"]
)
def test_there_is_no_proc(folder: Path, steps: tuple[str, ...]) -> None:
    assert differences_after(*steps, folder=folder) == []


@pytest.mark.parametrize("steps", [(), (NO_OPENAT2,)], ids=["with openat2", "without openat2"])
def test_without_privileges(folder: Path, steps: tuple[str, ...]) -> None:
    assert differences_after(UNPRIVILEGED, *steps, folder=folder) == []


def test_no_permission(folder: Path) -> None:
    """The error for unreadable files is `ext.permission`. A folder need not be listable."""
    facts = facts_after(
        (UNPRIVILEGED,),
        """
        from support.containment.table import Verdict, difference, opens
        from support.containment.tree import VALUES, model_bytes, write
        folder = folder / "model"
        modes = {"unreadable": 0o000, "write only": 0o222, "executable only": 0o111}
        folders = {"closed": 0o000, "not searchable": 0o444, "not listable": 0o111}
        folder.mkdir()
        for name in folders:
            (folder / name).mkdir()
            write(folder / name / "w.bin", VALUES)
        for name in modes:
            write(folder / name, VALUES)
            (folder / f"link to {name}").symlink_to(name)
        (folder / "link").symlink_to("not searchable/w.bin")
        write(folder / "w.bin", VALUES)
        denied = Verdict("ext.permission")
        table = {name: denied for name in [*modes, *(f"link to {name}" for name in modes)]}
        table |= {"closed/w.bin": denied, "closed/none": denied, "not searchable/w.bin": denied}
        table |= {"link": denied, "not listable/w.bin": opens(), "w.bin": opens()}
        path = folder / "model.onnx"
        path.write_bytes(model_bytes({name: name.encode() for name in table}))
        for name, mode in (modes | folders).items():
            (folder / name).chmod(mode)
        folder.chmod(0o111)
        found = []
        for io in ("auto", "read"):
            model = onnxmap.load(path, io=io)
            for name, verdict in table.items():
                tensor = model.initializers[name]
                place = str(folder / name) if verdict == denied else ""
                found.append(difference(lambda: tensor.numpy().tolist(), verdict, [name, place]))
                try:
                    tensor.numpy()
                except PermissionError as error:
                    if (error.errno, error.filename) != (13, str(folder / name)):
                        found.append(f"{name}: {error.errno} {error.filename}")
        folder.chmod(0o755)
        report(found=[told for told in found if told], count=len(table))
        """,
        folder,
    )
    assert facts["found"] == []
    assert facts["count"] == 12
