# Written by tools/generate_stubs.py (make stubs); changes are lost.
# ruff: noqa

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy
from numpy import ndarray as _ndarray
from onnxmap._enums import AttributeType, DataType
from onnxmap._graph import Graph as _Graph
from onnxmap.types import ExternalData

_Message_co = TypeVar("_Message_co", covariant=True)
"""
The C++ core of onnxmap. Use the package onnxmap, not this.
"""
import collections.abc
import typing

__all__: list[str] = [
    "Attribute",
    "Bulk",
    "DeviceConfiguration",
    "Document",
    "ExternalFile",
    "FieldName",
    "Function",
    "Graph",
    "IntIntListEntry",
    "MessageIterator",
    "MessageList",
    "Node",
    "NodeDeviceConfiguration",
    "Operator",
    "ProtoView",
    "QuantizationAnnotation",
    "ShardedDim",
    "ShardingSpec",
    "SimpleShardedDim",
    "SparseTensor",
    "Stream",
    "Tensor",
    "TensorNames",
    "TrainingInfo",
    "UnknownField",
    "UnknownFieldIterator",
    "UnknownFieldList",
    "ValueInfo",
    "data_type_bits",
    "data_type_facts",
    "enum_values",
    "external_file",
    "friendly",
    "is_safe_location",
    "is_stopped",
    "kernel_paths",
    "kernels_in_use",
    "load_buffer",
    "load_file",
    "load_remote",
    "metadata_props",
    "numpy_dtype",
    "opset_imports",
    "plan_bulk",
    "schema",
    "start_stream",
    "tensor_path",
    "use_kernels",
    "wrap",
]

