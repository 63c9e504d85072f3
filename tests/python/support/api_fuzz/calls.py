"""Functions that wrap a call of a public member in the lines of `api_fuzz`."""

from __future__ import annotations

import itertools
import pickle
import threading
from collections.abc import Callable, Mapping, ValuesView
from typing import Any

from onnxmap._core import AttributeMapping, OpsetMapping, StringMapping
from support.api_fuzz.rules import ALLOWED, is_ours


def some(value: Any, depth: int = 5) -> Any:
    """The value itself, or, if only one value in it is an object of onnxmap, that one."""
    if isinstance(value, itertools.islice):
        value = next(value)
    if isinstance(value, ValuesView):
        value = list(value)
    is_plain = isinstance(value, (AttributeMapping, OpsetMapping, StringMapping)) or not is_ours(
        value
    )
    if isinstance(value, Mapping) and value and is_plain:
        value = list(value.values())
    is_plain = not is_ours(value) and not hasattr(value, "_fields")
    if isinstance(value, (list, tuple)) and value and depth and is_plain:
        return some(value[len(value) // 2], depth - 1)
    return value


def again(value: Any, protocol: int) -> Any:
    """The object after pickling and unpickling."""
    return pickle.loads(pickle.dumps(value, protocol))


def entered(value: Any) -> Any:
    """The value of a `with` statement, after its block."""
    with value as found:
        return found


def with_members(cls: type, value: Any) -> Any:
    """An object of a subclass of one of onnxmap's classes."""
    return type("Below", (cls,), {"name": property(lambda _: value)})(value)


def in_threads(call: Callable[[], Any]) -> Any:
    """Let three threads do the same work, and raise one of their errors."""
    answers: list[Any] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 -- it is raised below
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    raised.sort(key=lambda error: isinstance(error, ALLOWED))  # the worst error comes first
    for error in raised:
        raise error
    return answers[0]


def names_of(model: Any) -> Any:
    """Some names of initializers."""
    return None if model is None else model.initializers.names()[:3]
