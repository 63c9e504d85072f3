"""The tensor I/O of ONNX. Weights of any size open in a millisecond, as NumPy views of the file."""

from __future__ import annotations

import sys as _sys
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
    ExternalDataError,
    FileChangedError,
    LimitError,
    MissingDataError,
    OnnxMapError,
    ParseError,
    RepeatedKeyWarning,
    SaveError,
    TensorError,
    TensorWarning,
    TransferTimeoutError,
    UnknownNameError,
    UnsafePathError,
)

__all__ = [
    "Attribute",
    "AttributeType",
    "CheckError",
    "ChecksumError",
    "DataLocation",
    "DataPermissionError",
    "DataType",
    "DeviceConfiguration",
    "ExternalDataError",
    "FileChangedError",
    "Function",
    "Graph",
    "Initializers",
    "IntIntListEntry",
    "LimitError",
    "Limits",
    "MessageList",
    "MissingDataError",
    "Model",
    "Node",
    "NodeDeviceConfiguration",
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
    "ShardedDim",
    "ShardingSpec",
    "SimpleShardedDim",
    "SparseTensor",
    "Tensor",
    "TensorError",
    "TensorWarning",
    "TrainingInfo",
    "TransferTimeoutError",
    "UnknownNameError",
    "UnsafePathError",
    "Use",
    "ValueInfo",
    "Version",
    "__version__",
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
    "relocate",
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

_Sequence.register(MessageList)
_Sequence.register(_UnknownFieldList)

if "IPython" in _sys.modules:
    from onnxmap._completion import let_ipython_complete as _let_ipython_complete

    _let_ipython_complete()


def __getattr__(name: str) -> object:
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
