"""The memory of this process, as Linux reports it in /proc. No other system is supported."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from onnxmap.cli.outcome import UsageError

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Resident:
    """Bytes of this process in memory: its own, and pages of files, which it may share."""

    own: int
    of_files: int


def check_is_known() -> None:
    """Raise UsageError if the system does not report the memory of a process."""
    if not _STATUS.exists():
        raise UsageError(f"this command measures memory, which works only on Linux: no {_STATUS}")


def resident() -> Resident:
    """Return how much of the process is in memory now."""
    sizes = _sizes()
    return Resident(_kilobytes(sizes["RssAnon"]), _kilobytes(sizes["RssFile"]))


def reset_peak() -> bool:
    """Reset the peak to what is resident now; return False if the system does not support that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_resident() -> int:
    """Return the peak of bytes in memory: the process's own and pages of files together."""
    return _kilobytes(_sizes()["VmHWM"])


def _sizes() -> dict[str, str]:
    status = _STATUS.read_text()
    return dict(line.split(":", 1) for line in status.splitlines() if "kB" in line)


def return_free_memory() -> None:
    """Return freed memory to the system, so that later growth can be measured; glibc only."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def _kilobytes(text: str) -> int:
    return int(text.split()[0]) * 1024


@dataclass(frozen=True)
class Mapping:
    """A range of the address space in which a file is mapped."""

    start: int
    end: int
    path: str


def mappings_of(*paths: Path) -> list[Mapping]:
    """Return the mappings of these files in this process."""
    wanted = {os.path.realpath(path) for path in paths}
    found = []
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        # address, permissions, offset, device, inode, and for a file its path
        addresses, *_, path = [*line.split(maxsplit=5), ""][:6]
        if path in wanted:
            start, end = (int(address, 16) for address in addresses.split("-"))
            found.append(Mapping(start, end, path))
    return found
