"""Kinds of random edit of messages: each makes one statement at a random place that allows it.

`edits.list_kinds` has the kinds that edit lists.
"""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.descriptor import FieldDescriptor

from support import wire_bytes as wire
from support.edits.sites import MESSAGES, Make, Places, Site
from support.edits.values import (
    IN_LISTS,
    SINGULAR,
    keywords,
    new_message,
    type_of,
    value,
    wrong_values,
)
from support.oracles.canonical import parse, short_name

MESSAGE_KINDS: dict[str, Make] = {}
# How often an edit is left out that would leave little to edit, or that changes nothing.
MOSTLY = 0.8


def _kind(name: str) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        MESSAGE_KINDS[name] = make
        return make

    return add


def _has(keep: Callable[[FieldDescriptor], bool]) -> Callable[[Site], bool]:
    return lambda site: bool(site.fields(keep))


def _field(
    places: Places, keep: Callable[[Site, FieldDescriptor], bool]
) -> tuple[Site, FieldDescriptor] | None:
    """A message with a field for which `keep` holds, and that field."""
    site = places.find(lambda site: bool(site.fields(lambda field: keep(site, field))))
    if site is None:
        return None
    return site, places.rng.choice(site.fields(lambda field: keep(site, field)))


def _is_single(field: FieldDescriptor, kind: str) -> bool:
    return not field.is_repeated and type_of(field) == kind


def _assign(kind: str) -> Make:
    def make(places: Places) -> str | None:
        found = _field(places, lambda _, field: _is_single(field, kind))
        if found is None:
            return None
        site, field = found
        return f"{site.text}.{field.name} = {value(field, places.rng)}"

    return make


for _type in SINGULAR:
    MESSAGE_KINDS[f"assign {_type}"] = _assign(_type)


@_kind("assign the default")
def _assign_default(places: Places) -> str | None:
    found = _field(places, lambda _, field: not field.is_repeated and not field.message_type)
    if found is None:
        return None
    site, field = found
    return f"{site.text}.{field.name} = {field.default_value!r}"


@_kind("assign a wrong value")
def _assign_wrong(places: Places) -> str | None:
    # To a present message: protobuf makes an absent one present before it raises.
    def takes(site: Site, field: FieldDescriptor) -> bool:
        return site.is_set(field) and not field.is_repeated and not field.message_type

    found = _field(places, takes)
    if found is None:
        return None
    site, field = found
    return f"{site.text}.{field.name} = {places.rng.choice(wrong_values(field))}"


def _clear(keep: Callable[[FieldDescriptor], bool]) -> Make:
    def make(places: Places) -> str | None:
        found = _field(places, lambda site, field: keep(field) and site.is_set(field))
        if found and found[0].text == "model" and places.rng.random() < MOSTLY:
            return None
        return found and f"{found[0].text}.ClearField({found[1].name!r})"

    return make


MESSAGE_KINDS["clear a scalar"] = _clear(
    lambda field: not field.is_repeated and not field.message_type
)
MESSAGE_KINDS["clear a list by its name"] = _clear(lambda field: field.is_repeated)
MESSAGE_KINDS["clear a message"] = _clear(
    lambda field: not field.is_repeated and field.message_type is not None
)
MESSAGE_KINDS["clear an absent field"] = lambda places: (
    (found := _field(places, lambda site, field: not site.is_set(field)))
    and f"{found[0].text}.ClearField({found[1].name!r})"
)


@_kind("clear a oneof")
def _clear_oneof(places: Places) -> str | None:
    site = places.find(lambda site: bool(site.message.DESCRIPTOR.oneofs))
    if site is None:
        return None
    member = _has(lambda field: field.containing_oneof is not None and site.is_set(field))
    if not member(site) and places.rng.random() < MOSTLY:
        return None
    return f"{site.text}.ClearField({site.message.DESCRIPTOR.oneofs[0].name!r})"


@_kind("switch a oneof")
def _switch_oneof(places: Places) -> str | None:
    def is_other(site: Site, field: FieldDescriptor) -> bool:
        oneof = field.containing_oneof
        is_used = oneof is not None and site.message.WhichOneof(oneof.name) is not None
        return is_used and not site.is_set(field)

    found = _field(places, is_other)
    if found is None:
        return None
    site, field = found
    if field.message_type is None:
        return f"{site.text}.{field.name} = {value(field, places.rng)}"
    return f"{site.text}.{field.name}.SetInParent()"


def _absent_message(places: Places) -> tuple[Site, FieldDescriptor] | None:
    return _field(
        places,
        lambda site, field: (
            not field.is_repeated and field.message_type is not None and not site.is_set(field)
        ),
    )


@_kind("set in parent")
def _set_in_parent(places: Places) -> str | None:
    found = _absent_message(places)
    return found and f"{found[0].text}.{found[1].name}.SetInParent()"


@_kind("write into an absent message")
def _write_into_absent(places: Places) -> str | None:
    found = _absent_message(places)
    if found is None:
        return None
    text, message = f"{found[0].text}.{found[1].name}", found[1].message_type
    while True:
        inner = places.rng.choice(message.fields)
        text = f"{text}.{inner.name}"
        if inner.is_repeated and inner.message_type is not None:
            return f"{text}.add({keywords(inner.message_type, places.rng)})"
        if inner.is_repeated:
            return f"{text}.append({value(inner, places.rng)})"
        if inner.message_type is None:
            return f"{text} = {value(inner, places.rng)}"
        message = inner.message_type


