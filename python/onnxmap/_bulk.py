"""Reads many tensors: all at once as new arrays, or one after another in bounded memory."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._arguments import parse_size, thread_count
from onnxmap._progress import Progress
from onnxmap._text import bytes_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    import numpy as np
    import numpy.typing as npt

    from onnxmap._graph import Initializers
    from onnxmap._progress import ProgressArgument

    Names = Sequence[str] | str | None
    from onnxmap._enums import DataType

    FloatType = npt.DTypeLike | DataType | None

_MOST_WINDOW = 1 << 62  # larger than any memory
_DELAY = 0.5  # seconds of work before a bar appears


def read_arrays(
    initializers: Initializers,
    names: Names,
    dtype: FloatType,
    threads: int | None,
    progress: ProgressArgument,
) -> dict[str, np.ndarray[Any, Any]]:
    """See `Model.arrays`."""
    count = thread_count(threads)
    positions = initializers._chosen(names)
    bulk = _core.plan_bulk(initializers._core, positions, dtype, copies=True, frugal=False)
    with Progress(progress, bulk.nbytes, "reading", delay=_DELAY) as shown:
        told = 0

        def tell(done: int) -> None:
            nonlocal told
            shown.update(done - told)
            told = done

        return bulk.arrays(count, tell)


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
        self,
        initializers: Initializers,
        names: Names,
        window: int | str,
        threads: int | None,
        dtype: FloatType,
        copy: bool,
        progress: ProgressArgument,
    ) -> None:
        nbytes, count = parse_size(window), thread_count(threads)
        if nbytes <= 0:
            raise ValueError(f"window must be positive, not {window!r}")
        positions = initializers._chosen(names, frugal=True)
        bulk = _core.plan_bulk(initializers._core, positions, dtype, copies=bool(copy), frugal=True)
        self._nbytes = bulk.array_nbytes
        self._core = _core.start_stream(bulk, min(nbytes, _MOST_WINDOW), count)
        _streams.add(self)
        self._progress = Progress(progress, bulk.array_nbytes, "streaming", delay=_DELAY)
        self._progress_is_shown = False
        self._is_over = False
        self._current = 0
        self._busy = threading.Lock()

    def __repr__(self) -> str:
        state = "ended" if self._is_over else "open"
        return f"<onnxmap.TensorStream of {bytes_in_words(self._nbytes)}, {state}>"

    def __iter__(self) -> TensorStream:
        return self

    def __next__(self) -> tuple[str, np.ndarray[Any, Any]]:
        # The core would refuse too, but its error would end the stream for the other thread.
        if not self._busy.acquire(blocking=False):
            raise ValueError(
                "another thread, or a callable that this stream calls, is reading this stream; "
                "give each a stream of its own"
            )
        try:
            return self._next()
        finally:
            self._busy.release()

    def _next(self) -> tuple[str, np.ndarray[Any, Any]]:
        if self._is_over:
            raise StopIteration
        try:
            if not self._progress_is_shown:
                self._progress.__enter__()
                self._progress_is_shown = True
            self._progress.update(self._current)  # the array before is done
            found = self._core.next()
        except BaseException as error:
            self._end(error)
            raise
        if found is None:
            self._current = 0
            self._end(None)
            raise StopIteration
        self._current = 0 if found[1].dtype.hasobject else found[1].nbytes
        return found

    def close(self) -> None:
        """End the stream and stop its background work. Arrays that it has returned stay valid."""
        self._end(GeneratorExit())

    def __del__(self) -> None:
        # The core ends by itself. A bar that is not closed would leave the cursor hidden.
        if getattr(self, "_progress_is_shown", False):
            self.close()

    def _end(self, error: BaseException | None) -> None:
        if self._is_over and error is None:
            error = GeneratorExit()  # another thread closed the stream, so the work is not done
        self._is_over = True
        self._core.stop()
        if self._progress_is_shown:
            self._progress_is_shown = False
            self._progress.__exit__(None if error is None else type(error), error, None)

    def __enter__(self) -> TensorStream:  # noqa: PYI034 -- typing.Self is Python 3.11's
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
