"""Examples of the rules about a model."""

from __future__ import annotations

from check.examples.example import WHOLE, Example

EXAMPLES = [
    Example(
        "model.ir_version",
        "ir_version",
        text="ir_version: «99|10»",
    ),
    Example(
        "model.graph",
        "",
        base=WHOLE,
        broken="""
            ir_version: 10
            opset_import { version: 21 }
        """,
        kept="""
            ir_version: 10
            opset_import { version: 21 }
            graph { name: "empty" }
        """,
    ),
    Example(
        "model.opset_import",
        "",
        base=WHOLE,
        broken="""
            ir_version: 10
            graph {
              name: "g"
              input { name: "x" type { tensor_type { elem_type: 1 shape { } } } }
              node { op_type: "Relu" input: "x" output: "y" }
            }
        """,
        kept="""
            ir_version: 10
            opset_import { version: 21 }
            graph { name: "g" }
        """,
    ),
    Example(
        "model.opset_import_early",
        "opset_import[0]",
        base=WHOLE,
        broken="""
            ir_version: 2
            opset_import { version: 1 }
            graph { name: "g" }
        """,
        kept="""
            ir_version: 2
            graph { name: "g" }
        """,
    ),
    Example(
        "model.opset_import_repeated",
        "opset_import[1]",
        text='opset_import { domain: «"ai.onnx"|"ai.onnx.ml"» version: «20|5» }',
    ),
    Example(
        "model.opset_import_version",
        "opset_import[1]",
        text='opset_import { domain: "org.example" «|version: 1 »}',
    ),
    Example(
        "model.opset_import_future",
        "opset_import[1]",
        text='opset_import { domain: "ai.onnx.ml" version: «999|5» }',
    ),
    Example(
        "model.domain",
        "domain",
        text='domain: «"my models"|"org.example.models"»',
    ),
    Example(
        "model.model_version",
        "model_version",
        text="model_version: «-1|3»",
    ),
    Example(
        "model.metadata_key",
        "metadata_props[1]",
        text="""
            metadata_props { key: "author" value: "A" }
            metadata_props { key: «"author"|"editor"» value: "B" }
        """,
    ),
    Example(
        "graph.metadata_key",
        "graph.node[1].metadata_props[0]",
        broken="""
            graph {
              node { op_type: "Relu" input: "x" output: "z" metadata_props { value: "A" } }
            }
        """,
        kept="""
            graph {
              node {
                op_type: "Relu" input: "x" output: "z"
                metadata_props { key: "k" value: "A" }
              }
            }
        """,
    ),
    Example(
        "model.metadata_value",
        "metadata_props[0]",
        text='metadata_props { key: "Image.BitmapPixelFormat" value: «"RGB"|"Rgb8"» }',
    ),
    Example(
        "model.device",
        "graph.node[1].device_configurations[0]",
        text="""
            ir_version: 11
            configuration { name: "gpus" num_devices: 2 }
            graph {
              node {
                op_type: "Relu" input: "x" output: "z"
                device_configurations { configuration_id: «"cpus"|"gpus"» }
              }
            }
        """,
    ),
    Example(
        "model.device",
        "graph.node[1].device_configurations[0].sharding_spec[0]",
        text="""
            ir_version: 11
            configuration { name: "gpus" num_devices: 2 }
            graph {
              node {
                op_type: "Relu" input: "x" output: "z"
                device_configurations {
                  configuration_id: "gpus"
                  sharding_spec { tensor_name: «"y"|"z"» }
                }
              }
            }
        """,
    ),
    Example(
        "model.device_name",
        "configuration[1]",
        text="""
            ir_version: 11
            configuration { name: "gpus" num_devices: 2 }
            configuration { name: «"gpus"|"more"» num_devices: 4 }
        """,
    ),
    Example(
        "model.opset_import_unused",
        "opset_import[1]",
        broken='opset_import { domain: "ai.onnx.ml" version: 3 }',
        kept="""
            opset_import { domain: "ai.onnx.ml" version: 3 }
            graph { node { op_type: "Binarizer" domain: "ai.onnx.ml" input: "x" output: "z" } }
        """,
    ),
    Example(
        "model.text",
        "doc_string",
        text='doc_string: «"(latin1)"|"café"»',
    ),
    Example(
        "model.text",
        "metadata_props[0].value",
        text='metadata_props { key: "a" value: «"(latin1)"|"café"» }',
    ),
    Example(
        "model.text",
        "graph.doc_string",
        text='graph { doc_string: «"(latin1)"|"café"» }',
    ),
    Example(
        "model.text",
        "graph.node[1].output[1]",
        broken='graph { node { op_type: "Dropout" input: "x" output: ["z", "(latin1)"] } }',
        kept='graph { node { op_type: "Dropout" input: "x" output: ["z", "café"] } }',
    ),
    Example(
        "model.text",
        'graph.node[1].attribute["axis"].doc_string',
        text="""
            graph {
              node {
                op_type: "Softmax" input: "x" output: "z"
                attribute { name: "axis" type: INT i: 0 doc_string: «"(latin1)"|"café"» }
              }
            }
        """,
    ),
    Example(
        "model.text",
        "graph.initializer[0].doc_string",
        text="""
            graph {
              initializer {
                name: "w" data_type: 1 float_data: 1 doc_string: «"(latin1)"|"café"»
              }
            }
        """,
    ),
    Example(
        "model.text",
        "graph.input[1].type.tensor_type.shape.dim[0].dim_param",
        broken="""
            graph {
              input {
                name: "i"
                type {
                  tensor_type {
                    elem_type: 1 shape { dim { dim_param: "(latin1)" } }
                  }
                }
              }
            }
        """,
        kept="""
            graph {
              input {
                name: "i"
                type {
                  tensor_type { elem_type: 1 shape { dim { dim_param: "café" } } }
                }
              }
            }
        """,
    ),
    Example(
        "model.field_version",
        "functions[0]",
        text="""
            ir_version: «7|8» opset_import { domain: "d" version: 1 }
            functions { name: "F" domain: "d" input: "a" output: "a" }
        """,
    ),
    Example(
        "model.field_version",
        "graph.metadata_props[0]",
        text='ir_version: «9|10» graph { metadata_props { key: "a" } }',
    ),
    Example(
        "model.field_version",
        "graph.node[1].metadata_props[0]",
        text="""
            ir_version: «9|10»
            graph {
              node {
                op_type: "Abs" input: "x" output: "z" metadata_props { key: "a" }
              }
            }
        """,
    ),
]