@_kind("extend an absent list by nothing")
def _extend_absent(places: Places) -> str | None:
    # The usual way to say that a shape has no dimensions.
    found = _absent_message(places)
    if found is None:
        return None
    lists = [field for field in found[1].message_type.fields if field.is_repeated]
    if not lists:
        return None
    return f"{found[0].text}.{found[1].name}.{places.rng.choice(lists).name}.extend([])"


def _same_type(places: Places, root: str) -> tuple[Site, Site] | None:
    target = places.message()
    source = places.of_type(target.message.DESCRIPTOR.full_name, root)
    # Neither within the other: protobuf would read a message while it writes it.
    if source is None or places.are_nested(target.text, source.text):
        return None
    return target, source


for _method in ("CopyFrom", "MergeFrom"):
    for _root in ("model", "other"):
        MESSAGE_KINDS[f"{_method} of {_root}"] = lambda places, method=_method, root=_root: (
            (pair := _same_type(places, root)) and f"{pair[0].text}.{method}({pair[1].text})"
        )


@_kind("MergeFrom a new message")
def _merge_new(places: Places) -> str | None:
    site = places.message()
    if site.text == "model":
        return None
    return f"{site.text}.MergeFrom({new_message(site.message.DESCRIPTOR, places.rng)})"


@_kind("copy itself")
def _copy_itself(places: Places) -> str:
    site = places.message()
    return f"{site.text}.CopyFrom({site.text})"


@_kind("clear a whole message")
def _clear_whole(places: Places) -> str | None:
    site = places.message()
    if site.text in ("model", "model.graph") and places.rng.random() < MOSTLY:
        return None
    return f"{site.text}.Clear()"


def _message_bytes(places: Places, site: Site) -> bytes:
    """The bytes of a message of the same type, sometimes with unknown fields or overlong."""
    other = places.of_type(site.message.DESCRIPTOR.full_name, "other")
    data = b"" if other is None else other.message.SerializeToString()
    extra = [
        b"",
        wire.scalar(900, places.rng.randrange(300)) + wire.blob(901, b"x"),
        wire.group(902, wire.scalar(1, 5) + wire.group(3)),
        wire.tag(1, wire.VARINT, 3) + wire.varint(9, 10),
        wire.tag(2, wire.LENGTH, 2) + wire.varint(1, 4) + b"\0",
    ]
    for tail in places.rng.sample(extra, len(extra)):
        for whole in (data + tail, tail + data):
            if parse(whole, short_name(site.message.DESCRIPTOR)) is not None:
                return whole
    return data


for _method in ("MergeFromString", "ParseFromString"):
    MESSAGE_KINDS[_method] = lambda places, method=_method: (
        (site := places.message())
        and f"result = {site.text}.{method}({_message_bytes(places, site)!r})"
    )


# Handles, which later edits use, and reading between edits.


@_kind("keep a message")
def _keep_message(places: Places) -> str | None:
    site = places.find(lambda site: site.text != "model")
    return site and f"h{places.rng.randrange(5)} = {site.text}"


@_kind("keep a popped message")
def _keep_popped(places: Places) -> str | None:
    found = places.list(MESSAGES, 1)
    if found is None:
        return None
    return f"h{places.rng.randrange(5)} = {found.text}.pop({found.index(places.rng)})"


@_kind("keep a list")
def _keep_list(places: Places) -> str | None:
    found = places.list((*IN_LISTS, "message"))
    if found is None or "." not in found.text:
        return None
    return f"l{places.rng.randrange(4)} = {found.text}"


@_kind("write to a removed message")
def _write_to_removed(places: Places) -> str | None:
    removed = places.removed_messages()
    if not removed:
        return None
    site = places.rng.choice(removed)
    field = places.rng.choice(list(site.message.DESCRIPTOR.fields))
    text = f"{site.text}.{field.name}"
    if field.is_repeated:
        is_message = field.message_type is not None
        given = new_message(field.message_type, places.rng) if is_message else ""
        return f"{text}.append({given or value(field, places.rng)})"
    return f"{text}.SetInParent()" if field.message_type else f"{text} = {value(field, places.rng)}"


@_kind("look at presence")
def _look(places: Places) -> str:
    site = places.message()
    single = [one.name for one in site.fields(lambda one: not one.is_repeated)]
    lists = [one.name for one in site.fields(lambda one: one.is_repeated)]
    asked = [f"{site.text}.HasField({name!r})" for name in single]
    asked += [f"len({site.text}.{name})" for name in lists]
    asked += [f"{site.text}.WhichOneof({one.name!r})" for one in site.message.DESCRIPTOR.oneofs]
    return f"result = [{', '.join(asked)}, {site.text}]"


# How often a kind is tried, if not once: those that find few places, and handles, which later edits
# use.
WEIGHTS = {
    "keep a message": 3,
    "keep a popped message": 2,
    "write to a removed message": 4,
    **{f"set an element of {name}": 6 for name in ("bytes", "double", "float", "int32", "uint64")},
}
