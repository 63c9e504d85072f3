"""Valid models for tests of checks. Their operators are of a domain that no schema describes.

So onnx.checker checks everything but the signatures of operators, which `Model.check()` leaves to
it.
"""

from __future__ import annotations

import textwrap

from google.protobuf import text_format
from onnx import ModelProto

HEAD = """
    ir_version: 10
    opset_import { version: 21 }
    opset_import { domain: "org.test" version: 1 }
    producer_name: "tests"
    metadata_props { key: "k" value: "v" }
    metadata_props { key: "l" value: "v" }
"""

PLAIN = """
    graph {
      name: "plain"
      input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } } } } }
      input { name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
      initializer { name: "w" data_type: 1 dims: 2 float_data: [1, 2] }
      initializer { name: "v" data_type: 7 dims: 1 raw_data: "12345678" }
      initializer { name: "s" data_type: 8 dims: 1 string_data: "text" }
      node { name: "a" op_type: "A" domain: "org.test" input: "x" input: "w" output: "y" }
      node { name: "b" op_type: "B" domain: "org.test" input: "y" input: "" input: "v"
        output: "z" output: "u" }
      node { name: "c" op_type: "C" domain: "org.test" input: "z" input: "s" output: "out" }
      value_info { name: "y" type { tensor_type { elem_type: 1 } } }
      value_info { name: "z" type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } }
      output { name: "out" type { tensor_type { elem_type: 1 shape { dim { } } } } }
      output { name: "u" type { tensor_type { elem_type: 10 shape { } } } }
    }
"""

ATTRIBUTES = """
    graph {
      name: "attributes"
      node {
        op_type: "A" domain: "org.test" output: "y"
        attribute { name: "f" type: FLOAT f: 1 }
        attribute { name: "i" type: INT i: 1 }
        attribute { name: "s" type: STRING s: "text" }
        attribute {
          name: "t" type: TENSOR t { name: "t" data_type: 6 dims: [1, 2] int32_data: [1, 2] }
        }
        attribute { name: "fs" type: FLOATS floats: [1, 2] }
        attribute { name: "is" type: INTS ints: [1, 2] }
        attribute { name: "ss" type: STRINGS strings: ["a", "b"] }
        attribute { name: "ts" type: TENSORS tensors { data_type: 2 dims: 1 raw_data: "1" } }
        attribute {
          name: "tp" type: TYPE_PROTO
          tp { map_type { key_type: 7 value_type { tensor_type { elem_type: 1 } } } }
        }
        attribute {
          name: "sp" type: SPARSE_TENSOR
          sparse_tensor {
            values { data_type: 1 dims: 2 float_data: [1, 2] }
            indices { data_type: 7 dims: 2 int64_data: [1, 4] }
            dims: [2, 3]
          }
        }
      }
      sparse_initializer {
        values { name: "sw" data_type: 1 dims: 2 float_data: [1, 2] }
        indices { data_type: 7 dims: [2, 2] int64_data: [0, 1, 1, 1] }
        dims: [2, 3]
      }
      output { name: "y" type { sparse_tensor_type { elem_type: 1 shape { } } } }
    }
"""

SUBGRAPHS = """
    graph {
      name: "outer"
      input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
      node { op_type: "A" domain: "org.test" input: "x" output: "y" }
      node {
        op_type: "If" domain: "org.test" input: "y" output: "z"
        attribute {
          name: "then_branch" type: GRAPH
          g {
            name: "then"
            initializer { name: "one" data_type: 1 float_data: 1 }
            node { op_type: "A" domain: "org.test" input: "x" input: "one" output: "t" }
            output { name: "t" type { tensor_type { elem_type: 1 } } }
          }
        }
        attribute {
          name: "bodies" type: GRAPHS
          graphs {
            name: "body"
            input { name: "i" }
            node { op_type: "A" domain: "org.test" input: "i" input: "y" output: "j" }
            node {
              op_type: "B" domain: "org.test" input: "j" output: "k"
              attribute {
                name: "inner" type: GRAPH
                g {
                  name: "inner"
                  node { op_type: "B" domain: "org.test" input: "j" output: "l" }
                  output { name: "l" }
                }
              }
            }
            output { name: "k" }
          }
        }
      }
      output { name: "z" type { optional_type { elem_type { tensor_type { elem_type: 1 } } } } }
    }
"""

FUNCTIONS = """
    graph {
      name: "calls"
      input { name: "x" type { tensor_type { elem_type: 1 shape { } } } }
      node {
        op_type: "F" domain: "org.test" input: "x" output: "y"
        attribute { name: "k" type: INT i: 1 }
      }
      node { op_type: "G" domain: "org.test" overload: "o" input: "y" output: "z" }
      output { name: "z" type { tensor_type { elem_type: 1 shape { } } } }
    }
    functions {
      name: "F" domain: "org.test" input: "a" input: "b" output: "d" attribute: "k"
      attribute_proto { name: "l" type: FLOAT f: 2 }
      opset_import { domain: "org.test" version: 1 }
      node {
        op_type: "A" domain: "org.test" input: "a" output: "c"
        attribute { name: "k" type: INT ref_attr_name: "k" }
        attribute { name: "l" type: FLOAT ref_attr_name: "l" }
      }
      node { op_type: "G" domain: "org.test" overload: "o" input: "c" input: "b" output: "d" }
    }
    functions {
      name: "G" domain: "org.test" overload: "o" input: ["a", "e"] output: "b"
      opset_import { domain: "org.test" version: 1 }
      node { op_type: "B" domain: "org.test" input: "a" output: "b" }
    }
"""

OLD = """
    ir_version: 3
    graph {
      name: "old"
      input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
      input { name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
      initializer { name: "w" data_type: 1 dims: 2 float_data: [1, 2] }
      node {
        op_type: "A" domain: "org.test" input: "x" input: "w" output: "y"
        attribute { name: "k" type: INT i: 1 }
      }
      output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
    }
"""

TRAINING = """
    graph {
      name: "model"
      initializer { name: "w" data_type: 1 float_data: 1 }
      input { name: "x" type { tensor_type { elem_type: 1 shape { } } } }
      node { op_type: "A" domain: "org.test" input: "x" input: "w" output: "y" }
      output { name: "y" type { tensor_type { elem_type: 1 shape { } } } }
      quantization_annotation {
        tensor_name: "y"
        quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "w" }
      }
    }
    training_info {
      initialization {
        name: "first"
        node { op_type: "A" domain: "org.test" output: "w0" }
        output { name: "w0" type { tensor_type { elem_type: 1 shape { } } } }
      }
      initialization_binding { key: "w" value: "w0" }
      algorithm {
        name: "step"
        node { op_type: "A" domain: "org.test" input: "w" input: "y" output: "w1" }
        output { name: "w1" type { tensor_type { elem_type: 1 shape { } } } }
      }
      update_binding { key: "w" value: "w1" }
    }
"""


def _made(text: str) -> bytes:
    model = ModelProto()
    text_format.Merge(textwrap.dedent(HEAD), model)
    text_format.Merge(textwrap.dedent(text), model)
    return model.SerializeToString()


CHECKED_MODELS = {
    name: _made(text)
    for name, text in {
        "plain": PLAIN,
        "attributes": ATTRIBUTES,
        "subgraphs": SUBGRAPHS,
        "functions": FUNCTIONS,
        "old": OLD,
        "training": TRAINING,
    }.items()
}
