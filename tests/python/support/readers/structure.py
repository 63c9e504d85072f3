"""All ways to read the structure of a cut-off model, and some to edit it. For child processes."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import onnxmap
from onnxmap import cli
from support import wire_bytes as wire
from support.models.paged import FLOAT, PAGE, tensor_message
from support.readers.tensors import answer_of, cuts_of, opened
from support.run_options import EXHAUSTIVE, SANITIZED

MANY = PAGE // (32 if SANITIZED else 16)  # messages of each kind: some pages


def _value(name: bytes) -> bytes:
    dims = wire.blob(1, wire.scalar(1, 5)) + wire.blob(1, wire.blob(2, b"batch"))
    return wire.blob(1, name) + wire.blob(
        2, wire.blob(1, wire.scalar(1, FLOAT) + wire.blob(2, dims))
    )


def _entry(key: bytes, value: bytes) -> bytes:
    return wire.blob(1, key) + wire.blob(2, value)


def _node(number: int) -> bytes:
    tensor = wire.scalar(2, FLOAT) + wire.scalar(1, 1) + wire.blob(9, b"abcd")
    attributes = [
        wire.blob(1, b"count") + wire.scalar(3, number) + wire.scalar(20, 2),
        wire.blob(1, b"mode") + wire.blob(4, b"linear") + wire.scalar(20, 3),
        wire.blob(1, b"value") + wire.blob(5, tensor) + wire.scalar(20, 4),
        wire.blob(1, b"axes") + wire.blob(8, bytes([1, 2, 3])) + wire.scalar(20, 7),
    ]
    text = b"%d" % number
    return (
        wire.blob(1, b"in" + text) + wire.blob(2, b"out" + text) + wire.blob(3, b"node" + text)
        + wire.blob(4, b"Op" + text[:1]) + b"".join(wire.blob(5, one) for one in attributes)
        + wire.blob(6, b"what it does")
    )  # fmt: skip


def _sparse(number: int) -> bytes:
    values = wire.blob(8, b"s%d" % number) + wire.scalar(2, FLOAT) + wire.scalar(1, 1)
    indices = wire.scalar(2, 7) + wire.scalar(1, 1) + wire.blob(7, b"\x03")
    whole = wire.blob(1, values + wire.blob(9, b"abcd")) + wire.blob(2, indices)
    return whole + wire.scalar(3, 10)


def structured_model() -> bytes:
    """Many nodes, initializers, values and functions. The model's own fields come after them."""
    numbers = range(MANY)
    tensor = tensor_message(FLOAT, 1, wire.blob(9, b"abcd"))
    graph = b"".join(
        [
            *(wire.blob(1, _node(n)) for n in numbers),
            *(wire.blob(5, tensor + wire.blob(8, b"t%d" % n)) for n in numbers),  # last name wins
            *(wire.blob(15, _sparse(n)) for n in range(MANY // 8)),
            *(wire.blob(11, _value(b"in%d" % n)) for n in range(9)),
            *(wire.blob(12, _value(b"out%d" % n)) for n in range(9)),
            *(wire.blob(13, _value(b"value%d" % n)) for n in numbers),
            *(wire.blob(16, _entry(b"key%d" % n, b"text")) for n in numbers),
            wire.blob(2, b"the graph"),
            wire.blob(10, b"what it does " * (PAGE // 13)),
        ]
    )
    function = wire.blob(1, b"f") + wire.blob(10, b"local") + wire.blob(7, _node(0)) * MANY
    return b"".join(
        [
            wire.blob(7, graph),
            wire.scalar(1, 10),
            wire.blob(8, wire.blob(1, b"") + wire.scalar(2, 21)),
            wire.blob(2, b"a producer"),
            wire.blob(25, function),
            *(wire.blob(14, _entry(b"key%d" % n, b"text")) for n in range(MANY)),
            wire.blob(6, b"what it is " * (PAGE // 11)),
        ]
    )


def _walk(view: onnxmap.ProtoView) -> int:
    count = 0
    for _, value in view.ListFields():
        for one in value if hasattr(value, "__len__") else [value]:
            count += _walk(one) if isinstance(one, onnxmap.ProtoView) else 1
    return count + len(view.unknown_fields)


STEPS: dict[str, Callable[[onnxmap.Model], Any]] = {
    "op_types": lambda m: m.graph.op_types(),
    "op_counts": lambda m: m.graph.op_counts(),
    "node_names": lambda m: m.graph.node_names(),
    "node_inputs": lambda m: m.graph.node_inputs(),
    "node_outputs": lambda m: m.graph.node_outputs(),
    "names": lambda m: m.initializers.names(),
    "shapes": lambda m: m.initializers.shapes(),
    "dtypes": lambda m: [int(one) for one in m.initializers.dtypes()],
    "nbytes": lambda m: m.initializers.nbytes(),
    "nbytes of all": lambda m: m.nbytes,
    "keys": lambda m: list(m.initializers),
    "is a key": lambda m: "t3" in m.initializers,
    "tensors": lambda m: [where for where, _ in m.tensors()],
    "all tensors": lambda m: [one.name for one in m.initializers.all()],
    "tensor": lambda m: repr(m.initializers["t3"]),
    "tensor's fields": lambda m: [(t.name, t.shape, t.dtype) for _, t in m.tensors()],
    "views": lambda m: sorted(m.views()),
    "last view": lambda m: list(m.views([f"t{MANY - 1}"])),
    "sparse initializers": lambda m: [
        (name, one.shape, one.nnz) for name, one in m.graph.sparse_initializers.items()
    ],
    "dense": lambda m: [s.to_dense().tolist() for s in m.graph.sparse_initializers.values()],
    "nodes": lambda m: [(n.name, n.op_type, n.inputs, n.outputs) for n in m.graph.nodes],
    "last node": lambda m: repr(m.graph.nodes[-1]),
    "texts of nodes": lambda m: [repr(node) + node.doc_string for node in m.graph.nodes],
    "attributes": lambda m: [
        [(a.name, a.type, repr(a.value)) for a in n.attributes.values()] for n in m.graph.nodes
    ],
    "values": lambda m: [(v.name, v.shape, v.dtype, repr(v.type)) for v in m.graph.value_infos],
    "inputs and outputs": lambda m: [
        repr(value) for value in [*m.graph.inputs, *m.graph.outputs]
    ],
    "graph": lambda m: (m.graph.name, m.graph.doc_string, repr(m.graph)),
    "graph's metadata": lambda m: dict(m.graph.metadata_props),
    "metadata": lambda m: dict(m.metadata_props),
    "model's fields": lambda m: (m.ir_version, m.producer_name, dict(m.opset_imports)),
    "doc_string": lambda m: m.doc_string,
    "functions": lambda m: [(f.name, [n.op_type for n in f.nodes]) for f in m.functions],
    "external files": lambda m: m.external_files,
    "repr": repr,
    "page for notebooks": lambda m: m._repr_html_(),
    "text": lambda m: str(m.proto),
    "shortened text": lambda m: m.proto.to_text(20),
    "text of a node": lambda m: str(m.graph.nodes[-1].proto),
    "walk": lambda m: _walk(m.proto),
    "HasField": lambda m: [m.proto.HasField(name) for name in ("doc_string", "model_version")],
    "WhichOneof": lambda m: m.proto.graph.value_info[-1].type.WhichOneof("value"),
    "fields of protobuf": lambda m: (m.proto.doc_string, m.proto.graph.node[-1].attribute[0].i),
    "topological order": lambda m: [node.name for node in m.graph.topological_order()],
}  # fmt: skip

EDITS: dict[str, Callable[[onnxmap.Model], Any]] = {
    "rename a value": lambda m: m.graph.rename("out2", "other"),
    "rename an initializer": lambda m: m.initializers.rename("t3", "other"),
    "set_dims": lambda m: m.set_dims({"batch": 1}),
    "set an attribute": lambda m: m.graph.nodes[-1].attributes.update(count=1),
    "add a node": lambda m: m.graph.nodes.append(m.graph.nodes[-1]),
}


def outcomes(folder: str, way: str, watch: bool) -> dict[str, dict[str, str]]:
    """The result of each step after each cut: {cut: {step: answer}}."""
    path, data, found = Path(folder, "model.onnx"), structured_model(), {}
    steps = STEPS | EDITS
    path.write_bytes(data)
    right = {name: step(opened(path, way)) for name, step in steps.items()}
    for cut, length in cuts_of(len(data)).items():
        if cut == "whole pages" and not (watch or EXHAUSTIVE):
            continue
        found[cut] = {}
        for name, step in steps.items():
            # After a crash, the last line names the step.
            sys.stderr.write(f"{way}, watch={watch}, cut to {cut}: {name}\n")
            path.write_bytes(data)
            model = opened(path, way, watch=watch)
            os.truncate(path, length)
            file, sizes = (None, ()) if way == "buffer" else (path, (len(data), length))
            found[cut][name] = answer_of(partial(step, model), right[name], file, sizes)
    return found


def commands(folder: str) -> dict[str, Any]:
    """The output of each command for a file that is cut off between opening and reading."""
    path, data, found = Path(folder, "model.onnx"), structured_model(), {}
    load = onnxmap.load

    def load_and_cut(*arguments: Any, **options: Any) -> onnxmap.Model:
        model = load(*arguments, **options)
        os.truncate(path, 0)
        return model

    onnxmap.load = load_and_cut
    for words in (
        ["show"],
        ["show", "--json"],
        ["ls"],
        ["ls", "--json"],
        ["dump"],
        ["dump", "--json"],
    ):
        path.write_bytes(data)
        sys.stderr.write(f"{words}\n")
        with (
            contextlib.redirect_stderr(io.StringIO()) as told,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            status = cli.main([words[0], str(path), *words[1:]])
        found[" ".join(words)] = [status, told.getvalue()]
    return found
