"""Show the inputs, operators and largest weights of a model, without reading a weight.

python examples/inspect_model.py MODEL
"""

import argparse

import onnxmap

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model")
path = parser.parse_args().model

with onnxmap.load(path) as model:
    graph, weights = model.graph, model.initializers
    print(f"{path}: IR {model.ir_version}, operator sets {dict(model.opset_imports)}")
    for value in [*graph.inputs, *graph.outputs]:
        print(f"  {value.name}: {value.dtype} {value.shape}")

    print(f"{len(graph.nodes)} nodes")
    for op_type, count in list(graph.op_counts().items())[:5]:  # the most common first
        print(f"  {count} {op_type}")

    print(f"{len(weights)} weights, {model.nbytes:,} bytes")
    for tensor in sorted(weights.all(), key=lambda tensor: tensor.nbytes, reverse=True)[:5]:
        place = tensor.external.location if tensor.external else "inline"
        print(f"  {tensor.name}: {tensor.dtype} {tensor.shape}, {tensor.nbytes:,} bytes, {place}")
