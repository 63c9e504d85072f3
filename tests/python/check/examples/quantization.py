"""Examples of the rules about quantization annotations."""

from __future__ import annotations

from check.examples.example import Example


def annotation(about: str, key: str, value: str) -> str:
    """Return the text of an annotation with one parameter."""
    return f"""\
graph {{
  initializer {{ name: "scale" data_type: 1 float_data: 0.5 }}
  quantization_annotation {{
    tensor_name: "{about}"
    quant_parameter_tensor_names {{ key: "{key}" value: "{value}" }}
  }}
}}"""


GOOD = annotation("x", "SCALE_TENSOR", "scale")
PARAMETER = 'quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "scale" }'
WHERE = "graph.quantization_annotation[0]"

EXAMPLES = [
    Example(
        "quantization.tensor",
        WHERE,
        broken=annotation("gone", "SCALE_TENSOR", "scale"),
        kept=GOOD,
    ),
    Example(
        "quantization.tensor",
        f"{WHERE}.quant_parameter_tensor_names[0]",
        broken=annotation("x", "SCALE_TENSOR", "gone"),
        kept=GOOD,
    ),
    Example(
        "quantization.key",
        f"{WHERE}.quant_parameter_tensor_names[0]",
        broken=annotation("x", "SCALE", "scale"),
        kept=annotation("x", "ZERO_POINT_TENSOR", "scale"),
    ),
    Example(
        "quantization.repeated",
        "graph.quantization_annotation[1]",
        broken=f'{GOOD}\ngraph {{ quantization_annotation {{ tensor_name: "x" }} }}',
        kept=f'{GOOD}\ngraph {{ quantization_annotation {{ tensor_name: "y" }} }}',
    ),
    Example(
        "quantization.repeated",
        f"{WHERE}.quant_parameter_tensor_names[1]",
        broken=GOOD.replace(PARAMETER, f"{PARAMETER} {PARAMETER}"),
        kept=GOOD.replace(PARAMETER, f"{PARAMETER} {PARAMETER.replace('SCALE', 'ZERO_POINT')}"),
    ),
]
