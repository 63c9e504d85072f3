"""Reads many tensors: all at once as new arrays, or one after another in bounded memory."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Generator, Iterator
from contextlib import suppress
from inspect import GEN_CLOSED, getgeneratorstate
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.arguments import parse_size, thread_count
from onnxmap._base.text import bytes_in_words
from onnxmap._show.progress import Progress

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from onnxmap._base.enums import DataType
    from onnxmap._show.progress import ProgressArgument

    FloatType = npt.DTypeLike | DataType | None

_MOST_WINDOW = 1 << 62  # larger than any memory
_DELAY = 0.5  # seconds of work before a bar appears


def read_arrays(
    bulk: _core.Bulk, threads: int | None, progress: ProgressArgument
) -> dict[str, np.ndarray[Any, Any]]:
    """See `Model.arrays`."""
    count = thread_count(threads)
    with Progress(progress, bulk.nbytes, "reading", delay=_DELAY) as shown:
        return bulk.arrays(count, shown.callback)


_streams: weakref.WeakSet[TensorStream] = weakref.WeakSet()


@atexit.register
def _end_streams() -> None:
    """Stop all streams. Later, their threads could no longer take the interpreter lock."""
    for stream in list(_streams):
        stream._core.stop()


class TensorStream(Iterator[tuple[str, "np.ndarray[Any, Any]"]]):
    """An iterator of `(name, array)` over a model, made by `Model.stream`.

    Its background work stops when the loop is left, at `close()`, at the end of a `with` block, and
    when the last reference is dropped.
    """

    def __init__(
        self, bulk: _core.Bulk, window: int | str, threads: int | None, progress: ProgressArgument
    ) -> None:
        nbytes, count = parse_size(window), thread_count(threads)
        if nbytes <= 0:
            raise ValueError(f"window must be positive, not {window!r}")
        self._nbytes = bulk.array_nbytes
        self._core = _core.start_stream(bulk, min(nbytes, _MOST_WINDOW), count)
        _streams.add(self)
        self._reading = threading.Lock()
        shown = Progress(progress, self._nbytes, "streaming", delay=_DELAY)
        self._arrays = _arrays_of(self._core, shown, self._nbytes)

    def __repr__(self) -> str:
        state = "ended" if getgeneratorstate(self._arrays) == GEN_CLOSED else "open"
        return f"<onnxmap.TensorStream of {bytes_in_words(self._nbytes)}, {state}>"

    def __next__(self) -> tuple[str, np.ndarray[Any, Any]]:
        # Without an interpreter lock, two threads in one generator would crash the interpreter.
        if not self._reading.acquire(blocking=False):
            text = "another thread, or a callable that this stream calls, is reading this stream"
            raise ValueError(f"{text}; give each a stream of its own")
        try:
            return next(self._arrays)
        finally:
            self._reading.release()

    def close(self) -> None:
        """End the stream and stop its background work. Arrays that it has returned stay valid."""
        self._core.stop()
        # Otherwise, another thread is in the generator, and finds no more arrays.
        if self._reading.acquire(blocking=False):
            try:
                self._arrays.close()
            finally:
                self._reading.release()

    def __enter__(self) -> TensorStream:  # noqa: PYI034 -- typing.Self is Python 3.11's
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


# It does not hold the TensorStream, whose last reference may be dropped in the middle.
def _arrays_of(
    core: _core.Stream, progress: Progress, total: int
) -> Generator[tuple[str, np.ndarray[Any, Any]], None, None]:
    """Yield the arrays of a stream, and show the progress: an array is done when the next begins.

    It does not hold the array that it yields.
    """
    done = 0
    try:
        with suppress(GeneratorExit), progress:
            for found in iter(core.next, None):
                nbytes = 0 if found[1].dtype.hasobject else found[1].nbytes
                handed_over = [found]
                del found
                yield handed_over.pop()
                done += nbytes
                progress.show(done)
            if done < total:  # another thread closed the stream
                raise GeneratorExit
    finally:
        core.stop()
