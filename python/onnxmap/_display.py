"""One-line descriptions of objects, and their HTML for notebooks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from onnxmap._schema import type_name
from onnxmap._text import bytes_in_words, counted, escape, qualified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from onnxmap import _core

_LONGEST = 80  # characters shown of a name from the file
_MOST_NAMES = 8  # names shown of a list
_MOST_ROWS = 50  # elements shown of a list in a notebook


def _short(text: str) -> str:
    """Return text from a file on one line, printable and not too long."""
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def describe(thing: Any) -> str:
    """Return the `repr` of an object of this package. It never reads the values of a tensor."""
    kind = type(thing).__name__
    words = _DESCRIPTIONS.get(kind, _fields)(thing)
    return f"<onnxmap.{kind}{words and ' '}{words}>"


def describe_html(thing: Any) -> str:
    """Return an HTML table for notebooks: facts of an object, or the first elements of a list."""
    kind = type(thing).__name__
    if kind in _HTML_ROWS:
        rows = [
            _row([(name, "th"), (_short(str(value)), "td")])
            for name, value in _HTML_ROWS[kind](thing)
        ]
        return _table(f"onnxmap.{kind}", rows)
    headings, elements = _elements(thing)
    rows = [_row([(heading, "th") for heading in headings])] if headings else []
    rows += [
        _row([(_short(cell), "td") for cell in cells]) for cells in islice(elements, _MOST_ROWS)
    ]
    if len(thing) > _MOST_ROWS:
        rows.append(_row([(f"... {len(thing) - _MOST_ROWS:,} more", "td")]))
    return _table(repr(thing), rows)


def _html(text: str) -> str:
    import html  # not needed by `import onnxmap`

    return html.escape(text)


def _table(caption: str, rows: Iterable[str]) -> str:
    return f"<table><caption>{_html(caption)}</caption>{''.join(rows)}</table>"


def _row(cells: Iterable[tuple[str, str]]) -> str:
    return (
        "<tr>"
        + "".join(f"<{tag} style='text-align:left'>{_html(text)}</{tag}>" for text, tag in cells)
        + "</tr>"
    )


def _elements(things: Any) -> tuple[tuple[str, ...], Iterator[tuple[str, ...]]]:
    """The headings and the cells of a list: of initializers, of nodes, or of other messages."""
    kind = type(things).__name__
    if kind == "Initializers":
        return ("name", "dtype", "shape", "size", "stored"), map(_tensor_cells, things.all())
    if kind == "SparseInitializers":
        return ("name", "dtype", "shape", "values"), map(_sparse_cells, things.all())
    if kind == "Residency":
        sizes = (
            (name, bytes_in_words(found.resident), bytes_in_words(found.total))
            for name, found in things.items()
        )
        return ("name", "in memory", "size"), sizes
    if kind == "ModelStats":
        return things._headings(), things._rows()
    of = things.type_name
    if len(things) and type(things[0]).__name__ == "ProtoView":
        return (), ((repr(thing),) for thing in things)
    if of == "NodeProto":
        cells = (
            (
                node.name,
                qualified(node.domain, node.op_type),
                _names(node.inputs),
                _names(node.outputs),
            )
            for node in things
        )
        return ("name", "op_type", "inputs", "outputs"), cells
    if of == "ValueInfoProto":
        return ("name", "type"), ((info.name, _type_words(info)) for info in things)
    return (), ((repr(thing),) for thing in things)


def _tensor_cells(tensor: Any) -> tuple[str, ...]:
    dtype, shape, place = _tensor_words(tensor)
    return tensor.name, dtype, shape, bytes_in_words(tensor.nbytes), place


def _sparse_cells(sparse: Any) -> tuple[str, ...]:
    values = sparse.proto.values
    return sparse.name, type_name(values.data_type), _shape_of(sparse), _shape(values.dims)


def _names(texts: Iterable[str]) -> str:
    names = list(texts)
    more = [f"... {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([_short(name) for name in names[:_MOST_NAMES]] + more)


def _shape(dims: Iterable[object]) -> str:
    return f"[{_names('?' if dim is None else str(dim) for dim in dims)}]"


def _shape_of(tensor: _core.Tensor | _core.SparseTensor) -> str:
    from onnxmap.errors import OnnxMapError

    try:
        return _shape(tensor.shape)
    except OnnxMapError:
        return "invalid shape"


def _quoted(text: str) -> str:
    return f"'{_short(text)}'"


def _model(model: Any) -> str:
    if model._document is None:
        return "closed"
    graph = model.graph
    origin = "from a buffer" if model.path is None else _quoted(model.path)
    edited = ", edited" if model.edited else ""
    return (
        f"{origin}{edited}: IR {model.ir_version}, {counted(len(graph.nodes), 'node')}, "
        f"{counted(graph._core.initializer_count, 'initializer')}, {bytes_in_words(model.nbytes)}"
    )


def _graph(graph: Any) -> str:
    return (
        f"{_quoted(graph.name)}: {counted(len(graph.nodes), 'node')}, "
        f"{counted(graph._core.initializer_count, 'initializer')}, "
        f"({_names(v.name for v in graph.inputs)}) -> ({_names(v.name for v in graph.outputs)})"
    )


def _node(node: Any) -> str:
    operator = qualified(_short(node.domain), _short(node.op_type))
    call = f"{operator}({_names(node.inputs)}) -> ({_names(node.outputs)})"
    return f"{_quoted(node.name)} {call}" if node.name else call


def _attribute(attribute: Any) -> str:
    text = f"{_quoted(attribute.name)} {attribute.type.name}"
    if attribute.ref_attr_name:
        return f"{text} = reference to {_quoted(attribute.ref_attr_name)}"
    value = attribute.value
    if isinstance(value, bytes):
        value = value[:_LONGEST]
    if isinstance(value, list) and len(value) > 8:
        return f"{text} = list of {len(value)}"
    return f"{text} = {_short(repr(value))}"


def _value_info(info: Any) -> str:
    return f"{_quoted(info.name)}: {_type_words(info)}"


def _type_words(info: Any) -> str:
    if info.dtype is None:
        return _short(repr(info.type))
    shape = "unknown rank" if info.shape is None else _shape(info.shape)
    return f"{type_name(info.dtype)} {shape}"


def _tensor_words(tensor: Any) -> tuple[str, str, str]:
    from onnxmap.errors import OnnxMapError

    dtype = type_name(tensor.proto.data_type)
    shape = _shape_of(tensor)
    try:
        where = tensor.external
        place = "inline" if where is None else f"in {_quoted(where.location)} at {where.offset}"
    except OnnxMapError:
        place = "invalid external data"
    return dtype, shape, place


def _tensor(tensor: Any) -> str:
    dtype, shape, place = _tensor_words(tensor)
    return f"{_quoted(tensor.name)} {dtype} {shape}, {bytes_in_words(tensor.nbytes)}, {place}"


def _sparse_tensor(sparse: Any) -> str:
    values = _shape(sparse.proto.values.dims)
    return f"{_quoted(sparse.name)} {_shape_of(sparse)}, values {values}"


def _function(function: Any) -> str:
    name = qualified(_short(function.domain), _short(function.name))
    return (
        f"{name}({_names(function.inputs)}) -> "
        f"({_names(function.outputs)}), {counted(len(function.nodes), 'node')}"
    )


def _operator_set(opset: Any) -> str:
    return (
        f"{_quoted(opset.domain)} version {opset.opset_version}, "
        f"{counted(len(opset.operators), 'operator')}"
    )


def _fields(thing: Any) -> str:
    shown = []
    for field, _ in thing.proto.ListFields():
        shown.append(f"{field.name}={_short(repr(getattr(thing.proto, field.name)))}")
    return ", ".join(shown)


def _model_rows(model: Any) -> list[tuple[str, object]]:
    if model._document is None:
        return [("state", "closed")]
    return [
        ("path", model.path or "(buffer)"),
        ("producer", f"{model.producer_name} {model.producer_version}".strip()),
        ("IR version", model.ir_version),
        (
            "operator sets",
            ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in model.opset_imports.items()),
        ),
        ("nodes", len(model.graph.nodes)),
        ("initializers", f"{model.graph._core.initializer_count}, {bytes_in_words(model.nbytes)}"),
        ("inputs", "; ".join(_value_info(info) for info in model.graph.inputs)),
        ("outputs", "; ".join(_value_info(info) for info in model.graph.outputs)),
    ]


def _graph_rows(graph: Any) -> list[tuple[str, object]]:
    count = graph._core.initializer_count
    return [
        ("name", graph.name),
        ("nodes", len(graph.nodes)),
        (
            "operators",
            ", ".join(f"{name} {n}" for name, n in islice(graph.op_counts().items(), _MOST_NAMES)),
        ),
        ("initializers", f"{count}, {bytes_in_words(graph._core.total_nbytes())}"),
        ("inputs", "; ".join(_value_info(info) for info in islice(graph.inputs, _MOST_NAMES))),
        ("outputs", "; ".join(_value_info(info) for info in islice(graph.outputs, _MOST_NAMES))),
    ]


def _node_rows(node: Any) -> list[tuple[str, object]]:
    from onnxmap import _core

    # Not `node.attributes`, which warns of a repeated name.
    attributes = node.proto.attribute
    return [
        ("name", node.name),
        ("op_type", qualified(node.domain, node.op_type)),
        ("inputs", _names(node.inputs)),
        ("outputs", _names(node.outputs)),
        (
            "attributes",
            "; ".join(map(_attribute, map(_core.wrap, islice(attributes, _MOST_NAMES)))),
        ),
    ]


def _tensor_rows(tensor: Any) -> list[tuple[str, object]]:
    dtype, shape, place = _tensor_words(tensor)
    return [
        ("name", tensor.name),
        ("dtype", dtype),
        ("shape", shape),
        ("size", bytes_in_words(tensor.nbytes)),
        ("stored", place),
    ]


def _sparse_rows(sparse: Any) -> list[tuple[str, object]]:
    return [("name", sparse.name), ("shape", _shape_of(sparse)), ("values", sparse.values)]


def _attribute_rows(attribute: Any) -> list[tuple[str, object]]:
    value = attribute.ref_attr_name or attribute.value
    shown = value[:_LONGEST] if isinstance(value, (bytes, list)) else value
    return [("name", attribute.name), ("type", attribute.type.name), ("value", repr(shown))]


def _value_info_rows(info: Any) -> list[tuple[str, object]]:
    return [("name", info.name), ("type", _type_words(info))]


def _function_rows(function: Any) -> list[tuple[str, object]]:
    return [
        ("name", qualified(function.domain, function.name)),
        ("inputs", _names(function.inputs)),
        ("outputs", _names(function.outputs)),
        ("attributes", _names(function.attributes)),
        ("nodes", len(function.nodes)),
    ]


_DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "Model": _model,
    "Graph": _graph,
    "Node": _node,
    "Attribute": _attribute,
    "ValueInfo": _value_info,
    "Tensor": _tensor,
    "SparseTensor": _sparse_tensor,
    "Function": _function,
    "OperatorSet": _operator_set,
}
_HTML_ROWS: dict[str, Callable[[Any], list[tuple[str, object]]]] = {
    "Attribute": _attribute_rows,
    "Function": _function_rows,
    "Graph": _graph_rows,
    "Model": _model_rows,
    "Node": _node_rows,
    "Tensor": _tensor_rows,
    "SparseTensor": _sparse_rows,
    "ValueInfo": _value_info_rows,
}
