"""What onnxmap and each of its peers do for `onnxmap bench`: the same work, in each one's usual way.

This is the one place outside `interop/` that imports them, and only in the processes that are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """A model, and the files that its external data are in."""

    model: str
    data: Sequence[str]

    @property
    def all(self) -> list[str]:
        """The paths."""
        return [self.model, *self.data]


@dataclass(frozen=True)
class Peer:
    """What a library can do; None where it has no way to.

    Attributes:
        open: reads the structure and returns something that stands for the model.
        outline: names of the initializers and the number of nodes, of what `open` returned.
        arrays: every initializer as an array, by name.
        copies: the same, each in memory of its own that may be written to.
        each: one array after another, none of them kept.
    """

    open: Callable[[Files], Any] | None = None
    outline: Callable[[Any], Outline] | None = None
    arrays: Callable[[Files], Arrays] | None = None
    copies: Callable[[Files], Arrays] | None = None
    each: Callable[[Files], Iterator[np.ndarray[Any, Any]]] | None = None


def onnxmap() -> Peer:
    """Views; the others' equal."""
    import ml_dtypes  # noqa: F401  imported when it is needed; the others do it at once

    import onnxmap

    def each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
        with onnxmap.load(files.model) as model, model.stream() as arrays:
            for _, array in arrays:
                yield array

    return Peer(
        open=lambda files: onnxmap.load(files.model),
        outline=lambda model: (model.initializers.names(), len(model.graph.nodes)),
        arrays=lambda files: onnxmap.load(files.model).views(),
        copies=lambda files: onnxmap.load_arrays(files.model),
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
    """onnx-ir: objects over protobuf, external data mapped a tensor at a time."""
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
    """onnxruntime: a session without optimisations is the least that it makes of a model."""
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
    """onnx-extended's onnx2: a C++ reader that can leave the weights out. It has no external data."""
    import ml_dtypes
    import numpy as np
    from onnx_extended import onnx2

    # By the numbers of TensorProto.DataType: those whose bytes are in `raw_data` as arrays have them.
    dtypes: dict[int, Any] = {
        1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
        9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
        16: ml_dtypes.bfloat16,
    }  # fmt: skip

    def arrays(files: Files) -> Arrays:
        model = onnx2.load(files.model)  # a name of its own: its tensors do not keep it alive
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
    """safetensors: the same bytes, where all of them are in files of that format."""
    import ml_dtypes  # noqa: F401  for bfloat16
    from safetensors import safe_open
    from safetensors.numpy import load_file

    def each(files: Files) -> Iterator[np.ndarray[Any, Any]]:
        for path in files.data:
            with safe_open(path, framework="numpy") as file:
                for name in file.keys():  # noqa: SIM118 it is no dict
                    yield file.get_tensor(name)

    def copies(files: Files) -> Arrays:
        return {name: array for path in files.data for name, array in load_file(path).items()}

    return Peer(arrays=copies, copies=copies, each=each)


def _copied(arrays: Arrays) -> Arrays:
    """Arrays that may be written to; those that may be already are nobody else's."""
    return {
        name: array if array.flags.writeable else array.copy() for name, array in arrays.items()
    }


class Contender(NamedTuple):
    """Where a peer comes from.

    Attributes:
        module: without it the peer is not installed.
        distribution: what installs it, and has its version.
        make: imports it and tells what it can do.
    """

    module: str
    distribution: str
    make: Callable[[], Peer]


# By what they are called in tables.
PEERS = {
    OURS: Contender("onnxmap", "onnxmap", onnxmap),
    "onnx": Contender("onnx", "onnx", onnx),
    "onnx-ir": Contender("onnx_ir", "onnx-ir", onnx_ir),
    "onnxruntime": Contender("onnxruntime", "onnxruntime", onnxruntime),
    "onnx2": Contender("onnx_extended", "onnx-extended", onnx2),
    SAFETENSORS: Contender("safetensors", "safetensors", safetensors),
}
