"""Runs Python code in a child process: for crashes, memory peaks and interpreter exits."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

PRELUDE = '''
import json, resource, sys
sys.path.insert(0, {here!r})

def peak_kib():
    """The highest resident memory so far, in KiB, less what only the parent had."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

def resident_kib(kind="VmRSS"):
    """Resident memory now, in KiB; with `RssFile`, only pages of files."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(kind))

def report(**facts):
    print(json.dumps(facts))

'''


def run_python(
    code: str, *arguments: str, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `code` after the prelude. faulthandler reports crashes on standard error."""
    source = PRELUDE.format(here=str(Path(__file__).parents[2])) + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-c", source, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=os.environ,
    )


def facts_from(code: str, *arguments: str, timeout: float = 120) -> dict[str, Any]:
    """What `code` reports by calling `report(...)`. The process must end well."""
    result = run_python(code, *arguments, timeout=timeout)
    assert result.returncode == 0, result.stderr
    facts: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return facts


@contextlib.contextmanager
def child(*command: str) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
    """A process with its standard input and output. It is killed if the block leaves it running."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process, process.stdin, process.stdout
        finally:
            process.kill()


def growth_kib(make: str, use: str = "model = onnxmap.loads(data)") -> dict[str, float]:
    """How far the peak rises while `use` runs on the bytes from `make`, without code it touches."""
    code = f"""
    import gc
    import onnxmap
    from support import wire_bytes as wire
    onnxmap.loads(wire.blob(7, b""))
    data = {make}
    gc.collect()
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before, of_files = resident_kib(), resident_kib("RssFile")
    {use}
    growth = peak_kib() - before - (resident_kib("RssFile") - of_files)
    report(growth=growth, size=len(data) / 1024)
    """
    return facts_from(code)
