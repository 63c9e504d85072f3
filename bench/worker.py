"""One sample: a process that imports, prepares, waits for the word, does the work once, and reports.

    python -m bench.worker PEER TASK FOLDER WITNESS

It prints `ready`, reads a line (the parent sees to the page cache meanwhile), does the timed work,
prints one line of JSON, and keeps what it got until it is told to end: the parent may look at it from
outside.
"""

from __future__ import annotations

import gc
import importlib
import json
import resource
import sys
import time
from pathlib import Path

from bench.counters import difference, read_counters, reset_peak
from bench.tasks import Task

USUAL_DESCRIPTORS = 1024  # the soft limit of nearly every system, whatever this shell's is


def measure(task: Task, folder: Path, full_witness: bool) -> tuple[dict[str, object], object]:
    """Do the work once between two readings of the counters; the report, and what the work gave."""
    gc.collect()
    for _ in range(2):  # the first reading makes memory of its own resident
        before = read_counters(folder)
    reset_peak()
    start = time.perf_counter_ns()
    result = task.run()
    seconds = (time.perf_counter_ns() - start) / 1e9
    after = read_counters(folder)
    report = {
        "seconds": seconds,
        "counters": difference(after, before),
        "witness": task.witness(result, full_witness),
    }
    return report, result


def main() -> None:
    """Run one sample as the command line says; a failing peer is a result, not a crash."""
    peer, work, folder, witness = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_DESCRIPTORS, hard), hard))
    prepare = getattr(importlib.import_module(f"bench.peers.{peer}"), work)
    answer = sys.stdout
    kept: object = None
    try:
        task = prepare(Path(folder))
        print("ready", file=answer, flush=True)
        if not sys.stdin.readline():
            return  # the parent has thought better of it
        report, kept = measure(task, Path(folder), witness == "full")
    except Exception as error:  # noqa: BLE001 whatever a peer raises is its result
        message = " ".join(str(error).split())
        report = {"error": f"{type(error).__name__}: {message}"[:300]}
    print(json.dumps(report), file=answer, flush=True)
    sys.stdin.readline()
    del kept


if __name__ == "__main__":
    main()
