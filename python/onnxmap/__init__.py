"""Fast, zero-copy tensor I/O for ONNX models: weights of any size open in a millisecond.

    load(path), loads(buffer)           a Model: maps the file, reads no weights
    load_arrays(path, names)            its weights as new arrays, read in parallel
    model.initializers["w"].numpy()     one weight, a read-only view of the file
    model.graph.nodes["conv1"].op_type  the graph; all fields can be assigned to
    model.check()                       findings by the rules of the ONNX specification
    diff(a, b)                          what differs between two models
    merge(a, b, connect)                two models as one; model.extract(inputs, outputs): a part
    save(model, path, external_data)    writes a model, and says where its weights go
    copy_model(old, new), move_model    copies or moves a model with its data files
    load_tensor, load_value, load_test_data, save_tensor, save_value: other files of ONNX
    make_node, make_tensor, make_model, from_arrays: new messages and models

`help(onnxmap.load)` and so on describe each. The command `onnxmap --help` does the same in a shell.
The guide is docs/guide of the source distribution; docs/tensors.md is about single tensors.
"""

from __future__ import annotations

import numpy as _numpy  # noqa: F401, ICN001 -- the first array must not wait for it

import onnxmap._methods.attach
from onnxmap._base.later import import_module as _import_module

# The public names by module; `__init__.pyi` tells them to type checkers.
_NOW = {
    "_core": (
        "Attribute DeviceConfiguration Function Graph Initializers IntIntListEntry MessageList "
        "Node NodeDeviceConfiguration Operator OperatorSet ProtoView QuantizationAnnotation "
        "ShardedDim ShardingSpec SimpleShardedDim SparseInitializers SparseTensor Tensor "
        "TrainingInfo ValueInfo ValueList new"
    ),
    "_base.enums": "AttributeType DataLocation DataType OperatorStatus Version",
    "_base.limits": "Limits",
    "_files.load": "load load_arrays load_proto loads loads_proto wrap",
    "_files.model": "Model merge",
    "_read.page_cache": "Residency ResidentBytes",
    "errors": (
        "CheckError ChecksumError DataPermissionError EditError ExternalDataError "
        "FileChangedError LimitError MissingDataError OnnxMapError ParseError RepeatedKeyWarning "
        "SaveError SessionError TensorError TensorWarning TransferTimeoutError UnknownNameError "
        "UnsafePathError"
    ),
}
# Imported when they are first used: most programs make no messages and save no model.
_LATER = {
    "_files.append": "append",
    "interop.from_libraries": "from_ir from_proto",
    "_read.checks": "CheckReport Finding",
    "_files.copies": "CopyReport copy_model",
    "_read.checksums": "DataFile verify_files",
    "_files.diff": "diff",
    "_files.moves": "MoveReport move_model",
    "_read.diff_report": "Change DiffList FunctionDiff ModelDiff NodeDiff TensorDiff ValueDiff",
    "_make.attributes": "make_attribute make_attribute_ref",
    "_make.messages": (
        "make_function make_graph make_model make_node make_operatorsetid make_opsetid "
        "make_sparse_tensor"
    ),
    "_files.weight_files": "RebaseReport from_arrays load_npz load_safetensors save_safetensors",
    "_make.tensors": "make_tensor",
    "_make.types": (
        "make_map_type_proto make_optional_type_proto make_sequence_type_proto "
        "make_sparse_tensor_type_proto make_sparse_tensor_value_info "
        "make_tensor_sequence_value_info make_tensor_type_proto make_tensor_value_info "
        "make_value_info"
    ),
    "_write.options": "SaveReport",
    "_files.save": "dumps save save_all",
    "_files.save_values": "save_operator_set save_tensor save_value",
    "_read.stats": "ModelStats TensorStats",
    "_files.load_values": (
        "TestData load_operator_set load_tensor load_test_data load_value loads_tensor loads_value"
    ),
    "_files.text_forms": "from_json from_text",
    "_read.pickled_tensors": "relocate",
    "_show.reports": "DimReport PruneReport",
    "types": "Use",
}
_MODULES = {
    name: f"onnxmap.{module}" for module, names in (_NOW | _LATER).items() for name in names.split()
}
_PUBLIC_MODULES = ("onnxmap._core", "onnxmap.errors", "onnxmap.types")
__all__ = sorted(_MODULES)  # noqa: PLE0605


def _public(name: str) -> object:
    module = _MODULES[name]
    found = getattr(_import_module(module), name)
    # Pickles, tracebacks and help show a public name without the private module that defines it.
    # The classes of _core are sealed.
    if getattr(found, "__module__", "") == module and module not in _PUBLIC_MODULES:
        found.__module__ = "onnxmap"
    return found


globals().update({_name: _public(_name) for _name in " ".join(_NOW.values()).split()})

import onnxmap._files.register_pickles  # noqa: F401 -- registers how models and messages are pickled


def __getattr__(name: str) -> object:
    if name in _MODULES:
        found = globals()[name] = _public(name)  # found at once from now on
        return found
    if name == "types":  # takes a tenth of the time of this import
        return _import_module("onnxmap.types")
    if name == "__version__":  # importlib.metadata costs a third of an `import numpy`
        return _import_module("importlib.metadata").version("onnxmap")
    raise _import_module("onnxmap._show.unknown_names").missing_function(name, __all__)


def __dir__() -> list[str]:
    return __all__
