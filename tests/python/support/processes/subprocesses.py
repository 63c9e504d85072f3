"""Runs Python code in a child process: for crashes, memory peaks and interpreter exits."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from support.run_options import SANITIZED

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


# The template: an interpreter that has NumPy and onnxmap, and one thread. It forks a child for each
# request, which runs its code as `python -c` does, and ends as an interpreter does.
_TEMPLATE = """
import json, os, sys
import numpy, onnxmap

def code_of_a_child():
    while line := sys.stdin.readline():
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            for descriptor, path in enumerate([os.devnull, *request["outputs"]]):
                opened = os.open(path, os.O_RDWR)
                os.dup2(opened, descriptor)
                os.close(opened)
            os.chdir(request["folder"])
            sys.argv[1:] = request["arguments"]
            return request["code"]
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)

exec(code_of_a_child())
"""
_PYTHON = (sys.executable, "-X", "faulthandler", "-W", "error", "-c")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


_GIVEN = _environment()
_IN_USE = threading.Lock()


@functools.cache
def _template() -> subprocess.Popen[bytes]:
    """The template of this process. It ends with its standard input."""
    return subprocess.Popen(
        [*_PYTHON, _TEMPLATE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**_GIVEN, "OPENBLAS_NUM_THREADS": "1"},
    )


def _run_in_a_fork(
    source: str, arguments: tuple[str, ...], timeout: float
) -> subprocess.CompletedProcess[str]:
    template = _template()
    assert template.stdin is not None
    assert template.stdout is not None
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        request = {
            "code": source,
            "arguments": arguments,
            "folder": str(Path.cwd()),
            "outputs": [out.name, err.name],
        }
        template.stdin.write(json.dumps(request).encode() + b"\n")
        child = int(template.stdout.readline())
        ended, _, _ = select.select([template.stdout], [], [], timeout)
        if not ended:
            os.kill(child, signal.SIGKILL)
        status = int(template.stdout.readline())
        if not ended:
            raise subprocess.TimeoutExpired(source, timeout, out.read(), err.read())
        return subprocess.CompletedProcess(source, status, out.read(), err.read())


def run_python(
    code: str, *arguments: str, timeout: float = 120, fresh: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `code` after the prelude. faulthandler reports crashes on standard error.

    The process is forked from one that has NumPy and onnxmap, which takes milliseconds. A new
    interpreter runs `fresh` code, such as code that looks at imports; code that measures memory;
    and all code if a test has changed the environment, or under sanitizers. The output is a file,
    so code that limits the size of files must lift the limit before it reports.
    """
    source = PRELUDE.format(here=str(Path(__file__).parents[2])) + textwrap.dedent(code)
    fresh = fresh or SANITIZED or "_kib(" in code or _environment() != _GIVEN
    if not fresh and _IN_USE.acquire(blocking=False):  # two threads do not wait for each other
        try:
            return _run_in_a_fork(source, arguments, timeout)
        finally:
            _IN_USE.release()
    return subprocess.run(
        [*_PYTHON, source, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=os.environ,
    )


def facts_from(
    code: str, *arguments: str, timeout: float = 120, fresh: bool = False
) -> dict[str, Any]:
    """What `code` reports by calling `report(...)`. The process must end well."""
    result = run_python(code, *arguments, timeout=timeout, fresh=fresh)
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