class Document:
    """
    A loaded file or buffer.
    """

    def root(self) -> Any: ...
    def tensors(self) -> builtins.list[tuple[str, Tensor]]: ...
    @property
    def io(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def proto(self) -> ProtoView: ...

class MessageIterator(Iterator[_Message_co]):
    def __next__(self) -> _Message_co: ...

class MessageList(Sequence[_Message_co]):
    """
    A repeated message field: an immutable sequence whose elements are made when asked for.
    """

    @typing.overload
    def __getitem__(self, index: typing.SupportsIndex) -> _Message_co: ...
    @typing.overload
    def __getitem__(self, index: slice) -> builtins.list[_Message_co]: ...
    def __iter__(self) -> Iterator[_Message_co]: ...
    def __len__(self) -> int: ...

class UnknownField:
    """
    A field that the schema does not know. `data` is an int, bytes, or, for a group, an UnknownFieldList.
    """

    @property
    def data(self) -> Any: ...
    @property
    def field_number(self) -> int: ...
    @property
    def wire_type(self) -> int: ...

class UnknownFieldIterator(Iterator[UnknownField]):
    def __next__(self) -> UnknownField: ...

class UnknownFieldList(Sequence[UnknownField]):
    """
    Fields that the schema does not know: an immutable sequence whose elements, of class UnknownField, are made when asked for.
    """

    @typing.overload
    def __getitem__(self, index: typing.SupportsIndex) -> UnknownField: ...
    @typing.overload
    def __getitem__(self, index: slice) -> builtins.list[UnknownField]: ...
    def __iter__(self) -> Iterator[UnknownField]: ...
    def __len__(self) -> int: ...

class FieldName:
    """
    Name and number of a field.
    """

    def __repr__(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def number(self) -> int: ...

class ProtoView:
    """
    A read-only view of a message under the names of onnx.proto: `view.graph.node[0].op_type`. An absent field reads as protobuf's default, an absent message as an empty view.
    """

    def HasField(self, name: str) -> bool:
        """
        Whether a singular field is present; an explicit default is.
        """

    def ListFields(self) -> builtins.list[tuple[FieldName, Any]]:
        """
        (field, value) of each field that is set, by number.
        """

    def WhichOneof(self, name: str) -> str | None:
        """
        The member that is set, or None.
        """

    def __getattr__(self, arg0: str) -> Any: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def _write_text(
        self, write: Any, longest: typing.SupportsInt | typing.SupportsIndex, limited: bool
    ) -> None:
        """
        Call `write` with the text of to_text(), in parts.
        """

    def to_text(
        self, longest: typing.SupportsInt | typing.SupportsIndex = 18446744073709551615
    ) -> str:
        """
        Return the message in protobuf's text format.

        Text, bytes and runs longer than `longest` are cut.

        Raises:
            LimitError: `limit.text_bytes`: the text has more than `Limits(text_bytes=...)` bytes.
        """

    @property
    def message_type(self) -> str:
        """
        Name of the message, like TensorProto.
        """

    @property
    def unknown_fields(self) -> UnknownFieldList:
        """
        The fields that today's onnx.proto does not know, as a sequence of UnknownField, in file order.
        """

class Node:
    """
    A node of a graph or function.
    """

    def __repr__(self) -> str: ...
    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """
        Read-only mapping of names to Attribute, in file order.
        """

    @property
    def device_configurations(self) -> MessageList[NodeDeviceConfiguration]:
        """
        NodeProto.device_configurations
        """

    @property
    def doc_string(self) -> str:
        """
        NodeProto.doc_string
        """

    @property
    def domain(self) -> str:
        """
        NodeProto.domain
        """

    @property
    def inputs(self) -> builtins.list[str]:
        """
        NodeProto.input
        """

    @property
    def metadata_props(self) -> Mapping[str, str]:
        """
        NodeProto.metadata_props
        """

    @property
    def name(self) -> str:
        """
        NodeProto.name
        """

    @property
    def op_type(self) -> str:
        """
        NodeProto.op_type
        """

    @property
    def outputs(self) -> builtins.list[str]:
        """
        NodeProto.output
        """

    @property
    def overload(self) -> str:
        """
        NodeProto.overload
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

class Attribute:
    """
    An attribute of a node.
    """

    def __repr__(self) -> str: ...
    @property
    def doc_string(self) -> str:
        """
        AttributeProto.doc_string
        """

    @property
    def name(self) -> str:
        """
        AttributeProto.name
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def ref_attr_name(self) -> str:
        """
        AttributeProto.ref_attr_name
        """

    @property
    def type(self) -> AttributeType:
        """
        AttributeType; where the file has none, that of the value which is present.
        """

    @property
    def value(self) -> Any:
        """
        float, int, bytes, Tensor, Graph, SparseTensor, a type, or a list of them; None for a reference to an attribute of the function (`ref_attr_name`).
        """

class ValueInfo:
    """
    Name and type of a value.
    """

    def __repr__(self) -> str: ...
    @property
    def doc_string(self) -> str:
        """
        ValueInfoProto.doc_string
        """

    @property
    def dtype(self) -> DataType | int | None:
        """
        DataType of a tensor, or None.
        """

    @property
    def metadata_props(self) -> Mapping[str, str]:
        """
        ValueInfoProto.metadata_props
        """

    @property
    def name(self) -> str:
        """
        ValueInfoProto.name
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def shape(self) -> tuple[int | str | None, ...] | None:
        """
        Tuple of int, str (dim_param) or None (unknown) per dimension; None: rank unknown.
        """

    @property
    def type(self) -> Any:
        """
        TensorType, SequenceType, MapType ..., or None.
        """

class Function:
    """
    A function that the model defines.
    """

    def __repr__(self) -> str: ...
    @property
    def attribute_protos(self) -> Mapping[str, Attribute]:
        """
        Attributes with a default: read-only mapping of names to Attribute.
        """

    @property
    def attributes(self) -> builtins.list[str]:
        """
        FunctionProto.attribute
        """

    @property
    def doc_string(self) -> str:
        """
        FunctionProto.doc_string
        """

    @property
    def domain(self) -> str:
        """
        FunctionProto.domain
        """

    @property
    def inputs(self) -> builtins.list[str]:
        """
        FunctionProto.input
        """

    @property
    def metadata_props(self) -> Mapping[str, str]:
        """
        FunctionProto.metadata_props
        """

    @property
    def name(self) -> str:
        """
        FunctionProto.name
        """

    @property
    def nodes(self) -> MessageList[Node]:
        """
        FunctionProto.node
        """

    @property
    def opset_imports(self) -> Mapping[str, int]:
        """
        Read-only mapping of domain to version.
        """

    @property
    def outputs(self) -> builtins.list[str]:
        """
        FunctionProto.output
        """

    @property
    def overload(self) -> str:
        """
        FunctionProto.overload
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def since_version(self) -> int:
        """
        FunctionProto.since_version
        """

    @property
    def status(self) -> int:
        """
        FunctionProto.status
        """

    @property
    def value_infos(self) -> MessageList[ValueInfo]:
        """
        FunctionProto.value_info
        """

class TrainingInfo:
    """
    A TrainingInfoProto.
    """

    def __repr__(self) -> str: ...
    @property
    def algorithm(self) -> _Graph | None:
        """
        TrainingInfoProto.algorithm
        """

    @property
    def initialization(self) -> _Graph | None:
        """
        TrainingInfoProto.initialization
        """

    @property
    def initialization_bindings(self) -> Mapping[str, str]:
        """
        TrainingInfoProto.initialization_binding
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def update_bindings(self) -> Mapping[str, str]:
        """
        TrainingInfoProto.update_binding
        """

class Operator:
    """
    A OperatorProto.
    """

    def __repr__(self) -> str: ...
    @property
    def doc_string(self) -> str:
        """
        OperatorProto.doc_string
        """

    @property
    def op_type(self) -> str:
        """
        OperatorProto.op_type
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def since_version(self) -> int:
        """
        OperatorProto.since_version
        """

    @property
    def status(self) -> int:
        """
        OperatorProto.status
        """

class DeviceConfiguration:
    """
    A DeviceConfigurationProto.
    """

    def __repr__(self) -> str: ...
    @property
    def devices(self) -> builtins.list[str]:
        """
        DeviceConfigurationProto.device
        """

    @property
    def name(self) -> str:
        """
        DeviceConfigurationProto.name
        """

    @property
    def num_devices(self) -> int:
        """
        DeviceConfigurationProto.num_devices
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

class NodeDeviceConfiguration:
    """
    A NodeDeviceConfigurationProto.
    """

    def __repr__(self) -> str: ...
    @property
    def configuration_id(self) -> str:
        """
        NodeDeviceConfigurationProto.configuration_id
        """

    @property
    def pipeline_stage(self) -> int:
        """
        NodeDeviceConfigurationProto.pipeline_stage
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def sharding_specs(self) -> MessageList[ShardingSpec]:
        """
        NodeDeviceConfigurationProto.sharding_spec
        """

class ShardingSpec:
    """
    A ShardingSpecProto.
    """

    def __repr__(self) -> str: ...
    @property
    def devices(self) -> builtins.list[int]:
        """
        ShardingSpecProto.device
        """

    @property
    def index_to_device_group_maps(self) -> MessageList[IntIntListEntry]:
        """
        ShardingSpecProto.index_to_device_group_map
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def sharded_dims(self) -> MessageList[ShardedDim]:
        """
        ShardingSpecProto.sharded_dim
        """

    @property
    def tensor_name(self) -> str:
        """
        ShardingSpecProto.tensor_name
        """

class ShardedDim:
    """
    A ShardedDimProto.
    """

    def __repr__(self) -> str: ...
    @property
    def axis(self) -> int:
        """
        ShardedDimProto.axis
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def simple_shardings(self) -> MessageList[SimpleShardedDim]:
        """
        ShardedDimProto.simple_sharding
        """

class SimpleShardedDim:
    """
    A SimpleShardedDimProto.
    """

    def __repr__(self) -> str: ...
    @property
    def dim_param(self) -> str:
        """
        SimpleShardedDimProto.dim_param
        """

    @property
    def dim_value(self) -> int:
        """
        SimpleShardedDimProto.dim_value
        """

    @property
    def num_shards(self) -> int:
        """
        SimpleShardedDimProto.num_shards
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

class IntIntListEntry:
    """
    A IntIntListEntryProto.
    """

    def __repr__(self) -> str: ...
    @property
    def key(self) -> int:
        """
        IntIntListEntryProto.key
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def values(self) -> builtins.list[int]:
        """
        IntIntListEntryProto.value
        """

class QuantizationAnnotation:
    """
    A TensorAnnotation.
    """

    def __repr__(self) -> str: ...
    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def quant_parameter_tensor_names(self) -> Mapping[str, str]:
        """
        TensorAnnotation.quant_parameter_tensor_names
        """

    @property
    def tensor_name(self) -> str:
        """
        TensorAnnotation.tensor_name
        """

class TensorNames:
    """
    The names of a graph's initializers, each once.
    """

    def __contains__(self, name: Any) -> bool: ...
    def __len__(self) -> int: ...
    def find(self, frugal: bool) -> None:
        """
        Find the names now. `frugal`: pages that are looked at are given back.
        """

    def list(self) -> builtins.list[str]:
        """
        In file order.
        """

    def position(self, name: Any) -> int:
        """
        The position in the list of initializers. Raises KeyError, and ParseError `model.duplicate_name` if several tensors that are not segments of one have the name.
        """

class Graph:
    """
    What onnxmap.Graph wraps.
    """

    def absent_pages(self) -> builtins.list[tuple[int, int]]: ...
    def evict(self, positions: Any) -> None: ...
    def field(self, name: str) -> Any:
        """
        The value of a field as the friendly classes have it.
        """

    def initializer(self, position: typing.SupportsInt | typing.SupportsIndex) -> Tensor: ...
    def initializer_dtypes(self) -> builtins.list[DataType | int]: ...
    def initializer_names(self) -> builtins.list[str]: ...
    def initializer_nbytes(self) -> builtins.list[int]: ...
    def initializer_shapes(self) -> builtins.list[tuple[int, ...]]: ...
    def names(self, sparse: bool) -> TensorNames: ...
    def node_inputs(self) -> builtins.list[builtins.list[str]]: ...
    def node_names(self) -> builtins.list[str]: ...
    def node_outputs(self) -> builtins.list[builtins.list[str]]: ...
    def op_counts(self) -> dict[str, int]:
        """
        How often each op_type occurs, the commonest first.
        """

    def op_types(self) -> builtins.list[str]:
        """
        op_type of each node.
        """

    def prefetch(self, positions: Any) -> None: ...
    def residency(self, positions: Any, absent: Any) -> builtins.list[tuple[int, int]]: ...
    def total_nbytes(self) -> int: ...
    def views(self) -> dict[str, _ndarray[Any, Any]]: ...
    def views_at(self, positions: Any) -> dict[str, _ndarray[Any, Any]]: ...
    @property
    def initializer_count(self) -> int: ...
    @property
    def proto(self) -> ProtoView: ...

class Tensor:
    """
    A tensor of a model. Holds the model's bytes; its arrays do, too.
    """

    def __array__(self, dtype: Any = None, copy: Any = None) -> _ndarray[Any, Any]: ...
    def __bool__(self) -> bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, arg0: Any) -> bool: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: Any) -> Tensor: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        """
        A DLPack capsule, flagged read-only, for `torch.from_dlpack` and the like. Of a file it shows copy-on-write pages (a copy, where that costs less), so that a consumer that ignores the flag does no harm; with copy=False the stored bytes themselves. Types of 2, 4 and 6 bits are packed. Raises BufferError for strings.
        """

    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __float__(self) -> float: ...
    def __getitem__(self, key: Any) -> Any:
        """
        What numpy()[key] gives, reading only those bytes where it can.
        """

    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> Any:
        """
        For pickle: by reference where the values are bytes of a file (its path, their place, and enough to notice that the file changed), otherwise by value.
        """

    def __repr__(self) -> str: ...
    def _elements(
        self,
        begin: typing.SupportsInt | typing.SupportsIndex,
        count: typing.SupportsInt | typing.SupportsIndex,
    ) -> _ndarray[Any, Any] | None:
        """
        Some elements, flat, read now; None where they are in a typed field.
        """

    def _file_size(self) -> int | None:
        """
        The size in bytes of the file that has the values, or None.
        """

    def _file_state(self) -> tuple[int, int, int, int] | str | None:
        """
        Device, inode, size and nanosecond of modification of the file of the values when it was opened; text that stands for them where it is behind a URL; or None.
        """

    def _message(self) -> bytes | None:
        """
        The bytes of the message; None for a segment of several.
        """

    def _read(
        self,
        begin: typing.SupportsInt | typing.SupportsIndex,
        nbytes: typing.SupportsInt | typing.SupportsIndex,
    ) -> bytearray:
        """
        Stored bytes, read now.
        """

    def _reference(self) -> tuple[bytes, bytes, bytes, int, int, int, bool] | None:
        """
        Return where another process finds the values, as a tuple, or None.

        The tuple has the path or URL of a folder, the location of the file below it, that location as the model has it, the offset, the number of bytes, the size of the file, and whether the file has another hard link.

        It is None if no file stores the values as they are, or if no name in the folders of the model leads to that very file any longer.
        """

    def _repr_html_(self) -> str: ...
    def item(self) -> Any:
        """
        The value of a tensor of one element, as a Python object.
        """

    def numpy(
        self, dtype: Any = None, *, out: Any = None, copy: Any = None, writable: bool = False
    ) -> _ndarray[Any, Any]:
        """
        The values as an array of shape `shape`: a read-only view of the file where they are stored in whole bytes, raw, externally or as one run of float_data or double_data; otherwise a new array. A view may be unaligned; a new array is aligned to 64 bytes. Types of 2, 4 and 6 bits have a byte per element, as in ml_dtypes.

        Args:
            dtype: convert to this type, a NumPy dtype or an onnxmap.DataType, with the values of `astype`: to nearest, ties to even. Infinite where it is too large.
            out: write the values into this array of the same shape, converted to its dtype, and return it.
            copy: None copies only if it must, True always (the copy is writable), False raises ValueError instead of copying.
            writable: give an array that may be written to without changing file or model, on copy-on-write pages of the file where that is worth it.

        Raises:
            TensorError: shape, type and stored bytes do not agree.
            ExternalDataError: the external file is missing, short or unsafe.
            FileChangedError: the file is not the one any more that was loaded.
            ValueError: `out` has another shape or is read-only; copy=False, and the values must be decoded or converted.
            TypeError: `out` is no array.
        """

    def packed(self) -> _ndarray[Any, Any]:
        """
        The stored bytes of a 2-, 4- or 6-bit tensor: read-only, uint8, flat, in the layout of raw_data. A view where those bytes can be looked at, a new array where they are in a typed field or a file that is read. Raises TypeError for other types.

        Source: onnx.proto, TensorProto.raw_data.
        """

    def to_ir(self) -> Any:
        """
        The same tensor as an onnx_ir tensor, not copied but for strings.
        """

    def tobytes(self) -> bytes:
        """
        The values in the layout of raw_data, little-endian and packed, in a new bytes object. Raises TypeError for strings.
        """

    def tofile(self, file: Any) -> None:
        """
        Writes what tobytes() gives to a path or to an object with write().
        """

    def torch(self) -> Any:
        """
        A torch tensor that may be written to: on copy-on-write pages of the file, a copy where the values are decoded or in a caller's buffer. Integers of 2 and 4 bits become int8 and uint8.

        Raises:
            TypeError: torch has no such type.
        """

    def verify(self) -> bool:
        """
        Compares the external file with the SHA-1 that the model declares for it, reading all of it. True where they agree, False where none is declared.

        Raises:
            ChecksumError: they differ.
            ExternalDataError: what is declared is no SHA-1; the file cannot be opened.
            FileChangedError: the file is not the one any more that was opened.

        Source: onnx.proto, TensorProto.external_data.
        """

    @property
    def _lenient(self) -> bool: ...
    @property
    def _policy(self) -> tuple[str, bool, str, bool]: ...
    @property
    def _stored_nbytes(self) -> int | None:
        """
        Bytes of the values as they are stored; None where they are in a typed field.
        """

    @property
    def doc_string(self) -> str:
        """
        Documentation in Markdown.
        """

    @property
    def dtype(self) -> DataType:
        """
        DataType. Raises TensorError `tensor.dtype`.
        """

    @property
    def external(self) -> ExternalData | None:
        """
        Location, offset, length and checksum as the model has them.
        """

    @property
    def file(self) -> str | None:
        """
        Path of the file that holds the bytes, or None.
        """

    @property
    def is_aligned(self) -> bool:
        """
        Whether that view is aligned for its type.
        """

    @property
    def is_external(self) -> bool:
        """
        Whether the values are in another file.
        """

    @property
    def is_view(self) -> bool:
        """
        Whether numpy() gives a view.
        """

    @property
    def metadata_props(self) -> Mapping[str, str]:
        """
        Read-only mapping of names to values.
        """

    @property
    def name(self) -> str:
        """
        Name, or an empty string.
        """

    @property
    def nbytes(self) -> int:
        """
        Bytes that the values take as they are stored.
        """

    @property
    def ndim(self) -> int:
        """
        Number of dimensions.
        """

    @property
    def offset(self) -> int | None:
        """
        Position of the bytes in that file in bytes, or None.
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """
        Tuple of int. Raises TensorError.
        """

    @property
    def size(self) -> int:
        """
        Number of elements. Raises TensorError.
        """

class SparseTensor:
    """
    Values and where they stand.
    """

    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dense(self, *, max_bytes: Any = None) -> _ndarray[Any, Any]:
        """
        The dense tensor as a fresh, writable array: zeros (empty strings for STRING) but for the values.

        Args:
            max_bytes: how large it may become; by default `Limits(dense_bytes=...)` of the load.

        Raises:
            LimitError: `limit.dense_bytes`: it would be larger.
            TensorError: `tensor.sparse_*`: values, indices and shape do not agree.
        """

    def to_scipy(self) -> Any:
        """
        The same as a `scipy.sparse.coo_array`; its indices are copied, its values where they must be.

        Raises:
            TensorError: as `to_dense`.
            ValueError: SciPy has no arrays of this type or number of dimensions.
        """

    @property
    def _dense_bytes(self) -> int: ...
    @property
    def _path(self) -> str: ...
    @property
    def dtype(self) -> DataType:
        """
        DataType of the values.
        """

    @property
    def indices(self) -> Tensor:
        """
        Tensor of shape [nnz] (linear) or [nnz, rank].
        """

    @property
    def name(self) -> str:
        """
        Name of its values, which is the sparse tensor's.
        """

    @property
    def nnz(self) -> int:
        """
        Number of stored values.
        """

    @property
    def proto(self) -> ProtoView:
        """
        The source message under the exact names of onnx.proto.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """
        Shape of the dense tensor.
        """

    @property
    def values(self) -> Tensor:
        """
        Tensor of shape [nnz].
        """

