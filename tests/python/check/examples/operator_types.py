"""Examples of the rules about the types of the inputs, outputs and subgraphs of operators."""

from __future__ import annotations

from check.examples.example import Example
from check.examples.operator import CONV

CAST = """
graph {{
  node {{ op_type: "Cast" input: "x" output: "z" attribute {{ name: "to" type: INT i: {to} }} }}
}}
"""
IF = """
graph {{
  input {{ name: "c" type {{ tensor_type {{ elem_type: 9 shape {{ }} }} }} }}
  node {{
    op_type: "If" input: "c" {outputs}
    attribute {{
      name: "then_branch" type: GRAPH
      g {{
        name: "then"
        node {{ op_type: "Relu" input: "x" output: "t" }}
        output {{ name: "t" type {{ tensor_type {{ elem_type: 1 }} }} }}
      }}
    }}
    attribute {{
      name: "else_branch" type: GRAPH
      g {{
        name: "else"
        node {{
          op_type: "Cast" input: "x" output: "e" attribute {{ name: "to" type: INT i: {dtype} }}
        }}
        output {{ name: "e" type {{ tensor_type {{ elem_type: {dtype} }} }} }}
      }}
    }}
  }}
}}
"""
LOOP = """
graph {{
  node {{
    op_type: "Loop" input: "" input: "" input: "x" output: "z"
    attribute {{
      name: "body" type: GRAPH
      g {{
        name: "body"
        input {{ name: "i" type {{ tensor_type {{ elem_type: 7 shape {{ }} }} }} }}
        input {{ name: "go" type {{ tensor_type {{ elem_type: 9 shape {{ }} }} }} }}
        input {{ name: "v" type {{ tensor_type {{ elem_type: 1 shape {{ }} }} }} }}
        node {{ op_type: "Identity" input: "go" output: "goes" }}
        node {{
          op_type: "Cast" input: "v" output: "w" attribute {{ name: "to" type: INT i: {dtype} }}
        }}
        output {{ name: "goes" type {{ tensor_type {{ elem_type: 9 shape {{ }} }} }} }}
        output {{ name: "w" type {{ tensor_type {{ elem_type: {dtype} shape {{ }} }} }} }}
      }}
    }}
  }}
}}
"""
TRANSPOSE = """
graph {{
  input {{
    name: "m" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ }} dim {{ dim_value: 3 }} }} }} }}
  }}
  node {{ op_type: "Transpose" input: "m" output: "z" }}
  output {{ name: "z" type {{ tensor_type {{ elem_type: 1 shape {{ {dims} }} }} }} }}
}}
"""
EXAMPLES = [
    Example(  # a weight of another type than the data
        "operator.type",
        "graph.node[1].input[1]",
        broken=CONV.format(dtype=11, channels=2, values="12345678" * 8),
        kept=CONV.format(dtype=1, channels=2, values="1234" * 8),
    ),
    Example(
        "operator.type",
        "graph.node[2].input[0]",
        broken="""
            graph {
              node { op_type: "Shape" input: "x" output: "s" }
              node { op_type: "Softmax" input: "s" output: "z" }
            }
        """,
        kept="""
            graph {
              node { op_type: "Shape" input: "x" output: "s" }
              node {
                op_type: "Cast" input: "s" output: "f" attribute { name: "to" type: INT i: 1 }
              }
              node { op_type: "Softmax" input: "f" output: "z" }
            }
        """,
    ),
    Example(  # half of the model was converted to float16
        "operator.type",
        "graph.node[2].input[1]",
        text="""
            graph {
              node {
                op_type: "Cast" input: "x" output: "h" attribute { name: "to" type: INT i: 10 }
              }
              node { op_type: "Add" input: "h" input: «"x"|"h"» output: "z" }
            }
        """,
    ),
    Example(  # the number of no element type
        "operator.type",
        'graph.node[1].attribute["to"]',
        broken=CAST.format(to=99),
        kept=CAST.format(to=7),
    ),
    Example(
        "operator.type",
        "graph.node[1].input[0]",
        broken="""
            graph {
              input { name: "s" type { sparse_tensor_type { elem_type: 1 shape { } } } }
              node { op_type: "Softmax" input: "s" output: "z" }
            }
        """,
        kept="""
            graph {
              input { name: "s" type { tensor_type { elem_type: 1 shape { } } } }
              node { op_type: "Softmax" input: "s" output: "z" }
            }
        """,
        also=(("type.not_tensor", "graph.input[1]"),),
        why="it is an input of the model",
    ),
    Example(  # an output that no branch makes
        "operator.body",
        'graph.node[1].attribute["then_branch"].g',
        broken=IF.format(outputs='output: "z" output: "more"', dtype=1),
        kept=IF.format(outputs='output: "z"', dtype=1),
        also=(("operator.body", 'graph.node[1].attribute["else_branch"].g'),),
        why="both branches are compared with the node",
    ),
    Example(  # branches of different types
        "operator.body",
        'graph.node[1].attribute["else_branch"].g.output[0]',
        broken=IF.format(outputs='output: "z"', dtype=7),
        kept=IF.format(outputs='output: "z"', dtype=1),
    ),
    Example(  # a value of another type than the next run takes
        "operator.body",
        'graph.node[1].attribute["body"].g.output[1]',
        broken=LOOP.format(dtype=7),
        kept=LOOP.format(dtype=1),
    ),
    Example(
        "value.type",
        "graph.node[1].output[0]",
        text="""
            graph {
              node { op_type: "Abs" input: "x" output: "z" }
              value_info { name: "z" type { tensor_type { elem_type: «11|1» } } }
            }
        """,
    ),
    Example(
        "value.type",
        "graph.value_info[0]",
        text="""
            graph {
              initializer { name: "w" data_type: 1 dims: 1 float_data: 1 }
              value_info { name: "w" type { tensor_type { elem_type: «11|1» } } }
            }
        """,
    ),
    Example(  # of a sequence, whatever its elements are
        "value.type",
        "graph.node[1].output[0]",
        broken="""
            graph {
              node { op_type: "SplitToSequence" input: "x" output: "s" }
              value_info { name: "s" type { tensor_type { elem_type: 1 } } }
            }
        """,
        kept="""
            graph {
              node { op_type: "SplitToSequence" input: "x" output: "s" }
              value_info {
                name: "s" type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } }
              }
            }
        """,
    ),
    Example(
        "value.shape",
        "graph.node[1].output[0]",
        broken=TRANSPOSE.format(dims="dim { dim_value: 2 } dim { }"),
        kept=TRANSPOSE.format(dims="dim { dim_value: 3 } dim { }"),
    ),
]
