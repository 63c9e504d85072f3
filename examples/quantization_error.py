"""Measure what int8 quantization would cost each weight, in bounded memory.

python examples/quantization_error.py MODEL [WINDOW]
"""

import argparse

import numpy as np

import onnxmap

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model")
parser.add_argument("window", nargs="?", default="64MiB", help="memory for reading ahead")
arguments = parser.parse_args()

print("name\tscale\trelative error")
with (
    onnxmap.load(arguments.model) as model,
    model.stream(window=arguments.window, dtype="float32") as weights,
):
    for name, array in weights:
        largest = np.abs(array).max(initial=0) if array.dtype == np.float32 else 0
        if largest == 0:  # integers, strings, zeros
            continue
        scale = largest / 127
        error = np.rint(array / scale) * scale - array
        print(f"{name}\t{scale:.3g}\t{np.linalg.norm(error) / np.linalg.norm(array):.3g}")