class ExternalFile:
    """
    A data file as it was when it was opened. Holds it open.
    """

    def check_unchanged(self) -> None:
        """
        Raises FileChangedError where its size or time of modification is another by now; with `watch=False` it does not look.
        """

    def readinto(self, offset: typing.SupportsInt | typing.SupportsIndex, buffer: Any) -> None:
        """
        Fills the buffer with what the file has from `offset` on, by reading and not through a mapping.

        Raises:
            FileChangedError: the file is shorter by now.
        """

    @property
    def identity(self) -> tuple[int, int]:
        """
        Device and inode; another pair for a remote file.
        """

    @property
    def path(self) -> str:
        """
        Its path.
        """

    @property
    def size(self) -> int:
        """
        In bytes.
        """

class Bulk:
    """
    Initializers that are to be read, each found and checked.
    """

    def arrays(
        self, threads: typing.SupportsInt | typing.SupportsIndex, tell: Any
    ) -> dict[str, _ndarray[Any, Any]]:
        """
        All as fresh arrays by name. `tell` is None, or called with the bytes that are done, some 20 times a second.
        """

    @property
    def nbytes(self) -> int:
        """
        Bytes of all arrays but those of strings.
        """

    @property
    def streamed_nbytes(self) -> int:
        """
        The same, once NumPy has converted what no kernel does.
        """

