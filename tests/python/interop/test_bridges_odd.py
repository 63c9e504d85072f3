"""Models on which a bridge once gave wrong values, or took too much memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper
from support.models.sample import external, model_of, write

import onnxmap
from onnxmap.interop import official


@pytest.mark.parametrize("names", [["u", "i", "j"], ["i", "j", "u"], ["ghost", "i", "j"]])
def test_a_converter_that_sorts_what_it_writes(names: list[str]) -> None:
    """onnx's converter writes the value infos in another order."""
    nodes = [
        helper.make_node("Identity", ["x"], ["i"]),
        helper.make_node("Upsample", ["i", "sc"], ["u"]),
        helper.make_node("Identity", ["u"], ["j"]),
        helper.make_node("Add", ["j", "w"], ["y"]),
    ]
    shape = [1, 1, 2, 2]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
    scales = helper.make_tensor("sc", TensorProto.FLOAT, [4], [1.0, 1.0, 1.0, 1.0])
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [scales, weight], value_info=infos)
    opsets = [helper.make_opsetid("", 9)]
    made = helper.make_model(graph, ir_version=5, opset_imports=opsets)
    model = onnxmap.loads(made.SerializeToString())
    model.convert_version(10)
    known = {value.name for value in model.graph.value_infos}
    used = {name for each in model.graph.node_outputs() for name in each}
    assert known >= {"i", "j"} & set(names)
    assert known - used <= {"ghost"}


def test_small_external_tensors_of_the_same_bytes_are_no_large_message(tmp_path: Path) -> None:
    """Else a file of a megabyte would take gigabytes."""
    (tmp_path / "w.data").write_bytes(bytes(63992))
    entries = {"location": "w.data", "length": "63992"}
    count = 2000
    tensors = [external(f"t{i}", [7999], entries, TensorProto.INT64) for i in range(count)]
    path = write(model_of(tensors), tmp_path / "model.onnx")
    sizes: list[int] = []
    real = official.structure_of

    def watched(*arguments: Any) -> bytes:
        data = real(*arguments)
        sizes.append(len(data))
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(official, "structure_of", watched)
        onnxmap.load(path).infer_shapes()
    assert sizes
    assert max(sizes) < 70 << 20
