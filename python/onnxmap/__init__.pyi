# Written by tools/generate_stubs.py (make stubs); changes are lost.
# ruff: noqa
from onnxmap._base.enums import AttributeType as AttributeType
from onnxmap._base.enums import DataLocation as DataLocation
from onnxmap._base.enums import DataType as DataType
from onnxmap._base.enums import OperatorStatus as OperatorStatus
from onnxmap._base.enums import Version as Version
from onnxmap._base.limits import Limits as Limits
from onnxmap._core import Attribute as Attribute
from onnxmap._core import DeviceConfiguration as DeviceConfiguration
from onnxmap._core import Function as Function
from onnxmap._core import Graph as Graph
from onnxmap._core import Initializers as Initializers
from onnxmap._core import IntIntListEntry as IntIntListEntry
from onnxmap._core import MessageList as MessageList
from onnxmap._core import Node as Node
from onnxmap._core import NodeDeviceConfiguration as NodeDeviceConfiguration
from onnxmap._core import Operator as Operator
from onnxmap._core import OperatorSet as OperatorSet
from onnxmap._core import ProtoView as ProtoView
from onnxmap._core import QuantizationAnnotation as QuantizationAnnotation
from onnxmap._core import ShardedDim as ShardedDim
from onnxmap._core import ShardingSpec as ShardingSpec
from onnxmap._core import SimpleShardedDim as SimpleShardedDim
from onnxmap._core import SparseInitializers as SparseInitializers
from onnxmap._core import SparseTensor as SparseTensor
from onnxmap._core import Tensor as Tensor
from onnxmap._core import TrainingInfo as TrainingInfo
from onnxmap._core import ValueInfo as ValueInfo
from onnxmap._core import ValueList as ValueList
from onnxmap._core import new as new
from onnxmap._files.append import append as append
from onnxmap._files.copies import CopyReport as CopyReport
from onnxmap._files.copies import copy_model as copy_model
from onnxmap._files.diff import diff as diff
from onnxmap._files.load import load as load
from onnxmap._files.load import load_arrays as load_arrays
from onnxmap._files.load import load_proto as load_proto
from onnxmap._files.load import loads as loads
from onnxmap._files.load import loads_proto as loads_proto
from onnxmap._files.load import wrap as wrap
from onnxmap._files.load_values import TestData as TestData
from onnxmap._files.load_values import load_operator_set as load_operator_set
from onnxmap._files.load_values import load_tensor as load_tensor
from onnxmap._files.load_values import load_test_data as load_test_data
from onnxmap._files.load_values import load_value as load_value
from onnxmap._files.load_values import loads_tensor as loads_tensor
from onnxmap._files.load_values import loads_value as loads_value
from onnxmap._files.model import Model as Model
from onnxmap._files.model import merge as merge
from onnxmap._files.moves import MoveReport as MoveReport
from onnxmap._files.moves import move_model as move_model
from onnxmap._files.save import dumps as dumps
from onnxmap._files.save import save as save
from onnxmap._files.save import save_all as save_all
from onnxmap._files.save_values import save_operator_set as save_operator_set
from onnxmap._files.save_values import save_tensor as save_tensor
from onnxmap._files.save_values import save_value as save_value
from onnxmap._files.text_forms import from_json as from_json
from onnxmap._files.text_forms import from_text as from_text
from onnxmap._files.weight_files import RebaseReport as RebaseReport
from onnxmap._files.weight_files import from_arrays as from_arrays
from onnxmap._files.weight_files import load_npz as load_npz
from onnxmap._files.weight_files import load_safetensors as load_safetensors
from onnxmap._files.weight_files import save_safetensors as save_safetensors
from onnxmap._make.attributes import make_attribute as make_attribute
from onnxmap._make.attributes import make_attribute_ref as make_attribute_ref
from onnxmap._make.messages import make_function as make_function
from onnxmap._make.messages import make_graph as make_graph
from onnxmap._make.messages import make_model as make_model
from onnxmap._make.messages import make_node as make_node
from onnxmap._make.messages import make_operatorsetid as make_operatorsetid
from onnxmap._make.messages import make_opsetid as make_opsetid
from onnxmap._make.messages import make_sparse_tensor as make_sparse_tensor
from onnxmap._make.tensors import make_tensor as make_tensor
from onnxmap._make.types import make_map_type_proto as make_map_type_proto
from onnxmap._make.types import make_optional_type_proto as make_optional_type_proto
from onnxmap._make.types import make_sequence_type_proto as make_sequence_type_proto
from onnxmap._make.types import make_sparse_tensor_type_proto as make_sparse_tensor_type_proto
from onnxmap._make.types import make_sparse_tensor_value_info as make_sparse_tensor_value_info
from onnxmap._make.types import make_tensor_sequence_value_info as make_tensor_sequence_value_info
from onnxmap._make.types import make_tensor_type_proto as make_tensor_type_proto
from onnxmap._make.types import make_tensor_value_info as make_tensor_value_info
from onnxmap._make.types import make_value_info as make_value_info
from onnxmap._read.checks import CheckReport as CheckReport
from onnxmap._read.checks import Finding as Finding
from onnxmap._read.checksums import DataFile as DataFile
from onnxmap._read.checksums import verify_files as verify_files
from onnxmap._read.diff_report import Change as Change
from onnxmap._read.diff_report import DiffList as DiffList
from onnxmap._read.diff_report import FunctionDiff as FunctionDiff
from onnxmap._read.diff_report import ModelDiff as ModelDiff
from onnxmap._read.diff_report import NodeDiff as NodeDiff
from onnxmap._read.diff_report import TensorDiff as TensorDiff
from onnxmap._read.diff_report import ValueDiff as ValueDiff
from onnxmap._read.page_cache import Residency as Residency
from onnxmap._read.page_cache import ResidentBytes as ResidentBytes
from onnxmap._read.pickled_tensors import relocate as relocate
from onnxmap._read.stats import ModelStats as ModelStats
from onnxmap._read.stats import TensorStats as TensorStats
from onnxmap._show.reports import DimReport as DimReport
from onnxmap._show.reports import PruneReport as PruneReport
from onnxmap._write.options import SaveReport as SaveReport
from onnxmap.errors import CheckError as CheckError
from onnxmap.errors import ChecksumError as ChecksumError
from onnxmap.errors import DataPermissionError as DataPermissionError
from onnxmap.errors import EditError as EditError
from onnxmap.errors import ExternalDataError as ExternalDataError
from onnxmap.errors import FileChangedError as FileChangedError
from onnxmap.errors import LimitError as LimitError
from onnxmap.errors import MissingDataError as MissingDataError
from onnxmap.errors import OnnxMapError as OnnxMapError
from onnxmap.errors import ParseError as ParseError
from onnxmap.errors import RepeatedKeyWarning as RepeatedKeyWarning
from onnxmap.errors import SaveError as SaveError
from onnxmap.errors import SessionError as SessionError
from onnxmap.errors import TensorError as TensorError
from onnxmap.errors import TensorWarning as TensorWarning
from onnxmap.errors import TransferTimeoutError as TransferTimeoutError
from onnxmap.errors import UnknownNameError as UnknownNameError
from onnxmap.errors import UnsafePathError as UnsafePathError
from onnxmap.interop.from_libraries import from_ir as from_ir
from onnxmap.interop.from_libraries import from_proto as from_proto
from onnxmap.types import Use as Use
from onnxmap import types as types

