"""A user's script that compares models, for type checkers; see `lists_of_messages.py`."""

from __future__ import annotations

from typing import assert_type

import onnxmap


def told(a: str, b: onnxmap.Model) -> int:
    diff = onnxmap.diff(a, b, threads=2, progress=True)
    assert_type(diff, onnxmap.ModelDiff)
    assert_type(diff.same, bool)
    assert_type(diff.nodes, onnxmap.DiffList[onnxmap.NodeDiff])
    assert_type(diff.nodes.added, tuple[onnxmap.NodeDiff, ...])
    assert_type(diff.tensors[0], onnxmap.TensorDiff)
    for tensor in diff.tensors.changed:
        assert_type(tensor.max_abs, int | float | None)
        assert_type(tensor.max_abs_at, tuple[int, ...] | None)
    for change in diff.metadata:
        assert_type(change.where, str)
    assert_type(diff.to_dict(), dict[str, object])
    return len(diff.nodes)
