"""Random changes to the messages of a model: what an editor or an exporter might get wrong.

`wire_mutator` changes bytes; here every mutant is a model that protobuf can write.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

STRING = FieldDescriptor.TYPE_STRING
BYTES = FieldDescriptor.TYPE_BYTES
FLOATS = (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)
NUMBERS = [-1, 0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 99, 1 << 31, (1 << 62)]
NEW_NAMES = ["", "new", "x", "ai.onnx", "org.test"]

Change = Callable[["Mutator", Message], None]
_CHANGES: list[Change] = []


def _change(function: Change) -> Change:
    _CHANGES.append(function)
    return function


def messages_in(message: Message) -> list[Message]:
    """Return a message and all messages in it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                found += messages_in(each)
    return found


def _texts_in(messages: list[Message]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for field, value in message.ListFields():
            if field.type == STRING:
                found += value if field.is_repeated else [value]
    return found


class Mutator:
    """Makes the changes to one model."""

    def __init__(self, rng: random.Random, model: Message) -> None:
        self.rng = rng
        self.model = model
        self.messages = messages_in(model)
        self.texts = [*_texts_in(self.messages), *NEW_NAMES]

    def mutate(self) -> None:
        """Change the model once. A change that does not fit is tried elsewhere."""
        before = self.model.SerializeToString(deterministic=True)
        for _ in range(20):
            self.rng.choice(_CHANGES)(self, self.rng.choice(self.messages))
            if self.model.SerializeToString(deterministic=True) != before:
                return

    def scalar(self, field: Any) -> Any:
        """Return a value that the field can have."""
        if field.type == STRING:
            return self.rng.choice(self.texts)
        if field.type == BYTES:
            return self.rng.randbytes(self.rng.randint(0, 8))
        if field.type in FLOATS:
            return self.rng.choice([0.0, 1.5])
        if field.enum_type is not None:
            return self.rng.choice(field.enum_type.values).number
        number = self.rng.choice(NUMBERS)
        if field.type == FieldDescriptor.TYPE_INT32:
            number = min(number, (1 << 31) - 1)
        return max(number, 0) if field.type == FieldDescriptor.TYPE_UINT64 else number

    def set_fields(self, message: Message, repeated: bool | None = None) -> list[Any]:
        fields = [field for field, _ in message.ListFields()]
        return [one for one in fields if repeated is None or one.is_repeated == repeated]

    def list_in(self, message: Message) -> Any:
        """Return one of the lists of a message that have elements."""
        fields = self.set_fields(message, repeated=True)
        return getattr(message, self.rng.choice(fields).name) if fields else []


@_change
def clear_field(mutator: Mutator, message: Message) -> None:
    if fields := mutator.set_fields(message):
        message.ClearField(mutator.rng.choice(fields).name)


@_change
def delete_element(mutator: Mutator, message: Message) -> None:
    if values := mutator.list_in(message):
        del values[mutator.rng.randrange(len(values))]


@_change
def duplicate_element(mutator: Mutator, message: Message) -> None:
    if values := mutator.list_in(message):
        values.append(mutator.rng.choice(values))


@_change
def swap_elements(mutator: Mutator, message: Message) -> None:
    values = mutator.list_in(message)
    if len(values) < 2:
        return
    order = list(values)
    i, j = mutator.rng.sample(range(len(order)), 2)
    order[i], order[j] = order[j], order[i]
    copies = (
        [type(one).FromString(one.SerializeToString()) for one in order]
        if isinstance(order[0], Message)
        else order
    )
    del values[:]
    values.extend(copies)


@_change
def change_scalar(mutator: Mutator, message: Message) -> None:
    fields = [field for field in mutator.set_fields(message) if field.message_type is None]
    if not fields:
        return
    field = mutator.rng.choice(fields)
    if field.is_repeated:
        values = getattr(message, field.name)
        values[mutator.rng.randrange(len(values))] = mutator.scalar(field)
    else:
        setattr(message, field.name, mutator.scalar(field))


@_change
def add_field(mutator: Mutator, message: Message) -> None:
    field = mutator.rng.choice(message.DESCRIPTOR.fields)
    if field.message_type is not None:
        place = getattr(message, field.name)
        place.add() if field.is_repeated else place.SetInParent()
    elif field.is_repeated:
        getattr(message, field.name).append(mutator.scalar(field))
    else:
        setattr(message, field.name, mutator.scalar(field))


@_change
def copy_message(mutator: Mutator, message: Message) -> None:
    """Give a message the content of another one of its kind."""
    same = [one for one in mutator.messages if one.DESCRIPTOR is message.DESCRIPTOR]
    copied = mutator.rng.choice(same).SerializeToString()
    message.ParseFromString(copied)


@_change
def move_message(mutator: Mutator, message: Message) -> None:
    """Append a copy of a message to a list of its kind."""
    for field in mutator.rng.sample(
        list(message.DESCRIPTOR.fields), len(message.DESCRIPTOR.fields)
    ):
        if field.message_type is None or not field.is_repeated:
            continue
        same = [one for one in mutator.messages if one.DESCRIPTOR is field.message_type]
        if same:
            getattr(message, field.name).add().ParseFromString(
                mutator.rng.choice(same).SerializeToString()
            )
            return


def mutant(rng: random.Random, seed: bytes, message_class: Any) -> bytes:
    """Return the bytes of a seed after one to three changes."""
    model = message_class.FromString(seed)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        Mutator(rng, model).mutate()
    return model.SerializeToString(deterministic=True)