__all__ = [
    "Attribute",
    "AttributeType",
    "Change",
    "CheckError",
    "CheckReport",
    "ChecksumError",
    "CopyReport",
    "DataFile",
    "DataLocation",
    "DataPermissionError",
    "DataType",
    "DeviceConfiguration",
    "DiffList",
    "DimReport",
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
    "MoveReport",
    "Node",
    "NodeDeviceConfiguration",
    "NodeDiff",
    "OnnxMapError",
    "Operator",
    "OperatorSet",
    "OperatorStatus",
    "ParseError",
    "ProtoView",
    "PruneReport",
    "QuantizationAnnotation",
    "RebaseReport",
    "RepeatedKeyWarning",
    "Residency",
    "ResidentBytes",
    "SaveError",
    "SaveReport",
    "SessionError",
    "ShardedDim",
    "ShardingSpec",
    "SimpleShardedDim",
    "SparseInitializers",
    "SparseTensor",
    "Tensor",
    "TensorDiff",
    "TensorError",
    "TensorStats",
    "TensorWarning",
    "TestData",
    "TrainingInfo",
    "TransferTimeoutError",
    "UnknownNameError",
    "UnsafePathError",
    "Use",
    "ValueDiff",
    "ValueInfo",
    "ValueList",
    "Version",
    "append",
    "copy_model",
    "diff",
    "dumps",
    "from_arrays",
    "from_ir",
    "from_json",
    "from_proto",
    "from_text",
    "load",
    "load_arrays",
    "load_npz",
    "load_operator_set",
    "load_proto",
    "load_safetensors",
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
    "merge",
    "move_model",
    "new",
    "relocate",
    "save",
    "save_all",
    "save_operator_set",
    "save_safetensors",
    "save_tensor",
    "save_value",
    "verify_files",
    "wrap",
]
__version__: str
