"""One sample: a process that does the work of a task once, and reports.

    python -m bench.worker PEER TASK FOLDER WITNESS

When everything is imported and prepared, it prints `ready` and waits for a line. Meanwhile the
parent prepares the page cache. Then it does the timed work and prints one line of JSON. It keeps
the result until standard input ends, so that the parent can measure its memory from outside.
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

USUAL_DESCRIPTORS = 1024  # the soft limit on nearly every system; that of this shell may differ


def measure(task: Task, folder: Path, full_witness: bool) -> tuple[dict[str, object], object]:
    """Do the work once between two readings of the counters. Return the report and the result."""
    gc.collect()
    for _ in range(2):  # the first reading itself makes memory resident
        before = read_counters(folder)
    reset_peak()
    task.just_before()
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
    """Run the sample of the command line. A failing peer is a result, not a crash."""
    peer, work, folder, witness = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_DESCRIPTORS, hard), hard))
    prepare = getattr(importlib.import_module(f"bench.peers.{peer}"), work)
    answer = sys.stdout
    kept: object = None
    try:
        task = prepare(Path(folder))
        print("ready", file=answer, flush=True)
        try:
            if not sys.stdin.readline():
                return  # the parent does not want the sample any longer
            report, kept = measure(task, Path(folder), witness == "full")
        finally:
            task.clean()
    except Exception as error:  # noqa: BLE001 whatever a peer raises is its result
        message = " ".join(str(error).split())
        report = {"error": f"{type(error).__name__}: {message}"[:300]}
    print(json.dumps(report), file=answer, flush=True)
    sys.stdin.readline()
    del kept


if __name__ == "__main__":
    main()
