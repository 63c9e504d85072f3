"""Examples of the rules about values: which are defined, where, and in which order."""

from __future__ import annotations

from check.examples.example import Example

EXAMPLES = [
    Example(
        "value.repeated",
        "graph.node[1].output[0]",
        text='graph { node { op_type: "Abs" input: "x" output: «"y"|"z"» } }',
    ),
    Example(
        "value.repeated",
        "graph.input[1]",
        broken='graph { input { name: "x" type { tensor_type { elem_type: 1 shape { } } } } }',
        kept='graph { input { name: "z" type { tensor_type { elem_type: 1 shape { } } } } }',
    ),
    Example(
        "value.shadowed",
        'graph.node[1].attribute["body"].g.node[0].output[0]',
        text="""
            graph {
              node {
                op_type: "Scan" input: "x" output: "z"
                attribute { name: "num_scan_inputs" type: INT i: 1 }
                attribute {
                  name: "body"
                  type: GRAPH
                  g {
                    name: "body"
                    input { name: "i" }
                    node { op_type: "Relu" input: "i" output: «"y"|"inner"» }
                    output { name: «"y"|"inner"» }
                  }
                }
              }
            }
        """,
    ),
    Example(
        "value.shadowed_input",
        'graph.node[1].attribute["body"].g.input[0]',
        text="""
            graph {
              node {
                op_type: "Scan" input: "x" output: "z"
                attribute { name: "num_scan_inputs" type: INT i: 1 }
                attribute {
                  name: "body"
                  type: GRAPH
                  g { name: "body" input { name: «"x"|"inner"» } output { name: «"x"|"inner"» } }
                }
              }
            }
        """,
    ),
    Example(
        "value.undefined",
        "graph.node[1].input[0]",
        text='graph { node { op_type: "Abs" input: «"w"|"y"» output: "z" } }',
    ),
    Example(
        "value.undefined",
        'graph.node[1].attribute["body"].g.node[0].input[0]',
        text="""
            graph {
              node {
                op_type: "Scan" input: "x" output: "z"
                attribute { name: "num_scan_inputs" type: INT i: 1 }
                attribute {
                  name: "body"
                  type: GRAPH
                  g {
                    name: "body"
                    input { name: "i" }
                    node { op_type: "Abs" input: «"w"|"y"» output: "inner" }
                    output { name: "inner" }
                  }
                }
              }
            }
        """,
    ),
    Example(
        "value.unsorted",
        "graph.node[1].input[0]",
        broken="""
            graph {
              node { op_type: "Abs" input: "late" output: "z" }
              node { op_type: "Neg" input: "x" output: "late" }
            }
        """,
        kept="""
            graph {
              node { op_type: "Neg" input: "x" output: "early" }
              node { op_type: "Abs" input: "early" output: "z" }
            }
        """,
    ),
    Example(
        "value.cycle",
        "graph.node[2]",
        text="""
            graph {
              node { op_type: "Add" input: "x" input: «"b"|"y"» output: "a" }
              node { op_type: "Neg" input: "a" output: "b" }
            }
        """,
        also=(("value.unsorted", "graph.node[1].input[1]"),),
        why="in a circle, some node comes before a node whose output it uses",
    ),
]