class Stream:
    """
    What onnxmap._bulk.TensorStream wraps.
    """

    def next(self) -> tuple[str, _ndarray[Any, Any]] | None:
        """
        The next name and array; None at the end.
        """

    def stop(self) -> None:
        """
        Ends it, and all work for it.
        """

def data_type_bits(number: typing.SupportsInt | typing.SupportsIndex) -> int:
    """
    Bits of one element; 0 where they have no fixed width.
    """

def data_type_facts() -> builtins.list[tuple[str, int, int, str, str]]:
    """
    Per element type: name, number, bits, typed field, NumPy name.
    """

def enum_values(name: str) -> dict[str, int]:
    """
    Members of an enum of the schema.
    """

def external_file(tensor: Tensor) -> ExternalFile | None:
    """
    The file of an external tensor, opened; None for a tensor that is not external.
    """

def friendly(arg0: ProtoView, arg1: str) -> Any:
    """
    The value of a field as the friendly classes have it.
    """

def is_safe_location(location: bytes) -> bool:
    """
    Whether the text of an external location names a file that may be opened.
    """

def is_stopped() -> bool:
    """
    Whether nobody waits for what this thread does for the core any more.
    """

def kernel_paths() -> builtins.list[str]:
    """
    Names of the kernel sets that this machine can run.
    """

