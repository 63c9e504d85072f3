"""Counters of the kernel for a process. They are reported beside every time."""

from __future__ import annotations

import os
import resource
from pathlib import Path


def read_counters(folder: Path) -> dict[str, int]:
    """Return the memory in bytes, page faults, descriptors and mappings of this process.

    Args:
        folder: the model's folder. Mappings of its files are also counted separately.
    """
    status = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("RssAnon", "RssFile", "VmHWM"):
            status[name] = int(value.split()[0]) * 1024
    usage = resource.getrusage(resource.RUSAGE_SELF)
    mappings = Path("/proc/self/maps").read_text()
    return {
        "rss_anon": status["RssAnon"],
        "rss_file": status["RssFile"],
        "rss_peak": status["VmHWM"],
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 a listing allocates less
        "mappings": mappings.count("\n"),
        "model_mappings": mappings.count(f" {folder}/"),
    }


def reset_peak() -> None:
    """Make `rss_peak` start from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Return what was added. The peak is relative to what was resident before."""
    resident = before["rss_anon"] + before["rss_file"]
    added = {name: after[name] - before[name] for name in after}
    added["rss"] = added["rss_anon"] + added["rss_file"]
    added["rss_peak"] = after["rss_peak"] - resident
    return added


def proportional(process: int) -> int:
    """Return the memory of a process in bytes. A shared page counts by its share (Pss)."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no Pss in /proc/{process}/smaps_rollup")
