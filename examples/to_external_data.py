"""Move the weights of a model into a data file beside it, from file to file.

python examples/to_external_data.py MODEL OUT
"""

import argparse
from pathlib import Path

import onnxmap

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model")
parser.add_argument("out", type=Path)
arguments = parser.parse_args()

with onnxmap.load(arguments.model) as model:
    report = onnxmap.save(model, arguments.out, external_data=f"{arguments.out.name}.data")
for file in map(Path, report.files):
    print(f"{file.name}: {file.stat().st_size:,} bytes")
