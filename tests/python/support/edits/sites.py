"""Places in a model that a random edit may change: messages and lists, reached by random walks.

A walk uses protobuf's model, and gives an expression that means the same place to both sides.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from support.edits.runs import Run, steps_to
from support.edits.values import type_of

# Probabilities in a walk.
STOP, ABSENT, FROM_HANDLE, TAKE = 0.15, 0.06, 0.2, 0.4
TRIES = 15  # walks to find a place
MESSAGES = ("message",)


@dataclass(frozen=True)
class Site:
    """A message, which may be absent."""

    text: str
    message: Any

    def fields(self, keep: Callable[[FieldDescriptor], bool]) -> list[FieldDescriptor]:
        return [field for field in self.message.DESCRIPTOR.fields if keep(field)]

    def is_set(self, field: FieldDescriptor) -> bool:
        """Whether a field is present, or a list has elements."""
        if field.is_repeated:
            return len(getattr(self.message, field.name)) > 0
        return bool(self.message.HasField(field.name))


@dataclass(frozen=True)
class ListSite:
    """The list of a repeated field."""

    text: str
    field: FieldDescriptor
    values: Any

    def index(self, rng: random.Random) -> int:
        """The index of an element, from the start or from the end."""
        return rng.randrange(-len(self.values), len(self.values))

    def element(self, rng: random.Random) -> str:
        return f"{self.text}[{self.index(rng)}]"


class Places:
    """Finds places in the two models of protobuf's side."""

    def __init__(self, rng: random.Random, oracle: Run) -> None:
        self.rng = rng
        self._oracle = oracle

    def message(self, root: str = "") -> Site:
        """A random message of `model`, or of a handle that still belongs to a model."""
        *_, site = self._walk(root)
        return site

    def find(self, accept: Callable[[Site], bool], root: str = "") -> Site | None:
        """A random message that is accepted, or None if some walks find none."""
        for _ in range(TRIES):
            for site in self._walk(root):
                if self.rng.random() < TAKE and accept(site):
                    return site
        return None

    def _walk(self, root: str) -> Iterator[Site]:
        site: Site | None = self._start(root)
        while site is not None:
            yield site
            site = None if self.rng.random() < STOP else self._step(site)

    def of_type(self, name: str, root: str = "") -> Site | None:
        """A present message of a type, by its full name."""
        return self.find(lambda site: site.message.DESCRIPTOR.full_name == name, root)

    def list(self, kinds: tuple[str, ...], least: int = 0, root: str = "") -> ListSite | None:
        """A list of values of these types, like ("int64",), with at least some elements."""
        kept = self._kept_list(kinds, least) if not root else None
        if kept is not None and self.rng.random() < FROM_HANDLE:
            return kept

        def suits(site: Site, field: FieldDescriptor) -> bool:
            is_one = field.is_repeated and type_of(field) in kinds
            return is_one and len(getattr(site.message, field.name)) >= least

        site = self.find(lambda site: any(suits(site, one) for one in site.fields(bool)), root)
        if site is None:
            return None
        field = self.rng.choice([one for one in site.fields(bool) if suits(site, one)])
        values = getattr(site.message, field.name)
        return ListSite(f"{site.text}.{field.name}", field, values)

    def removed_messages(self) -> list[Site]:
        """The handles whose message no longer belongs to a model."""
        names, attached = self._oracle.names, dict(self._oracle.handles())
        gone = [name for name in names["_steps"] if name not in attached]
        return [Site(name, names[name]) for name in gone if isinstance(names[name], Message)]

    def are_nested(self, one: str, other: str) -> bool:
        """Whether one of two places contains the other, or is the same."""
        first, second = (self._way(ast.parse(text, mode="eval").body) for text in (one, other))
        inside = any(first[-1] is step for step in second)
        return inside or any(second[-1] is step for step in first)

    def _way(self, expression: ast.expr) -> list[Any]:
        """The objects from a model to a place; protobuf keeps one object for each message."""
        names = self._oracle.names
        steps = steps_to(expression, names)
        root = steps[0].owner if steps else names[ast.unparse(expression)]
        return [root, *(step.found for step in steps)]

    def _kept_list(self, kinds: tuple[str, ...], least: int) -> ListSite | None:
        found = []
        for name, is_list in self._oracle.handles():
            step = self._oracle.names["_steps"][name][-1]
            if is_list and len(step.found) >= least:
                field = step.owner.DESCRIPTOR.fields_by_name[step.name]
                if type_of(field) in kinds:
                    found.append(ListSite(name, field, step.found))
        return self.rng.choice(found) if found else None

    def _start(self, root: str) -> Site:
        if root:
            return Site(root, self._oracle.names[root])
        if self.rng.random() < FROM_HANDLE:
            kept = [name for name, is_list in self._oracle.handles() if not is_list]
            if kept:
                name = self.rng.choice(kept)
                return Site(name, self._oracle.names[name])
        return Site("model", self._oracle.names["model"])

    def _step(self, site: Site) -> Site | None:
        inner = site.fields(lambda field: field.message_type is not None)
        if self.rng.random() < ABSENT:
            inner = [field for field in inner if not field.is_repeated]
        else:
            inner = [field for field in inner if site.is_set(field)]
        if not inner:
            return None
        field = self.rng.choice(inner)
        text, found = f"{site.text}.{field.name}", getattr(site.message, field.name)
        if isinstance(found, Message):
            return Site(text, found)
        index = self.rng.randrange(-len(found), len(found))
        return Site(f"{text}[{index}]", found[index])


# What makes a statement at a random place, or None if it finds no place.
Make = Callable[[Places], str | None]
