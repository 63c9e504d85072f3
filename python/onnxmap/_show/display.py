"""One-line descriptions of objects, and their HTML for notebooks, from one table of facts."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.later import import_module
from onnxmap._base.schema import type_name
from onnxmap._base.text import (
    bytes_in_words,
    counted,
    qualified,
    shape_in_words,
    shortened,
    type_in_words,
)
from onnxmap.errors import OnnxMapError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_LONGEST = 80  # characters shown of a name from the file
_MOST_NAMES = 8  # names shown of a list
_MOST_ROWS = 50  # elements shown of a list in a notebook, and numbers or strings shown of a list
_LONGEST_TEXT = 300  # characters shown of a string in a list, a type, and a cell of a table

_MAPPINGS = (_core.AttributeMapping, _core.OpsetMapping, _core.StringMapping)
_MESSAGES = (_core.MessageList, _core.UnknownFieldList)
_AS_WRITTEN = (*_MAPPINGS, *_MESSAGES, _core.ValueList)


def describe(thing: Any) -> str:
    """Return the `repr` of an object of this package. It never reads the values of a tensor."""
    if isinstance(thing, _AS_WRITTEN):
        return _as_written(thing)
    words = _words(thing)
    return f"<onnxmap.{type(thing).__name__}{words and ' '}{words}>"


def describe_html(thing: Any) -> str:
    """Return an HTML table for notebooks: facts of an object, or the first elements of a list."""
    title = f"onnxmap.{type(thing).__name__}"
    if not hasattr(thing, "_rows") and (facts := _form(thing)[1]):
        return _table(title, [[(fact, "th"), (_fact(thing, fact), "td")] for fact in facts])
    headings, elements = _elements(thing)
    rows = [[(heading, "th") for heading in headings]] if headings else []
    first = list(islice(elements, _MOST_ROWS + 1))
    rows += [[(shortened(cell, _LONGEST_TEXT), "td") for cell in row] for row in first[:_MOST_ROWS]]
    if len(first) > _MOST_ROWS:
        number = f"{len(thing) - _MOST_ROWS:,} " if hasattr(thing, "__len__") else ""
        rows.append([(f"... {number}more", "td")])
    is_long = isinstance(thing, _AS_WRITTEN)
    return _table(f"{title} of {len(thing):,}" if is_long else repr(thing), rows)


def _table(caption: str, rows: Iterable[Iterable[tuple[str, str]]]) -> str:
    html = import_module("html")  # costs import time
    cells = (
        "".join(f"<{tag} style='text-align:left'>{html.escape(text)}</{tag}>" for text, tag in row)
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><caption>{html.escape(caption)}</caption>{body}</table>"


def _elements(things: Any) -> tuple[Sequence[str], Iterable[Iterable[str]]]:
    """The headings and the cells of a list."""
    if hasattr(things, "_rows"):
        return things._headings, things._rows()
    if isinstance(things, _core.OpsetMapping | _core.StringMapping):
        return ("key", "value"), ((_item(key), str(each)) for key, each in things.items())
    if isinstance(things, _core.AttributeMapping):
        things = things.values()
    # A mapping of initializers leaves out those without a name.
    shown = list(islice(things.all() if hasattr(things, "all") else things, _MOST_ROWS + 1))
    facts = _form(shown[0])[1] if shown else []
    if not facts:
        return (), [[_item(thing)] for thing in shown]
    return facts, [[_fact(thing, fact) for fact in facts] for thing in shown]


def _as_written(things: Any) -> str:
    """The first elements, as Python writes a list or a dict, and how many more there are."""
    # A message takes a line.
    most, comma = (_MOST_NAMES, ",\n ") if isinstance(things, _MESSAGES) else (_MOST_ROWS, ", ")
    begin, end = "{}" if isinstance(things, _MAPPINGS) else "[]"
    if isinstance(things, _MAPPINGS):
        texts = [f"{_item(key)}: {_item(each)}" for key, each in islice(things.items(), most)]
    else:
        texts = [_item(each) for each in islice(things, most)]
    if len(things) > most:
        texts.append(f"... {len(things) - most:,} more")
    return f"{begin}{comma.join(texts)}{end}"


def _item(value: object) -> str:
    if isinstance(value, str | bytes) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]!r}..."
    return repr(value)


def _form(thing: Any) -> tuple[str, list[str]]:
    """The line of `repr`, with places for facts, and the facts that a table shows.

    Those of a report are its fields.
    """
    kind = type(thing).__name__
    if kind == "Model" and thing._document is None:
        return "{state}", ["state"]
    line, facts = _FORMS.get(kind, ("", ""))
    return line, facts.split() or list(getattr(type(thing), "__match_args__", ()))


def _fact(thing: Any, fact: str) -> str:
    """A fact as printable text of a bounded length."""
    text = _FACTS.get(f"{type(thing).__name__}.{fact}")
    if text is not None:
        return text(thing)
    value = getattr(thing, fact)
    return shortened(str(value)) if isinstance(value, str | int) else _names(value)


def _words(thing: Any) -> str:
    line, _ = _form(thing)
    if line:
        return re.sub("{(.*?)}", lambda found: _fact(thing, found[1]), line)
    if hasattr(thing, "all"):
        return f"of {counted(len(thing), 'tensor')}"
    return ", ".join(f"{name}={shortened(repr(value))}" for name, value in thing.proto._fields())


def _names(things: Iterable[Any]) -> str:
    """The first names of a list, or the first messages in words."""
    every = list(things)
    texts = [each if isinstance(each, str) else _words(each) for each in every[:_MOST_NAMES]]
    more = [f"... {len(every) - _MOST_NAMES} more"] if len(every) > _MOST_NAMES else []
    return ", ".join([*map(shortened, texts), *more])


def _shape_of(tensor: _core.Tensor | _core.SparseTensor) -> str:
    try:
        return shortened(shape_in_words(tensor.shape), _LONGEST_TEXT)
    except OnnxMapError:
        return "invalid shape"


def _place(tensor: _core.Tensor) -> str:
    try:
        where = tensor.external
    except OnnxMapError:
        return "invalid external data"
    return "inline" if where is None else f"in '{shortened(where.location)}' at {where.offset}"


def value_in_words(attribute: _core.Attribute) -> str:
    """Return the value of an attribute, or what it is if it is large."""
    if attribute.ref_attr_name:
        return f"reference to '{shortened(attribute.ref_attr_name)}'"
    value: Any = attribute.value
    if isinstance(value, list) and len(value) > _MOST_NAMES:
        return f"list of {len(value)}"
    return shortened(repr(value[:_LONGEST] if isinstance(value, bytes) else value))


def _operator(domain: str, name: str) -> str:
    return qualified(shortened(domain), shortened(name))


def _contents(graph: Any) -> str:
    # The mapping of initializers leaves out repeated and unnamed ones.
    count = len(graph.proto.initializer)
    return f"{counted(len(graph.nodes), 'node')}, {counted(count, 'initializer')}"


def _source(model: Any) -> str:
    source = "from a buffer" if model.path is None else f"'{shortened(model.path)}'"
    return f"{source}, edited" if model.edited else source


# For each class: the line, and the facts. A fact is the attribute of this name, or is in `_FACTS`.
_FORMS = {
    "Attribute": ("'{name}' {type} = {value}", "name type value"),
    "Function": (
        "{name}({inputs}) -> ({outputs}), {contents}",
        "name inputs outputs attributes contents",
    ),
    "Graph": (
        "'{name}': {contents}, ({input_names}) -> ({output_names})",
        "name contents size operators inputs outputs",
    ),
    "Model": (
        "{source}: IR {ir_version}, {contents}, {parameters}, {size}",
        "source producer ir_version opset_imports contents num_parameters size inputs outputs",
    ),
    "Node": ("{label}{op_type}({inputs}) -> ({outputs})", "name op_type inputs outputs attributes"),
    "OperatorSet": ("'{domain}' version {opset_version}, {size}", "domain opset_version size"),
    "SparseTensor": ("'{name}' {shape}, values {values}", "name dtype shape values"),
    "Tensor": ("'{name}' {dtype} {shape}, {size}, {stored}", "name dtype shape size stored"),
    "ValueInfo": ("'{name}': {type}", "name type"),
}
_FACTS: dict[str, Callable[[Any], str]] = {
    "Attribute.value": value_in_words,
    "Function.name": lambda f: _operator(f.domain, f.name),
    "Function.contents": lambda f: counted(len(f.nodes), "node"),
    "Graph.contents": _contents,
    "Graph.size": lambda g: bytes_in_words(g.initializers._stored_nbytes),
    "Graph.operators": lambda g: _names(f"{name} {n}" for name, n in g.op_counts().items()),
    "Graph.input_names": lambda g: _names(value.name for value in g.inputs),
    "Graph.output_names": lambda g: _names(value.name for value in g.outputs),
    "Model.state": lambda _: "closed",
    "Model.source": _source,
    "Model.producer": lambda m: shortened(f"{m.producer_name} {m.producer_version}".strip()),
    "Model.opset_imports": lambda m: _names(
        f"{domain or 'ai.onnx'} {version}" for domain, version in m.opset_imports.items()
    ),
    "Model.contents": lambda m: _contents(m.graph),
    "Model.inputs": lambda m: _names(m.graph.inputs),
    "Model.outputs": lambda m: _names(m.graph.outputs),
    "Model.parameters": lambda m: counted(m.num_parameters, "parameter"),
    "Model.size": lambda m: bytes_in_words(m.nbytes),
    "Node.op_type": lambda n: _operator(n.domain, n.op_type),
    # Not `n.attributes`, which warns of a repeated name.
    "Node.attributes": lambda n: _names(map(_core.wrap, n.proto.attribute)),
    "Node.label": lambda n: f"'{shortened(n.name)}' " if n.name else "",
    "OperatorSet.size": lambda s: counted(len(s.operators), "operator"),
    "SaveReport.unused": lambda r: _names(f"{n} B of {path}" for path, n in r.unused.items() if n),
    "SparseTensor.dtype": lambda s: type_name(s.proto.values.data_type),
    "SparseTensor.shape": _shape_of,
    "SparseTensor.values": lambda s: shortened(shape_in_words(s.proto.values.dims)),
    "Tensor.dtype": lambda t: type_name(t.proto.data_type),
    "Tensor.shape": _shape_of,
    "Tensor.size": lambda t: bytes_in_words(t.nbytes),
    "Tensor.stored": _place,
    "ValueInfo.type": lambda v: shortened(type_in_words(v.type), _LONGEST_TEXT),
}
