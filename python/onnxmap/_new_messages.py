"""New nodes, graphs and models, as the functions of `onnx.helper` make them.

Each function returns a ProtoView that can be edited, and copies what it is given. Where a function
takes a message, it takes a ProtoView, an object of onnxmap that has one, such as a Graph, or a
message of protobuf.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from onnxmap._enums import Version
from onnxmap._messages import Message, copy_all, copy_into, new_message
from onnxmap._new_attributes import fill_attribute

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    node = new_message("NodeProto")
    node.op_type = op_type
    node.input.extend(_names("inputs", inputs))
    node.output.extend(_names("outputs", outputs))
    if name:
        node.name = name
    if doc_string:
        node.doc_string = doc_string
    if domain is not None:
        node.domain = domain
    if overload is not None:
        node.overload = overload
    for key, value in sorted(attributes.items()):
        if value is not None:
            fill_attribute(node.attribute.add(), key, value, None, None)
    return node


def _names(what: str, names: Iterable[str]) -> Iterable[str]:
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{what} must be a list of names, not one text: [{names!r}]")
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
    from onnxmap._new_tensors import copy_tensor

    sparse = new_message("SparseTensorProto")
    copy_tensor(sparse.values, values)
    copy_tensor(sparse.indices, indices)
    sparse.dims.extend(int(dim) for dim in dims)
    return sparse


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
    graph = new_message("GraphProto")
    copy_all(graph.node, nodes)
    graph.name = name
    copy_all(graph.input, inputs)
    copy_all(graph.output, outputs)
    copy_all(graph.initializer, initializer or ())
    copy_all(graph.sparse_initializer, sparse_initializer or ())
    copy_all(graph.value_info, value_info or ())
    if doc_string:
        graph.doc_string = doc_string
    return graph


def make_opsetid(domain: str, version: int) -> Message:
    """Return a new OperatorSetIdProto.

    Args:
        domain: the domain of the operators; empty for ONNX's own.
        version: the version of the set.

    Raises:
        TypeError: the domain is no text, or the version no number.
        ValueError: the version is out of the range of int64.
    """
    opset = new_message("OperatorSetIdProto")
    opset.domain = domain
    opset.version = version
    return opset


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
    function = new_message("FunctionProto")
    function.domain = domain
    function.name = fname
    function.input.extend(_names("inputs", inputs))
    function.output.extend(_names("outputs", outputs))
    copy_all(function.node, nodes)
    copy_all(function.opset_import, opset_imports)
    function.attribute.extend(_names("attributes", attributes or ()))
    copy_all(function.attribute_proto, attribute_protos or ())
    if doc_string:
        function.doc_string = doc_string
    if overload is not None:
        function.overload = overload
    copy_all(function.value_info, value_info or ())
    return function


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
    model = new_message("ModelProto")
    model.ir_version = int(Version["IR_VERSION"])
    copy_into(model.graph, graph)
    if opset_imports is None:
        model.opset_import.add().version = NEWEST_OPSET
    elif hasattr(opset_imports, "items"):
        opsets = [make_opsetid(domain, version) for domain, version in opset_imports.items()]
        copy_all(model.opset_import, opsets)
    else:
        copy_all(model.opset_import, opset_imports)
    copy_all(model.functions, functions or ())
    for field, value in fields.items():
        setattr(model, field, value)
    return model
