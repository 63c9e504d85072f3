"""The tensor I/O of ONNX. Weights of any size open in a millisecond, as NumPy views of the file."""

from __future__ import annotations

import sys as _sys
import typing as _typing
from collections.abc import MutableSequence as _MutableSequence
from collections.abc import Sequence as _Sequence

import numpy as _numpy  # noqa: F401, ICN001 -- the first array must not wait for it

from onnxmap._core import (
    Attribute,
    DeviceConfiguration,
    Function,
    IntIntListEntry,
    MessageList,
    Node,
    NodeDeviceConfiguration,
    Operator,
    ProtoView,
    QuantizationAnnotation,
    ShardedDim,
    ShardingSpec,
    SimpleShardedDim,
    SparseTensor,
    Tensor,
    TrainingInfo,
    ValueInfo,
    ValueList,
    new,
)
from onnxmap._core import UnknownFieldList as _UnknownFieldList
from onnxmap._enums import AttributeType, DataLocation, DataType, OperatorStatus, Version
from onnxmap._graph import Graph, Initializers, Use
from onnxmap._limits import Limits
from onnxmap._loading import load, load_arrays, load_proto, loads, loads_proto, wrap
from onnxmap._loading_data import (
    load_operator_set,
    load_tensor,
    load_test_data,
    load_value,
    loads_tensor,
    loads_value,
)
from onnxmap._model import Model
from onnxmap._operator_set import OperatorSet
from onnxmap._page_cache import Residency, ResidentBytes
from onnxmap._pickling import relocate
from onnxmap.errors import (
    CheckError,
    ChecksumError,
    DataPermissionError,
    EditError,
    ExternalDataError,
    FileChangedError,
    LimitError,
    MissingDataError,
    OnnxMapError,
    ParseError,
    RepeatedKeyWarning,
    SaveError,
    SessionError,
    TensorError,
    TensorWarning,
    TransferTimeoutError,
    UnknownNameError,
    UnsafePathError,
)

if _typing.TYPE_CHECKING:
    from onnxmap._appending import append
    from onnxmap._bridges import from_ir, from_proto
    from onnxmap._checking import CheckReport, Finding
    from onnxmap._diff import diff
    from onnxmap._diff_report import (
        Change,
        DiffList,
        FunctionDiff,
        ModelDiff,
        NodeDiff,
        TensorDiff,
        ValueDiff,
    )
    from onnxmap._new_attributes import make_attribute, make_attribute_ref
    from onnxmap._new_messages import (
        make_function,
        make_graph,
        make_model,
        make_node,
        make_operatorsetid,
        make_opsetid,
        make_sparse_tensor,
    )
    from onnxmap._new_models import from_arrays
    from onnxmap._new_tensors import make_tensor
    from onnxmap._new_types import (
        make_map_type_proto,
        make_optional_type_proto,
        make_sequence_type_proto,
        make_sparse_tensor_type_proto,
        make_sparse_tensor_value_info,
        make_tensor_sequence_value_info,
        make_tensor_type_proto,
        make_tensor_value_info,
        make_value_info,
    )
    from onnxmap._save_options import SaveReport
    from onnxmap._saving import dumps, save, save_all
    from onnxmap._saving_data import save_operator_set, save_tensor, save_value
    from onnxmap._stats import ModelStats, TensorStats
    from onnxmap._text_forms import from_json, from_text

