"""Examples of the rules about graphs, their inputs and outputs, and initializers."""

from __future__ import annotations

from check.examples.example import WHOLE, Example

EXAMPLES = [
    Example(
        "graph.name",
        "graph",
        base=WHOLE,
        text='ir_version: 10 opset_import { version: 21 } graph { «|name: "g" »}',
    ),
    Example(
        "graph.value_name",
        "graph.input[1]",
        text='graph { input {«| name: "z"» type { tensor_type { elem_type: 1 shape { } } } } }',
    ),
    Example(
        "graph.value_type",
        "graph.input[1]",
        broken='graph { input { name: "z" } }',
        kept='graph { input { name: "z" type { tensor_type { elem_type: 1 shape { } } } } }',
    ),
    Example(
        "graph.value_shape",
        "graph.input[1]",
        broken='graph { input { name: "z" type { tensor_type { elem_type: 1 } } } }',
        kept="""
            graph {
              input {
                name: "z"
                type { tensor_type { elem_type: 1 shape { dim { } dim { dim_param: "n" } } } }
              }
            }
        """,
    ),
    Example(
        "graph.output_repeated",
        "graph.output[1]",
        broken='graph { output { name: "y" type { tensor_type { elem_type: 1 shape { } } } } }',
        kept="""
            graph {
              node { op_type: "Identity" input: "y" output: "z" }
              output { name: "z" type { tensor_type { elem_type: 1 shape { } } } }
            }
        """,
    ),
    Example(
        "graph.output_undefined",
        "graph.output[1]",
        broken='graph { output { name: "z" type { tensor_type { elem_type: 1 shape { } } } } }',
        kept="""
            graph {
              node { op_type: "Identity" input: "y" output: "z" }
              output { name: "z" type { tensor_type { elem_type: 1 shape { } } } }
            }
        """,
    ),
    Example(
        "graph.output_undefined",
        'graph.node[1].attribute["body"].g.output[0]',
        broken="""
            graph {
              node {
                op_type: "Scan" input: "x" output: "z"
                attribute { name: "num_scan_inputs" type: INT i: 1 }
                attribute {
                  name: "body"
                  type: GRAPH
                  g { name: "body" input { name: "i" } output { name: "x" } }
                }
              }
            }
        """,
        kept="""
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
                    node { op_type: "Identity" input: "x" output: "inner" }
                    output { name: "inner" }
                  }
                }
              }
            }
        """,
    ),
    Example(
        "graph.value_info_repeated",
        "graph.value_info[1]",
        broken="""
            graph {
              node { op_type: "Relu" input: "x" output: "z" }
              value_info { name: "z" type { tensor_type { elem_type: 1 } } }
              value_info { name: "z" type { tensor_type { elem_type: 1 shape { } } } }
            }
        """,
        kept="""
            graph {
              node { op_type: "Relu" input: "x" output: "z" }
              value_info { name: "z" type { tensor_type { elem_type: 1 shape { } } } }
            }
        """,
    ),
    Example(
        "graph.value_info_inner",
        "graph.value_info[0]",
        broken='graph { value_info { name: "y" type { tensor_type { elem_type: 1 } } } }',
        kept="""
            graph {
              node { op_type: "Relu" input: "x" output: "z" }
              value_info { name: "z" type { tensor_type { elem_type: 1 } } }
            }
        """,
    ),
    Example(
        "graph.value_info_inner",
        "graph.value_info[0]",
        broken='graph { value_info { name: "z" type { tensor_type { elem_type: 1 } } } }',
        kept="""
            graph {
              initializer { name: "z" data_type: 1 float_data: 1 }
              value_info { name: "z" type { tensor_type { elem_type: 1 } } }
            }
        """,
    ),
    Example(
        "graph.initializer_name",
        "graph.initializer[0]",
        text='graph { initializer {«| name: "w"» data_type: 1 float_data: 1 } }',
    ),
    Example(
        "graph.initializer_repeated",
        "graph.initializer[1]",
        text="""
            graph {
              initializer { name: "w" data_type: 1 float_data: 1 }
              initializer { name: «"w"|"v"» data_type: 1 float_data: 2 }
            }
        """,
    ),
    Example(
        "graph.initializer_repeated",
        "graph.sparse_initializer[0]",
        text="""
            graph {
              initializer { name: "w" data_type: 1 float_data: 1 }
              sparse_initializer {
                values { name: «"w"|"v"» data_type: 1 dims: 1 float_data: 2 }
                indices { data_type: 7 dims: 1 int64_data: 3 }
                dims: 10
              }
            }
        """,
    ),
    Example(
        "graph.initializer_input",
        "graph.initializer[0]",
        text="""
            ir_version: 3
            graph { initializer { name: «"w"|"x"» data_type: 1 float_data: 1 } }
        """,
    ),
    Example(
        "graph.initializer_default",
        'graph.node[1].attribute["body"].g.initializer[0]',
        text="""
            graph {
              node {
                op_type: "Loop" input: "" input: "" input: "x" output: "z"
                attribute {
                  name: "body"
                  type: GRAPH
                  g {
                    name: "body"
                    input { name: "i" }
                    input { name: "c" }
                    input { name: «"w"|"v"» }
                    initializer { name: "w" data_type: 1 float_data: 1 }
                    output { name: "c" }
                    output { name: "w" }
                  }
                }
              }
            }
        """,
    ),
    Example(
        "graph.initializer_type",
        "graph.initializer[0]",
        text='graph { initializer { name: "x" data_type: «7 int64_data|1 float_data»: 1 } }',
    ),
    Example(
        "graph.initializer_type",
        "graph.initializer[0]",
        broken='graph { initializer { name: "x" data_type: 1 dims: 1 float_data: 1 } }',
        kept="""
            graph {
              input {
                name: "v"
                type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } } } }
              }
              initializer { name: "v" data_type: 1 dims: 1 float_data: 1 }
            }
        """,
    ),
    Example(
        "graph.metadata_key",
        "graph.metadata_props[1]",
        broken="""
            graph { metadata_props { key: "a" value: "1" } metadata_props { key: "a" value: "2" } }
        """,
        kept='graph { metadata_props { key: "a" } metadata_props { key: "b" } }',
    ),
    Example(
        "graph.metadata_key",
        "graph.input[1].metadata_props[0]",
        text="""
            graph {
              input {
                name: "i" type { tensor_type { elem_type: 1 shape { } } }
                metadata_props { «|key: "a" »value: "1" }
              }
            }
        """,
    ),
    Example(
        "graph.metadata_key",
        "graph.initializer[0].metadata_props[1]",
        broken="""
            graph {
              initializer {
                name: "w" data_type: 1 dims: 1 float_data: 1
                metadata_props { key: "a" } metadata_props { key: "a" }
              }
            }
        """,
        kept="""
            graph {
              initializer {
                name: "w" data_type: 1 dims: 1 float_data: 1 metadata_props { key: "a" }
              }
            }
        """,
    ),
    Example(
        "graph.initializer_unused",
        "graph.initializer[0]",
        broken='graph { initializer { name: "w" data_type: 1 float_data: 1 } }',
        kept="""
            graph {
              initializer { name: "w" data_type: 1 float_data: 1 }
              node { op_type: "Abs" input: "w" output: "z" }
            }
        """,
    ),
    Example(  # a graph in a node uses it
        "graph.initializer_unused",
        "graph.initializer[0]",
        text="""
            graph {
              initializer { name: "w" data_type: 1 float_data: 1 }
              node {
                op_type: "Scan" input: "x" output: "z"
                attribute { name: "num_scan_inputs" type: INT i: 1 }
                attribute {
                  name: "body"
                  type: GRAPH
                  g {
                    name: "body"
                    input { name: "i" }
                    node { op_type: "Abs" input: «"x"|"w"» output: "inner" }
                    output { name: "inner" }
                  }
                }
              }
            }
        """,
    ),
]
