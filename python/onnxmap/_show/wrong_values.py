"""Values that cannot be assigned: errors that say what to do instead."""

from __future__ import annotations

from onnxmap import _core

# What to do instead of an assignment to a read-only property, whatever class it is of.
_REMEDIES = {
    "edited": "revert() undoes all edits",
    "format": "save(path, format=...) writes another form",
    "graph": "change its fields, or .proto.graph.CopyFrom(graph)",
    "initializers": "assign to its items: initializers[name] = values",
    "name": "initializers.rename(old, new) gives an initializer another name",
    "path": "save(path) writes the model there",
    "proto": "change its fields, or .proto.CopyFrom(message)",
    "sparse_initializers": "assign to its items: sparse_initializers[name] = tensor",
    "type": "assign .value, which sets the type",
}


def read_only(cls: str, name: str) -> AttributeError:
    """Return the error for an assignment to a property of a class that cannot be assigned."""
    of_tensor = "initializers[name] = values replaces the tensor"
    follows = "it follows from other fields, which can be assigned"
    remedy = _REMEDIES.get(name, of_tensor if cls.endswith("Tensor") else follows)
    return AttributeError(f"{cls}.{name} is read-only; {remedy}")


# What makes a message of a type; `new` makes all others.
_MAKERS = {
    "AttributeProto": "make_attribute()",
    "FunctionProto": "make_function()",
    "GraphProto": "make_graph()",
    "NodeProto": "make_node()",
    "OperatorSetIdProto": "make_opsetid()",
    "SparseTensorProto": "make_sparse_tensor()",
    "TensorProto": "make_tensor()",
    "ValueInfoProto": "make_tensor_value_info()",
}


def wrong_message(expected: str, given: object) -> TypeError:
    """Return the error for an object that is no message of the expected type."""
    found = "None" if given is None else _core.message_type_of(given) or type(given).__name__
    if expected == "TypeProto":
        advice = "use a type of onnxmap.types, or a pair such as ('FLOAT', (1, 'n'))"
    elif isinstance(given, list | tuple):
        advice = "give one at a time"
    else:
        advice = f"onnxmap.{_MAKERS.get(expected, f'new({expected!r})')} makes one"
    article = "an" if expected[0] in "AEIO" else "a"
    return TypeError(f"expected {article} {expected}, not {found}; {advice}")
