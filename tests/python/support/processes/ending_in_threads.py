"""A process that ends while daemon threads are in onnxmap: `ending_in_threads.py MODEL NAME ...`

One thread loops over each named call, or over all calls if no name is given.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import onnxmap

GOOD = ["w0", "w1", "typed", "packed", "one", "outside"]
ABOUT_A_VALUE = ("producer", "consumers", "uses", "value")  # methods of a graph
SECONDS = 1.0  # at most; the process ends once all threads are in a call


EDITS = (
    "add_output", "add_prefix", "bypass", "clear", "insert_after", "insert_before", "pop",
    "popitem", "remove_output", "rename", "replace", "replace_uses", "revert", "save", "setdefault",
    "update",
)  # fmt: skip


def touch(value: object) -> None:
    """Every property, and every method that only reads, of graphs and similar objects."""
    for name in dir(value):
        if name.startswith("_") or name in ("close", "evict", "proto", "get", "views", *EDITS):
            continue
        found = getattr(value, name)
        if callable(found) and type(value).__name__ in ("Graph", "Function", "Initializers"):
            found(*(["w0"] if name in ABOUT_A_VALUE else []))
    repr(value)


def drain(values: Iterable[object]) -> None:
    deque(values, maxlen=0)


def calls(path: str) -> dict[str, Callable[[], object]]:
    """Every public function, and every method of an object of a model, with arguments that work."""
    data = Path(path).read_bytes()
    single = Path(path + ".tensor").read_bytes()
    model = onnxmap.load(path)
    read = onnxmap.load(path, io="read")
    graph, initializers = model.graph, model.graph.initializers
    tensor, outside = initializers["w0"], initializers["outside"]
    halves = read.graph.initializers["w1"]
    typed = initializers["typed"]
    sparse = graph.sparse_initializers["sparse"]
    node = graph.nodes[0]
    out = np.empty(tensor.shape, np.float64)
    null = Path(os.devnull)
    pickled = pickle.dumps(outside)
    good = onnxmap.load(path + ".good")
    own = f"{path}.{os.getpid()}"  # begins the names of files that no other process writes
    own_name = Path(own).name
    Path(own + ".grows").write_bytes(data)

    def relocated() -> None:
        with onnxmap.relocate(Path(path).parent):
            pickle.loads(pickled)

    def remade() -> None:
        onnxmap.load(path).close()

    def edited() -> None:
        mine = onnxmap.load(path)
        mine.initializers.replace("w0", out)
        mine.initializers.rename("w0", "other")
        mine.graph.nodes.append(onnxmap.make_node("Neg", ["x"], ["y"], name="new"))
        mine.graph.nodes[0].inputs += ["x"]
        mine.graph.nodes["new"].attributes["axis"] = 1
        del mine.graph.nodes[-1]
        pickle.loads(pickle.dumps(mine)).arrays(["w1"])
        mine.save(own + ".edited", sync=False)
        mine.revert()

    return {
        "load": lambda: onnxmap.load(path),
        "load(io=read)": lambda: onnxmap.load(path, io="read"),
        "load(check=full)": lambda: onnxmap.load(path, check="full"),
        "loads": lambda: onnxmap.loads(data),
        "loads_proto": lambda: onnxmap.loads_proto(data, "ModelProto"),
        "load_proto": lambda: onnxmap.load_proto(path, "ModelProto"),
        "load_tensor": lambda: onnxmap.load_tensor(path + ".tensor"),
        "loads_tensor": lambda: onnxmap.loads_tensor(single),
        "loads_value": lambda: onnxmap.loads_value(single, "tensor"),
        "wrap": lambda: onnxmap.wrap(node.proto),
        "load_value": lambda: onnxmap.load_value(path + ".tensor", "tensor"),
        "load_arrays": lambda: onnxmap.load_arrays(path + ".good"),
        "relocate": relocated,
        "Model.close": remade,
        "Model.revert": edited,
        "dumps": lambda: onnxmap.dumps(model),
        "save": lambda: onnxmap.save(good, own + ".save", external_data=False, sync=False),
        "save_all": lambda: onnxmap.save_all({own + ".all": good}, own_name + ".data", sync=False),
        "save_safetensors": lambda: onnxmap.save_safetensors(good, own + ".st", ["w1"], sync=False),
        "load_safetensors": lambda: onnxmap.load_safetensors(path + ".safetensors"),
        "load_npz": lambda: onnxmap.load_npz(path + ".npz"),
        "Model.extract_weights": lambda: good.extract_weights(own + ".npz", ["w1"], sync=False),
        "Model.rebase": lambda: onnxmap.load(path + ".good").rebase(good),
        "Model.prune": lambda: onnxmap.load(path + ".good").prune(),
        "Model.sort": lambda: onnxmap.load(path + ".good").sort(),
        "Model.strip": lambda: onnxmap.load(path + ".good").strip(),
        "Model.lift_constants": lambda: onnxmap.load(path + ".good").lift_constants(),
        "Model.lower_initializers": lambda: onnxmap.load(path + ".good").lower_initializers(),
        "Model.drop_initializer_inputs": lambda: onnxmap.load(
            path + ".good"
        ).drop_initializer_inputs(),
        "Model.assign_names": lambda: onnxmap.load(path + ".good").assign_names(),
        "Model.raise_ir": lambda: onnxmap.load(path).raise_ir(11),
        "Model.dedupe": lambda: onnxmap.load(path + ".good").dedupe(),
        "Model.inline_functions": lambda: onnxmap.load(path + ".good").inline_functions(),
        "Model.set_dims": lambda: onnxmap.load(path + ".good").set_dims({}),
        "Model.extract": lambda: good.extract(["w0"], ["w0"]),
        "merge": lambda: onnxmap.merge(good, good, prefix="b/"),
        "save_tensor": lambda: onnxmap.save_tensor(tensor, own + ".one", sync=False),
        "save_value": lambda: onnxmap.save_value([out], own + ".many", "sequence", sync=False),
        "save_operator_set": lambda: onnxmap.save_operator_set(
            onnxmap.new("OperatorSetProto", magic="ONNXOPSET"), own + ".operators", sync=False
        ),
        "append": lambda: onnxmap.append(own + ".grows", doc_string="x"),
        "new": lambda: onnxmap.new("NodeProto", op_type="Neg", input=["x"]),
        "Model.save": lambda: good.save(own + ".inline", external_data=False, sync=False),
        "Model.unused_bytes": lambda: good.unused_bytes(),
        "Model.arrays": lambda: model.arrays(GOOD),
        "Model.arrays(dtype)": lambda: model.arrays(GOOD, dtype="float16"),
        "Model.stream": lambda: drain(model.stream(GOOD, window="1MB")),
        "Model.stream(dtype)": lambda: drain(model.stream(GOOD, window="1MB", dtype="float16")),
        "Model.views": lambda: model.views(GOOD),
        "Model.prefetch": lambda: model.prefetch(GOOD),
        "Model.evict": lambda: model.evict(GOOD),
        "Model.residency": lambda: model.residency(GOOD),
        "Model.tensors": lambda: drain(model.tensors()),
        "Model.all_nodes": lambda: drain(model.all_nodes()),
        "Model.verify": lambda: model.verify(),
        "Model.external_files": lambda: touch(model),
        "Model.check": lambda: model.check(values=True),
        "Model.stats": lambda: model.stats(GOOD),
        "diff": lambda: onnxmap.diff(model, good),
        "Model.to_dask": lambda: model.to_dask(["w0"]),
        "Initializers": lambda: (touch(initializers), drain(initializers.all())),
        "Initializers.views": lambda: initializers.views(["w0", "outside"]),
        "Graph": lambda: touch(graph),
        "Tensor.numpy": lambda: tensor.numpy(),
        "Tensor.numpy(dtype)": lambda: tensor.numpy("float16"),
        "Tensor.numpy(astype)": lambda: tensor.numpy("complex64"),
        "Tensor.numpy(out)": lambda: tensor.numpy(out=out),
        "Tensor.numpy(copy)": lambda: halves.numpy(copy=True),
        "Tensor.numpy(writable)": lambda: tensor.numpy(writable=True),
        "Tensor.numpy(typed)": lambda: typed.numpy(),
        "Tensor.numpy(outside)": lambda: outside.numpy(),
        "Tensor.tobytes": lambda: tensor.tobytes(),
        "Tensor.tofile": lambda: halves.tofile(io.BytesIO()),
        "Tensor.tofile(path)": lambda: tensor.tofile(null),
        "Tensor.histogram": lambda: (tensor.histogram(), typed.histogram()),
        "Tensor.packed": lambda: initializers["packed"].packed(),
        "Tensor.item": lambda: initializers["one"].item(),
        "Tensor.verify": lambda: outside.verify(),
        "Tensor.__getitem__": lambda: halves[10:20],
        "Tensor.__iter__": lambda: drain(initializers["typed"]),
        "Tensor.__dlpack__": lambda: halves.__dlpack__(max_version=(1, 0), copy=True),
        "Tensor.__buffer__": lambda: bytes(memoryview(halves)),
        "Tensor.__repr__": lambda: (repr(tensor), tensor._repr_html_()),
        "Tensor.__reduce__": lambda: pickle.loads(pickle.dumps(outside)),
        "Tensor": lambda: (touch(tensor), touch(outside), touch(typed)),
        "SparseTensor.to_dense": lambda: sparse.to_dense(),
        "SparseTensor": lambda: touch(sparse),
        "Node": lambda: touch(node),
        "ProtoView": lambda: (str(node.proto), node.proto.ListFields(), node.proto.unknown_fields),
        "errors": lambda: refused(initializers),
    }


def refused(initializers: onnxmap.Initializers) -> None:
    try:
        initializers["missing"].numpy()
    except onnxmap.OnnxMapError:
        return
    raise AssertionError("a tensor without its file was read")


def main() -> None:
    path, *names = sys.argv[1:]
    known = calls(path)
    failures: list[str] = []
    begun = []

    def loop(name: str, call: Callable[[], object], first: threading.Event) -> None:
        try:
            while True:
                call()
                first.set()
        except BaseException as error:  # noqa: BLE001 -- no call may raise anything, not even at the end
            failures.append(f"{name}: {error!r}")
            first.set()

    for name in names or known:
        first = threading.Event()
        begun.append(first)
        threading.Thread(target=loop, args=(name, known[name], first), daemon=True).start()
    deadline = time.monotonic() + SECONDS
    for first in begun:
        first.wait(max(0.0, deadline - time.monotonic()))
    print(json.dumps(failures), flush=True)  # noqa: T201 -- the test reads it


if __name__ == "__main__":
    main()
