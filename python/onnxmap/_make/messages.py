"""New nodes, graphs and models, as the functions of `onnx.helper` make them.

Each function returns a ProtoView that can be edited, and copies what it is given. Where a function
takes a message, it takes a ProtoView, an object of onnxmap that has one, such as a Graph, or a
message of protobuf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onnxmap import _core
from onnxmap._base.enums import Version
from onnxmap._base.new_message import Message, new_message
from onnxmap._make.attribute_values import new_attribute
from onnxmap._make.tensors import tensor_message

# The version of ONNX's own operators that came with the newest version of the format.
NEWEST_OPSET = 28


def make_node(
    op_type: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    name: str | None = None,
    doc_string: str | None = None,
    domain: str | None = None,
    overload: str | None = None,
    **attributes: Any,
) -> Message:
    """Return a new NodeProto.

    Args:
        op_type: the operator.
        inputs: the names of its inputs; an empty name leaves an optional input out.
        outputs: the names of its outputs.
        name: the name of the node.
        doc_string: its documentation.
        domain: the domain of the operator.
        overload: which one of the functions of that name it calls.
        attributes: the attributes by name, as `make_attribute` takes them. They are sorted by name.
            Those that are None are left out.

    Raises:
        TypeError: `inputs` or `outputs` is a single text, or an attribute has no type of ONNX.
        ValueError: an attribute is an empty list, or a list of different types.

    Example:
        >>> onnxmap.make_node("Gemm", ["x", "w"], ["y"], alpha=0.5, transB=1)  # doctest: +SKIP
    """
    names = {"input": _names("inputs", inputs), "output": _names("outputs", outputs)}
    node = new_message(
        "NodeProto", {"op_type": op_type, **names}, name=name or None,
        doc_string=doc_string or None, domain=domain, overload=overload,
    )  # fmt: skip
    for key, value in sorted(attributes.items()):
        if value is not None:
            node.attribute.append(new_attribute(key, value))
    return node


def _names(what: str, names: Iterable[str]) -> Iterable[str]:
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{what} must be a list of names, not one str: [{names!r}]")
    return names


def make_sparse_tensor(values: Any, indices: Any, dims: Sequence[int]) -> Message:
    """Return a new SparseTensorProto.

    Args:
        values: the values that are not zero, in one dimension: a TensorProto, a Tensor, an array or
            a list. They are copied, external values included.
        indices: where the values are, as int64: for n values, of shape [n] with places in the
            flattened tensor, or of shape [n, rank]. They are copied.
        dims: the shape of the dense tensor.

    Raises:
        TypeError: `values` or `indices` has elements that ONNX has no type for.
        ValueError: a dimension is no number, or out of the range of int64.
        TensorError, ExternalDataError: a Tensor cannot be read.
    """
    values, indices = tensor_message(values), tensor_message(indices)
    return _core.new(
        "SparseTensorProto", values=values, indices=indices, dims=[int(dim) for dim in dims]
    )


def make_graph(
    nodes: Iterable[Any],
    name: str,
    inputs: Iterable[Any],
    outputs: Iterable[Any],
    initializer: Iterable[Any] | None = None,
    doc_string: str | None = None,
    value_info: Iterable[Any] | None = None,
    sparse_initializer: Iterable[Any] | None = None,
) -> Message:
    """Return a new GraphProto. All messages are copied, external data not.

    Args:
        nodes: the nodes: NodeProtos or Nodes.
        name: the name of the graph.
        inputs: its inputs: ValueInfoProtos or ValueInfos.
        outputs: its outputs, in the same forms.
        initializer: its initializers: TensorProtos or Tensors.
        doc_string: its documentation.
        value_info: types of the values in between: ValueInfoProtos or ValueInfos.
        sparse_initializer: its sparse initializers: SparseTensorProtos or SparseTensors.

    Raises:
        TypeError: a message has another type, or the name is no text.
    """
    required = {"node": nodes, "name": name, "input": inputs, "output": outputs}
    return new_message(
        "GraphProto", required, initializer=initializer, sparse_initializer=sparse_initializer,
        value_info=value_info, doc_string=doc_string or None,
    )  # fmt: skip


def make_opsetid(domain: str, version: int) -> Message:
    """Return a new OperatorSetIdProto.

    Args:
        domain: the domain of the operators; empty for ONNX's own.
        version: the version of the set.

    Raises:
        TypeError: the domain is no text, or the version no number.
        ValueError: the version is out of the range of int64.
    """
    return new_message("OperatorSetIdProto", {"domain": domain, "version": version})


make_operatorsetid = make_opsetid


def make_function(
    domain: str,
    fname: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    nodes: Iterable[Any],
    opset_imports: Iterable[Any],
    attributes: Iterable[str] | None = None,
    attribute_protos: Iterable[Any] | None = None,
    doc_string: str | None = None,
    overload: str | None = None,
    value_info: Iterable[Any] | None = None,
) -> Message:
    """Return a new FunctionProto. All messages are copied.

    Args:
        domain: the domain of the function.
        fname: its name.
        inputs: the names of its inputs.
        outputs: the names of its outputs.
        nodes: its nodes: NodeProtos or Nodes.
        opset_imports: the operator sets of its nodes, as `make_opsetid` returns them.
        attributes: the names of attributes that a call must give.
        attribute_protos: attributes with default values: AttributeProtos or Attributes.
        doc_string: its documentation.
        overload: which one of the functions of this name it is.
        value_info: types of its values: ValueInfoProtos or ValueInfos.

    Raises:
        TypeError: a message has another type, a name is no text, or names are a single text.
    """
    required = {
        "domain": domain, "name": fname, "input": _names("inputs", inputs),
        "output": _names("outputs", outputs), "node": nodes, "opset_import": opset_imports,
    }  # fmt: skip
    return new_message(
        "FunctionProto", required, attribute=_names("attributes", attributes or ()),
        attribute_proto=attribute_protos, doc_string=doc_string or None, overload=overload,
        value_info=value_info,
    )  # fmt: skip


def make_model(
    graph: Any,
    *,
    opset_imports: Iterable[Any] | Mapping[str, int] | None = None,
    functions: Iterable[Any] | None = None,
    **fields: Any,
) -> Message:
    """Return a new ModelProto of a graph, of the newest version of the format.

    Args:
        graph: the graph: a GraphProto or a Graph, which is copied, external data not.
        opset_imports: the operator sets, as messages or as a mapping of domains to versions. By
            default, the newest set of ONNX's own operators.
        functions: the functions: FunctionProtos or Functions, which are copied.
        fields: scalar fields of ModelProto, like `producer_name="p"` and `ir_version=10`.

    Raises:
        AttributeError: ModelProto has no scalar field of a name.
        TypeError: a message has another type, or a field a value of another type.
    """
    if opset_imports is None:
        opset_imports = [_core.new("OperatorSetIdProto", version=NEWEST_OPSET)]
    elif isinstance(opset_imports, Mapping):
        opset_imports = [make_opsetid(*each) for each in opset_imports.items()]
    required = {"ir_version": int(Version["IR_VERSION"]), "graph": graph}
    model = new_message("ModelProto", required)
    model.opset_import.extend(opset_imports)
    model.functions.extend(functions or ())
    for field, value in fields.items():
        setattr(model, field, value)
    return model
