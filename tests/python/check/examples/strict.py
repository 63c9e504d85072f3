"""Examples of the rules that are only looked for on request."""

from __future__ import annotations

from check.examples.attribute import custom
from check.examples.example import SMALL_SET, Example

EXAMPLES = [
    Example(
        "graph.identifier",
        "operator[0]",
        base=SMALL_SET,
        text='operator { op_type: «"1x"|"x1"» since_version: 1 }',
    ),
    Example(
        "model.metadata_form",
        "metadata_props[0]",
        broken='metadata_props { key: "model_author" value: "A. Author, , B. Author" }',
        kept='metadata_props { key: "model_author" value: "A. Author, B. Author" }',
    ),
    Example(
        "model.metadata_form",
        "metadata_props[0]",
        broken='metadata_props { key: "model_license" value: "https://example.org/a license" }',
        kept='metadata_props { key: "model_license" value: "Apache License 2.0" }',
    ),
    Example(
        "model.metadata_form",
        "metadata_props[0]",
        broken='metadata_props { key: "model_license" value: " " }',
        kept='metadata_props { key: "model_license" value: "https://example.org/license" }',
    ),
    Example("model.no_domain", "", broken="", kept='domain: "org.example"'),
    Example(
        "model.producer",
        "",
        text='producer_name: "tool"«| producer_version: "1.0"»',
    ),
    Example(
        "model.opset_import_domain",
        "opset_import[1]",
        text='opset_import { domain: «"mine"|"org.example"» version: 1 }',
    ),
    Example(
        "graph.identifier",
        "graph.node[1]",
        broken='graph { node { name: "relu/1" op_type: "Relu" input: "x" output: "z" } }',
        kept='graph { node { name: "relu_1" op_type: "Relu" input: "x" output: "z" } }',
    ),
    Example(
        "graph.identifier",
        "graph.node[1].output[0]",
        text='graph { node { name: "relu" op_type: "Relu" input: "x" output: «"1"|"_1"» } }',
    ),
    Example(
        "graph.identifier",
        'graph.node[1].attribute["the axis"]',
        text="""
            opset_import { domain: "org.example" version: 1 }
            graph {
              node {
                op_type: "Op" domain: "org.example" input: "x" output: "z"
                attribute { name: «"the axis"|"the_axis"» type: INT i: 0 }
              }
            }
        """,
    ),
    Example(
        "graph.identifier",
        "graph.node[1]",
        broken="""
            opset_import { domain: "org.example" version: 1 }
            graph { node { op_type: "My Op" domain: "org.example" input: "x" output: "z" } }
        """,
        kept="""
            opset_import { domain: "org.example" version: 1 }
            graph { node { op_type: "MyOp" domain: "org.example" input: "x" output: "z" } }
        """,
    ),
    Example(
        "graph.identifier",
        "functions[0]",
        text="""
            functions {
              name: «"my-function"|"my_function"» domain: "org.example" input: "a" output: "b"
              opset_import { version: 21 }
              node { op_type: "Relu" input: "a" output: "b" }
            }
        """,
    ),
    Example(
        "graph.identifier",
        "graph.input[1].type.tensor_type.shape.dim[0]",
        broken="""
            graph {
              input {
                name: "z" type { tensor_type { elem_type: 1 shape { dim { dim_param: "a b" } } } }
              }
            }
        """,
        kept="""
            graph {
              input {
                name: "z" type { tensor_type { elem_type: 1 shape { dim { dim_param: "a_b" } } } }
              }
            }
        """,
    ),
    Example("graph.doc_string", "graph", broken="", kept='graph { doc_string: "Relu of x" }'),
    Example(
        "attribute.doc_string",
        'graph.node[1].attribute["n"]',
        broken=custom('attribute { name: "n" type: INT i: 1 }'),
        kept=custom('attribute { name: "n" type: INT i: 1 doc_string: "A number." }'),
    ),
]
