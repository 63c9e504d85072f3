"""onnx-extended's onnx2: a C++ reader that can skip weights, but reads no external data."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from onnx_extended import onnx2

from bench.peers.usual import Arrays, Files, Peer, Usual

# By number of TensorProto.DataType: the types whose `raw_data` NumPy can view.
_DTYPES: dict[int, Any] = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
    16: ml_dtypes.bfloat16,
}  # fmt: skip


def _arrays(files: Files) -> Arrays:
    model = onnx2.load(files.model)  # the tensors do not keep it alive
    return {
        tensor.name: np.frombuffer(tensor.raw_data, _DTYPES[int(tensor.data_type)]).reshape(
            tuple(tensor.dims)
        )
        for tensor in model.graph.initializer
    }


_usual = Usual(
    Peer(
        open=lambda files: onnx2.load(files.model, skip_raw_data=True),
        outline=lambda model: (
            [tensor.name for tensor in model.graph.initializer],
            len(model.graph.node),
        ),
        arrays=_arrays,
    )
)
load = _usual.load
views = _usual.views
