"""Compare two models. The exit status is 1 if a weight differs by more than the tolerance.

python examples/compare_models.py A B [TOLERANCE]
"""

import argparse

import onnxmap

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("a")
parser.add_argument("b")
parser.add_argument("tolerance", nargs="?", type=float, default=0.0)
arguments = parser.parse_args()

diff = onnxmap.diff(arguments.a, arguments.b)
print("the models are equivalent" if diff.same else diff)
beyond = [
    each.name
    for each in diff.tensors  # without a distance: added, removed, or of another shape
    if each.max_abs is None or each.max_abs > arguments.tolerance or each.nan_changed
]
print(f"beyond the tolerance: {', '.join(beyond) or 'none'}")
raise SystemExit(bool(beyond))
