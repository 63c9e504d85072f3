"""Kinds of random edit of lists: of values, and of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.edits.sites import MESSAGES, ListSite, Make, Places
from support.edits.values import IN_LISTS, keywords, new_message, value, wrong_values

LIST_KINDS: dict[str, Make] = {}


def _list_edit(kinds: tuple[str, ...], least: int, write: Callable[[ListSite, Any], str]) -> Make:
    """A kind that edits a list. `write` gets the list and a random generator."""

    def make(places: Places) -> str | None:
        found = places.list(kinds, least)
        return found and write(found, places.rng)

    return make


def _values(site: ListSite, rng: Any, most: int = 3) -> str:
    return f"[{', '.join(value(site.field, rng) for _ in range(rng.randrange(most + 1)))}]"


def _slice(site: ListSite, rng: Any, steps: tuple[int, ...] = (1, 2, -1, 3, -2)) -> str:
    """A slice of at least one element: upb corrupts its memory when it deletes an empty one."""
    ends = [None, *range(-len(site.values), len(site.values) + 2)]
    while True:
        chosen = slice(rng.choice(ends), rng.choice(ends), rng.choice([None, *steps]))
        if range(*chosen.indices(len(site.values))):
            ends = ("" if end is None else str(end) for end in (chosen.start, chosen.stop))
            return ":".join([*ends, *([] if chosen.step is None else [str(chosen.step)])])


for _type in IN_LISTS:
    LIST_KINDS[f"append {_type}"] = _list_edit(
        (_type,), 0, lambda site, rng: f"{site.text}.append({value(site.field, rng)})"
    )
    LIST_KINDS[f"set an element of {_type}"] = _list_edit(
        (_type,), 1, lambda site, rng: f"{site.element(rng)} = {value(site.field, rng)}"
    )
LIST_KINDS |= {
    "extend values": _list_edit(
        IN_LISTS, 0,
        lambda site, rng: f"{site.text}.extend({rng.choice(['', 'iter'])}({_values(site, rng)}))",
    ),
    "extend values of its own": _list_edit(
        IN_LISTS, 1, lambda site, rng: f"{site.text}.extend(list({site.text}))"
    ),
    "insert a value": _list_edit(
        IN_LISTS, 0,
        lambda site, rng: f"{site.text}.insert({rng.randrange(-3, 4)}, {value(site.field, rng)})",
    ),
    "delete a value": _list_edit(IN_LISTS, 1, lambda site, rng: f"del {site.element(rng)}"),
    "delete a slice of values": _list_edit(
        IN_LISTS, 1, lambda site, rng: f"del {site.text}[{_slice(site, rng)}]"
    ),
    "assign a slice": _list_edit(
        IN_LISTS, 1,
        lambda site, rng: f"{site.text}[{_slice(site, rng, ())}] = {_values(site, rng)}",
    ),
    "assign an extended slice": _list_edit(
        IN_LISTS, 2,
        lambda site, rng: f"{site.text}[::2] = list({site.text})[1::2]"
        + rng.choice(["", f" + [{value(site.field, rng)}]"]),
    ),
    "pop a value": _list_edit(IN_LISTS, 1, lambda site, rng: f"result = {site.text}.pop()"),
    "pop a value at an index": _list_edit(
        IN_LISTS, 1, lambda site, rng: f"result = {site.text}.pop({site.index(rng)})"
    ),
    "remove a value": _list_edit(
        IN_LISTS, 1, lambda site, rng: f"{site.text}.remove({site.element(rng)})"
    ),
    "remove a value that may be absent": _list_edit(
        ("int64", "int32", "bytes"), 1,
        lambda site, rng: f"{site.text}.remove({value(site.field, rng)})",
    ),
    "reverse values": _list_edit(IN_LISTS, 1, lambda site, rng: f"{site.text}.reverse()"),
    "sort values": _list_edit(
        ("int64", "int32", "uint64", "bytes"), 1,
        lambda site, rng: f"{site.text}.sort({rng.choice(['', 'reverse=True', 'key=hash'])})",
    ),
    "sort texts": _list_edit(
        ("string",), 1, lambda site, rng: f"{site.text}.sort(key=text_bytes)"
    ),
    "clear a list": _list_edit((*IN_LISTS, "message"), 1, lambda site, rng: f"{site.text}.clear()"),
    "append a wrong value": _list_edit(
        IN_LISTS, 1,
        lambda site, rng: f"{site.text}.append({rng.choice(wrong_values(site.field))})",
    ),
    "use a wrong index": _list_edit(
        IN_LISTS, 1, lambda site, rng: f"{site.text}[{len(site.values)}] = {site.text}[0]"
    ),
}  # fmt: skip

# Lists of messages.


def _with_message(write: Callable[[ListSite, str, Any], str], root: str) -> Make:
    """A kind that gives a list of messages one of `root`, of the same type."""

    def make(places: Places) -> str | None:
        found = places.list(MESSAGES)
        if found is None:
            return None
        source = places.of_type(found.field.message_type.full_name, root)
        # A message that contains the list would be copied while it grows.
        if source is None or places.are_nested(found.text, source.text):
            return None
        return write(found, source.text, places.rng)

    return make


def _new(site: ListSite, rng: Any) -> str:
    return new_message(site.field.message_type, rng)


for _root in ("model", "other"):
    LIST_KINDS[f"append a message of {_root}"] = _with_message(
        lambda site, source, rng: f"{site.text}.append({source})", _root
    )
    LIST_KINDS[f"insert a message of {_root}"] = _with_message(
        lambda site, source, rng: f"{site.text}.insert({rng.randrange(-3, 4)}, {source})", _root
    )
    LIST_KINDS[f"extend messages of {_root}"] = _with_message(
        lambda site, source, rng: (
            f"{site.text}.{rng.choice(['extend', 'MergeFrom'])}([{source}, {source}])"
        ),
        _root,
    )
_KEYS = [
    "key=lambda one: len(one.ListFields())",
    "key=lambda one: [text_bytes(v) for _, v in one.ListFields() if isinstance(v, (str, bytes))]",
    "key=lambda one: -len(one.ListFields()), reverse=True",
]
LIST_KINDS |= {
    "add": _list_edit(MESSAGES, 0, lambda site, rng: f"{site.text}.add()"),
    "add with keywords": _list_edit(
        MESSAGES, 0, lambda site, rng: f"{site.text}.add({keywords(site.field.message_type, rng)})"
    ),
    "append a new message": _list_edit(
        MESSAGES, 0, lambda site, rng: f"{site.text}.append({_new(site, rng)})"
    ),
    "insert a new message": _list_edit(
        MESSAGES, 0,
        lambda site, rng: f"{site.text}.insert({rng.randrange(-3, 4)}, {_new(site, rng)})",
    ),
    "extend by a list of its own": _list_edit(
        MESSAGES, 1, lambda site, rng: f"{site.text}.extend(list({site.text})[:2])"
    ),
    "delete a message": _list_edit(MESSAGES, 1, lambda site, rng: f"del {site.element(rng)}"),
    "delete a slice of messages": _list_edit(
        MESSAGES, 2, lambda site, rng: f"del {site.text}[{_slice(site, rng)}]"
    ),
    "pop a message": _list_edit(
        MESSAGES, 1, lambda site, rng: f"result = {site.text}.pop({site.index(rng)})"
    ),
    "remove a message": _list_edit(
        MESSAGES, 1, lambda site, rng: f"{site.text}.remove({site.element(rng)})"
    ),
    "reverse messages": _list_edit(MESSAGES, 1, lambda site, rng: f"{site.text}.reverse()"),
    "sort messages": _list_edit(
        MESSAGES, 2, lambda site, rng: f"{site.text}.sort({rng.choice(_KEYS)})"
    ),
    "assign to a message of a list": _list_edit(
        MESSAGES, 1, lambda site, rng: f"{site.element(rng)} = {site.text}[0]"
    ),
}  # fmt: skip
