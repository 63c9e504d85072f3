"""Runs tests of containment in a child process: with other system calls, or as another user."""

from __future__ import annotations

import ctypes
import os
import textwrap
from pathlib import Path
from typing import Any

from support.processes.subprocesses import facts_from

NOBODY = 65534
NO_OPENAT2 = "refuse(OPENAT2, errno.ENOSYS)"
NO_PROC = "os.chroot(folder); os.chdir('/'); folder = '/'"
UNPRIVILEGED = "become_nobody()"

# Everything is imported before the steps, because files may be out of reach afterwards: glob, too,
# which pathlib of Python 3.15 imports when it is needed.
_PREPARE = """
import errno, glob, os
from pathlib import Path
from support.containment.child import become_nobody, may_change_root
folder, steps, *arguments = sys.argv[1:]
if "chroot" in steps and not may_change_root():
    report(skipped="no right to change the root folder")
    sys.exit()
import onnxmap
from support.containment import bases as containment_bases
from support.containment import random_links
from support.faults.seccomp_filter import OPENAT2, refuse
exec(steps)
assert os.path.exists("/proc/self") == ("chroot" not in steps)
folder = Path(folder)
"""


def facts_after(
    steps: tuple[str, ...], code: str, folder: Path, *arguments: str, timeout: float = 120
) -> dict[str, Any]:
    """The report of `code` about `folder`, from a process that first runs these steps."""
    code = _PREPARE + textwrap.dedent(code)
    facts = facts_from(code, str(folder), "\n".join(steps), *arguments, timeout=timeout)
    if "skipped" in facts:
        import pytest  # Imported here: children never get this far, and it takes half a second.

        pytest.skip(facts["skipped"])
    return facts


def become_nobody() -> None:
    """Become an ordinary user, if the tests run as the superuser."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    assert os.geteuid() != 0


def may_change_root() -> bool:
    """Any user may do this in a user namespace, which must be made before there are threads."""
    return os.geteuid() == 0 or ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
