"""One sample of `onnxmap bench`: a process that does one work once, and reports the cost.

`samples.py` starts it. It prints `ready` when everything is imported, waits for a line, does the
work, and prints one line of JSON. What a peer prints on standard output is discarded.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxmap.cli.bench.peers import OURS, PEERS, Files, Peer
from onnxmap.cli.process_memory import peak_resident, reset_peak, resident
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    import numpy as np

    from onnxmap.cli.bench.peers import Arrays

    Work = Callable[[Files], Any]
    Witness = Callable[[Any], object]


def main(arguments: Sequence[Any]) -> None:
    """Take one sample. Arguments: peer, work, options, the model, and its external files."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    peer, work, options, model, *data = arguments
    files = Files(model, data, options)
    answer.write(json.dumps(_sample(peer, work, files, answer.write, answer.flush)))
    answer.flush()
    os._exit(0)  # do not spend time on freeing gigabytes


def _sample(
    name: str, work: str, files: Files, say: Callable[[str], object], flush: Callable[[], object]
) -> dict[str, object]:
    try:
        peer = PEERS[name].make()
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == PEERS[name].module:
            return {"absent": True}
        return _failure(name, error)
    except Exception as error:  # noqa: BLE001 whatever a peer raises is its result
        return _failure(name, error)
    run, witness = _works(peer)[work]
    if run is None:
        return {"not_offered": True}
    import numpy as np  # noqa: F401  NumPy must not be imported while time is measured

    say("ready\n")
    flush()
    sys.stdin.readline()
    try:
        return _measured(run, witness, files)
    except Exception as error:  # noqa: BLE001 the same
        return _failure(name, error)


def _failure(name: str, error: Exception) -> dict[str, object]:
    message = " ".join(str(error).split())
    unreadable = name == OURS and isinstance(error, (OnnxMapError, OSError))
    return {
        "error": message if unreadable else f"{type(error).__name__}: {message}",
        "unreadable": unreadable,
    }


def _measured(run: Work, witness: Witness, files: Files) -> dict[str, object]:
    gc.collect()
    has_peak = reset_peak()
    before = resident()
    start = time.perf_counter()
    result = run(files)
    seconds = time.perf_counter() - start
    after = resident()
    peak = peak_resident() - before.own - before.of_files if has_peak else None
    return {
        "seconds": seconds,
        "own_bytes": max(after.own - before.own, 0),
        "file_bytes": max(after.of_files - before.of_files, 0),
        "peak_bytes": peak,
        "witness": witness(result),
    }


def _works(peer: Peer) -> Mapping[str, tuple[Work | None, Witness]]:
    """The works by the names of WORKS, each with a function that proves what was read."""
    touch: Work | None = None
    if (arrays := peer.arrays) is not None:
        touch = lambda files: touched(arrays(files).values())
    stream: Work | None = None
    if (each := peer.each) is not None:
        stream = lambda files: touched(each(files))
    return {
        "open": (peer.open, lambda opened: _outline(peer, opened)),
        "arrays": (peer.arrays, _bytes_of),
        "touch": (touch, str),
        "copies": (peer.copies, _bytes_of),
        "stream": (stream, str),
    }


def _outline(peer: Peer, opened: Any) -> str:
    """A checksum of names and the number of nodes; empty if a peer does not give them."""
    if peer.outline is None:
        return ""
    outline = repr(peer.outline(opened))
    return f"{zlib.crc32(outline.encode('utf-8', 'backslashreplace')):08x}"


def _bytes_of(arrays: Arrays) -> str:
    return f"{len(arrays)} {touched(arrays.values())}"


def touched(arrays: Iterable[np.ndarray[Any, Any]]) -> int:
    """Return the sum of all bytes as 64-bit numbers: the cheapest work that reads every byte.

    The order of the arrays does not matter. For an array of texts, the checksum of each text is
    added.
    """
    import numpy as np

    total = 0
    for array in arrays:
        if array.dtype == object:
            total += sum(zlib.crc32(_stored(text)) for text in array.flat)
            continue
        stored = array.reshape(-1).view(np.uint8)
        whole = len(stored) // 8 * 8
        total += int(np.add.reduce(stored[:whole].view(np.uint64)))
        total += int(np.add.reduce(stored[whole:], dtype=np.uint64))
    return total % 2**64


def _stored(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
