"""Examples of the rules about a model."""

from __future__ import annotations

from check.examples.example import WHOLE, Example

EXAMPLES = [
    Example(
        "model.ir_version",
        "ir_version",
        broken="ir_version: 99",
        kept="ir_version: 10",
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
        broken='opset_import { domain: "ai.onnx" version: 20 }',
        kept='opset_import { domain: "ai.onnx.ml" version: 5 }',
    ),
    Example(
        "model.opset_import_version",
        "opset_import[1]",
        broken='opset_import { domain: "org.example" }',
        kept='opset_import { domain: "org.example" version: 1 }',
    ),
    Example(
        "model.domain",
        "domain",
        broken='domain: "my models"',
        kept='domain: "org.example.models"',
    ),
    Example(
        "model.model_version",
        "model_version",
        broken="model_version: -1",
        kept="model_version: 3",
    ),
    Example(
        "model.metadata_key",
        "metadata_props[1]",
        broken="""
            metadata_props { key: "author" value: "A" }
            metadata_props { key: "author" value: "B" }
        """,
        kept="""
            metadata_props { key: "author" value: "A" }
            metadata_props { key: "editor" value: "B" }
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
        broken='metadata_props { key: "Image.BitmapPixelFormat" value: "RGB" }',
        kept='metadata_props { key: "Image.BitmapPixelFormat" value: "Rgb8" }',
    ),
    Example(
        "model.device",
        "graph.node[1].device_configurations[0]",
        broken="""
            configuration { name: "gpus" num_devices: 2 }
            graph {
              node {
                op_type: "Relu" input: "x" output: "z"
                device_configurations { configuration_id: "cpus" }
              }
            }
        """,
        kept="""
            configuration { name: "gpus" num_devices: 2 }
            graph {
              node {
                op_type: "Relu" input: "x" output: "z"
                device_configurations { configuration_id: "gpus" }
              }
            }
        """,
    ),
    Example(
        "model.device",
        "graph.node[1].device_configurations[0].sharding_spec[0]",
        broken="""
            configuration { name: "gpus" num_devices: 2 }
            graph {
              node {
                op_type: "Relu" input: "x" output: "z"
                device_configurations {
                  configuration_id: "gpus"
                  sharding_spec { tensor_name: "y" }
                }
              }
            }
        """,
        kept="""
            configuration { name: "gpus" num_devices: 2 }
            graph {
              node {
                op_type: "Relu" input: "x" output: "z"
                device_configurations {
                  configuration_id: "gpus"
                  sharding_spec { tensor_name: "z" }
                }
              }
            }
        """,
    ),
    Example(
        "model.device_name",
        "configuration[1]",
        broken="""
            configuration { name: "gpus" num_devices: 2 }
            configuration { name: "gpus" num_devices: 4 }
        """,
        kept="""
            configuration { name: "gpus" num_devices: 2 }
            configuration { name: "more" num_devices: 4 }
        """,
    ),
]
