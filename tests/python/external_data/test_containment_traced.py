"""Nothing outside the allowed folders is opened. The kernel's trace of system calls proves it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.containment.child import NO_OPENAT2
from support.containment.table import build
from support.run_options import SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="contained_open_test does the same in C++")

READ_THE_TABLE = """
import contextlib, errno, os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.containment.bases import differences_from_a_few
from support.containment.tree import Tree
from support.faults.seccomp_filter import OPENAT2, refuse
exec(sys.argv[3])
with contextlib.suppress(FileNotFoundError):
    os.open("/from here on", os.O_PATH)
for told in differences_from_a_few(Tree(Path(sys.argv[2])), sys.argv[4].split(",")):
    print(told)
"""


SPECIAL = r"pipe|socket|device|/dev/|/proc/(?!self/fd/)"
FORBIDDEN = {
    "contained,strict": f"canary|/outside/|/etc/|hard link|{SPECIAL}",
    "trusted": f"/etc/|{SPECIAL}",
}


def can_trace() -> bool:
    strace = shutil.which("strace")
    return (
        strace is not None
        and subprocess.run([strace, "-o", "/dev/null", "true"], check=False).returncode == 0
    )


@pytest.mark.skipif(not can_trace(), reason="no strace, or it may not trace here")
@pytest.mark.parametrize("step", ["", NO_OPENAT2], ids=["with openat2", "without openat2"])
@pytest.mark.parametrize("policies", FORBIDDEN)
def test_nothing_outside_is_opened(tmp_path: Path, policies: str, step: str) -> None:
    """With trusted links, targets are located (O_PATH) and refused; otherwise not even located."""
    build(tmp_path / "tree")
    log = tmp_path / "log"
    trace = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=open,openat,openat2,creat"]
    here = str(Path(__file__).parents[1])
    done = subprocess.run(
        [
            *trace,
            sys.executable,
            "-c",
            READ_THE_TABLE,
            here,
            str(tmp_path / "tree"),
            step,
            policies,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    calls = log.read_text().split("/from here on", 1)[1].splitlines()
    opened = [call for call in calls if "open" in call and "O_PATH" not in call]
    good = [call for call in opened if re.search(r" = \d+<.*/model/w\.bin>$", call)]
    assert len(good) > 100, "the trace does not show what was opened"
    assert [call for call in opened if re.search(FORBIDDEN[policies], call)] == []
    if policies != "trusted":
        assert [call for call in calls if re.search(r" = \d+<.*/outside", call)] == []
