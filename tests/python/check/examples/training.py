"""Examples of the rules about training information."""

from __future__ import annotations

from check.examples.example import Example


def training(parts: str) -> str:
    """Return the text of a model with an initializer "w" and this training information."""
    return f"""\
graph {{ initializer {{ name: "w" data_type: 1 float_data: 1 }} }}
training_info {{
  algorithm {{
    name: "step"
    node {{ op_type: "Neg" input: "w" output: "w_new" }}
    output {{ name: "w_new" }}
  }}
{parts}
}}"""


GOOD = training('  update_binding { key: "w" value: "w_new" }')

NODE = 'node { op_type: "Neg" input: "w" output: "w_new" }'
OUTPUT = 'output { name: "w_new" }'

EXAMPLES = [
    Example(
        "training.key_repeated",
        "training_info[0].update_binding[1]",
        broken=training(
            '  update_binding { key: "w" value: "w_new" }\n'
            '  update_binding { key: "w" value: "w_new" }'
        ),
        kept=GOOD,
    ),
    Example(
        "training.key_unknown",
        "training_info[0].update_binding[0]",
        broken=training('  update_binding { key: "v" value: "w_new" }'),
        kept=GOOD,
    ),
    Example(
        "training.value_unknown",
        "training_info[0].update_binding[0]",
        broken=training('  update_binding { key: "w" value: "w_old" }'),
        kept=GOOD,
    ),
    Example(
        "training.value_unknown",
        "training_info[0].initialization_binding[0]",
        broken=training('  initialization_binding { key: "w" value: "w_new" }'),
        kept=training(
            "  initialization {\n"
            '    name: "first"\n'
            '    node { op_type: "Constant" output: "w_first" }\n'
            '    output { name: "w_first" }\n'
            "  }\n"
            '  initialization_binding { key: "w" value: "w_first" }'
        ),
    ),
    Example(
        "training.initialization_input",
        "training_info[0].initialization.input[0]",
        broken=training('  initialization { name: "first" input { name: "seed" } }'),
        kept=training('  initialization { name: "first" }'),
    ),
    Example(
        "training.name_repeated",
        "training_info[0].algorithm.node[1]",
        broken='graph { node { name: "n" op_type: "Relu" input: "x" output: "z" } }\n'
        + GOOD.replace(NODE, f'{NODE} node {{ name: "n" op_type: "Neg" input: "w" output: "v" }}'),
        kept='graph { node { name: "n" op_type: "Relu" input: "x" output: "z" } }\n'
        + GOOD.replace(NODE, f'{NODE} node {{ name: "m" op_type: "Neg" input: "w" output: "v" }}'),
    ),
    Example(
        "training.name_repeated",
        "training_info[0].algorithm.output[1]",
        broken=GOOD.replace(OUTPUT, f'{OUTPUT} output {{ name: "y" }}'),
        kept=GOOD,
    ),
]
