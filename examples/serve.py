"""Answer requests with onnxruntime, whose weights are pages of the model's files, not copies.

python examples/serve.py MODEL < REQUESTS

Each line of standard input is a JSON object of inputs; each line of output one of outputs.
"""

import argparse
import json
import sys

import numpy as np

import onnxmap

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model")

with onnxmap.load(parser.parse_args().model) as model:
    # prepack=False keeps onnxruntime from copying weights into the layout of its kernels.
    session = model.session(["CPUExecutionProvider"], prepack=False)
    types = {value.name: value.dtype.numpy() for value in model.graph.inputs}
outputs = [value.name for value in session.get_outputs()]

for line in sys.stdin:
    inputs = {name: np.asarray(value, types[name]) for name, value in json.loads(line).items()}
    arrays = session.run(outputs, inputs)
    answer = {name: array.tolist() for name, array in zip(outputs, arrays, strict=True)}
    print(json.dumps(answer), flush=True)
