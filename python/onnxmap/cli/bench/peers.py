"""The same work done by onnxmap and by each of its peers, each in its usual way.

Only this file and `interop/` import the peers, and this file does so only in measured processes. It
must not import onnxmap for a peer: `bench/` loads it by its path, without the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]
    Outline = tuple[list[str], int]

OURS = "onnxmap"
SAFETENSORS = "safetensors"


@dataclass(frozen=True)
class Files:
    """A model, and the files that hold its external data.

    Attributes:
        options: further arguments of `onnxmap.load`. The peers have no such options.
    """

    model: str
    data: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def all(self) -> list[str]:
        """All paths."""
        return [self.model, *self.data]


@dataclass(frozen=True)
class Peer:
    """What a library can do. A function is None if the library cannot do it.

    Attributes:
        open: reads the structure and returns an object for the model.
        outline: takes the object of `open`; returns the names of the initializers and the number
            of nodes.
        arrays: returns every initializer as an array, by name.
        copies: the same, but each array is writable and has its own memory.
        each: yields one array after another, and keeps none.
    """

    open: Callable[[Files], Any] | None = None
    outline: Callable[[Any], Outline] | None = None
    arrays: Callable[[Files], Arrays] | None = None
    copies: Callable[[Files], Arrays] | None = None
    each: Callable[[Files], Iterator[np.ndarray[Any, Any]]] | None = None


def onnxmap() -> Peer:
    """onnxmap: views of the file."""
    import ml_dtypes  # noqa: F401  onnxmap imports it at first use; the peers import it at once

    import onnxmap

    def load(files: Files) -> onnxmap.Model:
        return onnxmap.load(files.model, **files.options)

    def each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
        with load(files) as model, model.stream() as arrays:
            for _, array in arrays:
                yield array

    return Peer(
        open=load,
        outline=lambda model: (model.initializers.names(), len(model.graph.nodes)),
        arrays=lambda files: load(files).views(),
        copies=lambda files: onnxmap.load_arrays(files.model, **files.options),
        each=each,
    )


def onnx() -> Peer:
    """The official package: messages of protobuf, then `numpy_helper`."""
    import onnx
    from onnx import external_data_helper, numpy_helper

    def arrays(files: Files) -> Arrays:
        tensors = onnx.load(files.model).graph.initializer
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}

    def each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
        folder = str(Path(files.model).parent)
        for tensor in onnx.load(files.model, load_external_data=False).graph.initializer:
            if external_data_helper.uses_external_data(tensor):
                external_data_helper.load_external_data_for_tensor(tensor, folder)
            yield numpy_helper.to_array(tensor)
            tensor.ClearField("raw_data")

    return Peer(
        open=lambda files: onnx.load(files.model, load_external_data=False),
        outline=lambda model: (
            [tensor.name for tensor in model.graph.initializer],
            len(model.graph.node),
        ),
        arrays=arrays,
        copies=lambda files: _copied(arrays(files)),
        each=each,
    )


def onnx_ir() -> Peer:
    """onnx-ir: objects over protobuf; external data are mapped, one tensor at a time."""
    import onnx_ir

    def each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
        for value in onnx_ir.load(files.model).graph.initializers.values():
            if value.const_value is not None:
                yield value.const_value.numpy()

    def arrays(files: Files) -> Arrays:
        return {
            name: value.const_value.numpy()
            for name, value in onnx_ir.load(files.model).graph.initializers.items()
            if value.const_value is not None
        }

    return Peer(
        open=lambda files: onnx_ir.load(files.model),
        outline=lambda model: (list(model.graph.initializers), len(model.graph)),
        arrays=arrays,
        copies=lambda files: _copied(arrays(files)),
        each=each,
    )


def onnxruntime() -> Peer:
    """onnxruntime: a session without optimisations, the least that it can make of a model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4  # failures come as exceptions

    def session(files: Files) -> Any:
        return onnxruntime.InferenceSession(
            files.model, options, providers=["CPUExecutionProvider"]
        )

    return Peer(open=session)


def onnx2() -> Peer:
    """onnx2 of onnx-extended: a C++ reader that can skip weights, but reads no external data."""
    import ml_dtypes
    import numpy as np
    from onnx_extended import onnx2

    # By number of TensorProto.DataType: the types whose `raw_data` NumPy can view.
    dtypes: dict[int, Any] = {
        1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
        9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
        16: ml_dtypes.bfloat16,
    }  # fmt: skip

    def arrays(files: Files) -> Arrays:
        model = onnx2.load(files.model)  # the tensors do not keep it alive
        return {
            tensor.name: np.frombuffer(tensor.raw_data, dtypes[int(tensor.data_type)]).reshape(
                tuple(tensor.dims)
            )
            for tensor in model.graph.initializer
        }

    return Peer(
        open=lambda files: onnx2.load(files.model, skip_raw_data=True),
        outline=lambda model: (
            [tensor.name for tensor in model.graph.initializer],
            len(model.graph.node),
        ),
        arrays=arrays,
        copies=lambda files: _copied(arrays(files)),
    )


def safetensors() -> Peer:
    """safetensors: the same bytes, if all of them are in files of that format."""
    import ml_dtypes  # noqa: F401  for bfloat16
    from safetensors import safe_open
    from safetensors.numpy import load_file

    def each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
        for path in files.data:
            with safe_open(path, framework="numpy") as file:
                for name in file.keys():  # noqa: SIM118 not a dict
                    yield file.get_tensor(name)

    def copies(files: Files) -> Arrays:
        return {name: array for path in files.data for name, array in load_file(path).items()}

    return Peer(arrays=copies, copies=copies, each=each)


def _copied(arrays: Arrays) -> Arrays:
    """Writable arrays. An array that is writable already is not shared."""
    return {
        name: array if array.flags.writeable else array.copy() for name, array in arrays.items()
    }


class Contender(NamedTuple):
    """A peer and its package.

    Attributes:
        module: the module to import; if it is missing, the peer is not installed.
        distribution: the distribution that installs it, and has its version.
        make: imports the peer and returns what it can do.
    """

    module: str
    distribution: str
    make: Callable[[], Peer]


# By name in tables.
PEERS = {
    OURS: Contender("onnxmap", "onnxmap", onnxmap),
    "onnx": Contender("onnx", "onnx", onnx),
    "onnx-ir": Contender("onnx_ir", "onnx-ir", onnx_ir),
    "onnxruntime": Contender("onnxruntime", "onnxruntime", onnxruntime),
    "onnx2": Contender("onnx_extended", "onnx-extended", onnx2),
    SAFETENSORS: Contender("safetensors", "safetensors", safetensors),
}