__all__ = [
    "Attribute",
    "AttributeType",
    "Change",
    "CheckError",
    "CheckReport",
    "ChecksumError",
    "DataLocation",
    "DataPermissionError",
    "DataType",
    "DeviceConfiguration",
    "DiffList",
    "EditError",
    "ExternalDataError",
    "FileChangedError",
    "Finding",
    "Function",
    "FunctionDiff",
    "Graph",
    "Initializers",
    "IntIntListEntry",
    "LimitError",
    "Limits",
    "MessageList",
    "MissingDataError",
    "Model",
    "ModelDiff",
    "ModelStats",
    "Node",
    "NodeDeviceConfiguration",
    "NodeDiff",
    "OnnxMapError",
    "Operator",
    "OperatorSet",
    "OperatorStatus",
    "ParseError",
    "ProtoView",
    "QuantizationAnnotation",
    "RepeatedKeyWarning",
    "Residency",
    "ResidentBytes",
    "SaveError",
    "SaveReport",
    "SessionError",
    "ShardedDim",
    "ShardingSpec",
    "SimpleShardedDim",
    "SparseTensor",
    "Tensor",
    "TensorDiff",
    "TensorError",
    "TensorStats",
    "TensorWarning",
    "TrainingInfo",
    "TransferTimeoutError",
    "UnknownNameError",
    "UnsafePathError",
    "Use",
    "ValueDiff",
    "ValueInfo",
    "ValueList",
    "Version",
    "__version__",
    "append",
    "diff",
    "dumps",
    "from_arrays",
    "from_ir",
    "from_json",
    "from_proto",
    "from_text",
    "load",
    "load_arrays",
    "load_operator_set",
    "load_proto",
    "load_tensor",
    "load_test_data",
    "load_value",
    "loads",
    "loads_proto",
    "loads_tensor",
    "loads_value",
    "make_attribute",
    "make_attribute_ref",
    "make_function",
    "make_graph",
    "make_map_type_proto",
    "make_model",
    "make_node",
    "make_operatorsetid",
    "make_opsetid",
    "make_optional_type_proto",
    "make_sequence_type_proto",
    "make_sparse_tensor",
    "make_sparse_tensor_type_proto",
    "make_sparse_tensor_value_info",
    "make_tensor",
    "make_tensor_sequence_value_info",
    "make_tensor_type_proto",
    "make_tensor_value_info",
    "make_value_info",
    "new",
    "relocate",
    "save",
    "save_all",
    "save_operator_set",
    "save_tensor",
    "save_value",
    "wrap",
]

# Pickles, tracebacks and help show a public name without the private module that defines it.
for _name in __all__:
    _value = globals().get(_name)
    _module = getattr(_value, "__module__", "")
    # The classes of _core are sealed.
    if _module.startswith("onnxmap._") and _module != "onnxmap._core":
        _value.__module__ = "onnxmap"

import onnxmap._pickled_models  # noqa: F401 -- registers how models and messages are pickled

_MutableSequence.register(MessageList)
_MutableSequence.register(ValueList)
_Sequence.register(_UnknownFieldList)

if "IPython" in _sys.modules:
    from onnxmap._completion import let_ipython_complete as _let_ipython_complete

    _let_ipython_complete()


# Imported when they are first used: most programs make no messages and save no model.
_LATER = {
    "onnxmap._appending": ("append",),
    "onnxmap._bridges": ("from_ir", "from_proto"),
    "onnxmap._checking": ("CheckReport", "Finding"),
    "onnxmap._diff": ("diff",),
    "onnxmap._diff_report": (
        "Change", "DiffList", "FunctionDiff", "ModelDiff", "NodeDiff", "TensorDiff", "ValueDiff",
    ),
    "onnxmap._new_attributes": ("make_attribute", "make_attribute_ref"),
    "onnxmap._new_messages": (
        "make_function", "make_graph", "make_model", "make_node", "make_operatorsetid",
        "make_opsetid", "make_sparse_tensor",
    ),
    "onnxmap._new_models": ("from_arrays",),
    "onnxmap._new_tensors": ("make_tensor",),
    "onnxmap._new_types": (
        "make_map_type_proto", "make_optional_type_proto", "make_sequence_type_proto",
        "make_sparse_tensor_type_proto", "make_sparse_tensor_value_info",
        "make_tensor_sequence_value_info", "make_tensor_type_proto", "make_tensor_value_info",
        "make_value_info",
    ),
    "onnxmap._save_options": ("SaveReport",),
    "onnxmap._saving": ("dumps", "save", "save_all"),
    "onnxmap._saving_data": ("save_operator_set", "save_tensor", "save_value"),
    "onnxmap._stats": ("ModelStats", "TensorStats"),
    "onnxmap._text_forms": ("from_json", "from_text"),
}  # fmt: skip


def __getattr__(name: str) -> object:
    for module, names in _LATER.items():
        if name in names:
            import importlib

            found = getattr(importlib.import_module(module), name)
            found.__module__ = "onnxmap"
            globals()[name] = found  # found at once from now on
            return found
    if name == "types":  # takes a tenth of the time of this import
        import importlib

        return importlib.import_module("onnxmap.types")
    if name == "__version__":  # importlib.metadata costs a third of an `import numpy`
        from importlib.metadata import version

        return version("onnxmap")
    from onnxmap._names import missing_function

    raise missing_function(name, __all__)


def __dir__() -> list[str]:
    return __all__
