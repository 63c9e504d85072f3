"""Rename weights, set attributes of nodes, and save the result.

python examples/edit_model.py MODEL OUT --rename OLD NEW --set NODE ATTRIBUTE VALUE
"""

import argparse
import ast

import onnxmap

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model")
parser.add_argument("out")
parser.add_argument("--rename", nargs=2, action="append", default=[], metavar=("OLD", "NEW"))
parser.add_argument(
    "--set", nargs=3, action="append", default=[], metavar=("NODE", "ATTRIBUTE", "VALUE")
)
arguments = parser.parse_args()

with onnxmap.load(arguments.model) as model:
    model.initializers.rename(dict(arguments.rename))  # with every use of the names
    for node, attribute, value in arguments.set:
        # VALUE is a Python literal: 1, 0.5, [1, 2], 'nearest'.
        model.graph.nodes[node].attributes[attribute] = ast.literal_eval(value)
    report = model.save(arguments.out)
print("wrote", *report.files)