def kernels_in_use() -> str:
    """
    Name of the set in use.
    """

def load_buffer(
    buffer: Any, message: str, options: Any, external_root: Any, require_model: bool = False
) -> Document: ...
def load_file(
    path: bytes, message: str, options: Any, external_root: Any, folder: bytes
) -> Document: ...
def load_remote(
    file: Any, message: str, options: Any, external_root: Any, folder: str
) -> Document: ...
def metadata_props(arg0: ProtoView) -> Mapping[str, str]: ...
def numpy_dtype(number: typing.SupportsInt | typing.SupportsIndex) -> numpy.dtype[Any]:
    """
    numpy.dtype of an element type.
    """

def opset_imports(arg0: ProtoView) -> Mapping[str, int]: ...
def plan_bulk(
    graph: Graph,
    positions: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    dtype: Any,
    copies: bool,
    frugal: bool,
) -> Bulk:
    """
    What a bulk read of these initializers has to do.
    """

def schema() -> dict[str, Any]:
    """
    Every message and enum that is read, as dicts.
    """

def start_stream(
    bulk: Bulk,
    window: typing.SupportsInt | typing.SupportsIndex,
    threads: typing.SupportsInt | typing.SupportsIndex,
) -> Stream: ...
def tensor_path(tensor: Tensor) -> str:
    """
    Where in the model it is, like `graph.initializer[3]`.
    """

def use_kernels(name: str) -> None:
    """
    Uses one of them from now on, in the whole process.
    """

def wrap(view: ProtoView) -> Any:
    """
    The friendly object of a message, where its type has one.
    """
