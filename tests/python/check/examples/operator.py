"""Examples of the rules about the signatures of operators, and the shapes that follow."""

from __future__ import annotations

from check.examples.example import Example

CONV = """
    graph {{
      initializer {{
        name: "w" data_type: {dtype} dims: [4, {channels}, 1, 1] raw_data: "{values}"
      }}
      input {{
        name: "image"
        type {{
          tensor_type {{
            elem_type: 1
            shape {{ dim {{ }} dim {{ dim_value: 2 }} dim {{ }} dim {{ }} }}
          }}
        }}
      }}
      node {{ op_type: "Conv" input: "image" input: "w" output: "z" }}
    }}
"""
CALLED = 'opset_import { domain: "d" version: 1 } graph { node { op_type: "F" domain: "d" %s } }'
FUNCTION = """
    functions {
      name: "F" domain: "d" input: "a" output: "b" attribute: "axis" opset_import { version: 21 }
      node {
        op_type: "Softmax" input: "a" output: "b"
        attribute { name: "axis" type: INT ref_attr_name: "axis" }
      }
    }
"""
CALL = CALLED + FUNCTION

SOFTMAX = """
            graph {
              input {
                name: "m"
                type { tensor_type { elem_type: 1 shape { dim { } dim { dim_value: 3 } } } }
              }
              node {
                op_type: "Softmax" input: "m" output: "z" attribute { name: "axis" type: INT i: %d }
              }
            }
"""
GELU = """
            graph {
              node {
                op_type: "Gelu" input: "x" output: "z"
                attribute { name: "approximate" type: STRING s: "%s" }
              }
            }
"""
EXAMPLES = [
    Example(
        "operator.unknown",
        "graph.node[1]",
        text='graph { node { op_type: «"Relux"|"Relu"» input: "x" output: "z" } }',
    ),
    Example(  # version 21 of ai.onnx does not have it yet
        "operator.unknown",
        "graph.node[1]",
        broken='graph { node { op_type: "RMSNormalization" input: "x" input: "x" output: "z" } }',
        kept='graph { node { op_type: "Identity" input: "x" output: "z" } }',
    ),
    Example(
        "operator.unknown",
        "graph.node[1]",
        broken="""
            opset_import { domain: "ai.onnx.ml" version: 3 }
            graph { node { op_type: "Binarized" domain: "ai.onnx.ml" input: "x" output: "z" } }
        """,
        kept="""
            opset_import { domain: "ai.onnx.ml" version: 3 }
            graph { node { op_type: "Binarizer" domain: "ai.onnx.ml" input: "x" output: "z" } }
        """,
    ),
    Example(
        "operator.deprecated",
        "graph.node[1]",
        broken="""
            graph {
              input { name: "s" type { tensor_type { elem_type: 1 shape { dim { } } } } }
              node { op_type: "Upsample" input: "x" input: "s" output: "z" }
            }
        """,
        kept="""
            graph {
              input { name: "s" type { tensor_type { elem_type: 1 shape { dim { } } } } }
              node { op_type: "Resize" input: "x" input: "" input: "s" output: "z" }
            }
        """,
    ),
    Example(
        "operator.inputs",
        "graph.node[1]",
        broken='graph { node { op_type: "Clip" input: ["x", "x", "x", "x", "x"] output: "z" } }',
        kept='graph { node { op_type: "Sum" input: ["x", "x", "x", "x", "x"] output: "z" } }',
    ),
    Example(
        "operator.inputs",
        "graph.node[1].input[0]",
        broken='graph { node { op_type: "Clip" input: "" input: "x" output: "z" } }',
        kept='graph { node { op_type: "Clip" input: "x" input: "" input: "x" output: "z" } }',
    ),
    Example(
        "operator.inputs",
        "graph.node[1]",
        broken=CALL % 'input: ["x", "x"] output: "z"',
        kept=CALL % 'input: "x" output: "z"',
    ),
    Example(
        "operator.outputs",
        "graph.node[1]",
        text='graph { node { op_type: «"Abs"|"Dropout"» input: "x" output: ["z", "u"] } }',
    ),
    Example(
        "operator.outputs",
        "graph.node[1]",
        broken=CALL % 'input: "x" output: ["z", "u"]',
        kept=CALL % 'input: "x" output: "z"',
    ),
    Example(
        "operator.attribute_unknown",
        'graph.node[1].attribute["axes"]',
        broken="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z" attribute { name: "axes" type: INT i: 0 }
              }
            }
        """,
        kept="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z" attribute { name: "axis" type: INT i: 0 }
              }
              node {
                op_type: "Abs" input: "x" output: "u" attribute { name: "__mine" type: INT i: 0 }
              }
            }
        """,
    ),
    Example(
        "operator.attribute_unknown",
        'graph.node[1].attribute["axes"]',
        broken=CALL % 'input: "x" output: "z" attribute { name: "axes" type: INT i: 0 }',
        kept=CALL % 'input: "x" output: "z" attribute { name: "axis" type: INT i: 0 }',
    ),
    Example(
        "operator.attribute_value",
        'graph.node[1].attribute["axis"]',
        broken=SOFTMAX % 2,
        kept=SOFTMAX % -2,
    ),
    Example(
        "operator.attribute_value",
        'graph.node[1].attribute["approximate"]',
        broken=GELU % "erf",
        kept=GELU % "tanh",
    ),
    Example(
        "operator.attribute_missing",
        "graph.node[1]",
        broken='graph { node { op_type: "Cast" input: "x" output: "z" } }',
        kept="""
            graph {
              node {
                op_type: "Cast" input: "x" output: "z" attribute { name: "to" type: INT i: 7 }
              }
            }
        """,
    ),
    Example(
        "operator.attribute_type",
        'graph.node[1].attribute["axis"]',
        text="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: «FLOAT f|INT i»: 0 }
              }
            }
        """,
    ),
    Example(
        "operator.not_described",
        "",
        broken="""
            opset_import { domain: "org.example" version: 1 }
            graph { node { op_type: "Magic" domain: "org.example" input: "x" output: "z" } }
        """,
        kept="""
            opset_import { domain: "org.example" version: 1 }
            graph { node { op_type: "Abs" input: "x" output: "z" } }
        """,
    ),
    Example(
        "value.shape",
        "graph.node[1].input[1]",
        broken=CONV.format(dtype=1, channels=3, values="1234" * 12),
        kept=CONV.format(dtype=1, channels=2, values="1234" * 8),
    ),
    Example(
        "value.shape",
        "graph.node[1].input[1]",
        text="""
            graph {
              initializer { name: "a" data_type: 1 dims: «2|[3, 1]» float_data: [1, 2«|, 3»] }
              initializer { name: "b" data_type: 1 dims: 3 float_data: [1, 2, 3] }
              node { op_type: "Add" input: "a" input: "b" output: "z" }
            }
        """,
    ),
    Example(
        "value.shape",
        "graph.node[1].input[1]",
        text="""
            graph {
              initializer { name: "a" data_type: 1 dims: [1, «2|3»] float_data: [1, 2«|, 3»] }
              initializer { name: "b" data_type: 1 dims: [3, 1] float_data: [1, 2, 3] }
              node { op_type: "MatMul" input: "a" input: "b" output: "z" }
            }
        """,
    ),
    Example(
        "value.shape",
        "graph.node[1].input[2]",
        text="""
            graph {
              initializer { name: "a" data_type: 1 dims: [3, 2] float_data: [1, 2, 3, 4, 5, 6] }
              initializer { name: "c" data_type: 1 dims: «2|3» float_data: [1, 2«|, 3»] }
              node {
                op_type: "Gemm" input: "a" input: "a" input: "c" output: "z"
                attribute { name: "transB" type: INT i: 1 }
              }
            }
        """,
    ),
    Example(
        "value.shape",
        "graph.value_info[0]",
        broken="""
            graph {
              initializer { name: "w" data_type: 1 dims: 1 float_data: 1 }
              value_info {
                name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } }
              }
            }
        """,
        kept="""
            graph {
              initializer { name: "w" data_type: 1 dims: 1 float_data: 1 }
              value_info {
                name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } } } }
              }
            }
        """,
    ),
]
