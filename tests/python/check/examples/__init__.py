"""Examples of every rule of `Model.check()`, by subject. docs/rules shows them."""

from __future__ import annotations

from check.examples import (
    attribute,
    external,
    function,
    graph,
    model,
    node,
    operator,
    operator_set,
    operator_types,
    quantization,
    removed_field,
    sparse,
    strict,
    tensor,
    training,
    type,
    value,
)
from check.examples.example import Example

EXAMPLES: list[Example] = [
    example
    for subject in (
        model,
        removed_field,
        graph,
        value,
        node,
        operator,
        operator_types,
        attribute,
        tensor,
        sparse,
        external,
        type,
        function,
        training,
        quantization,
        operator_set,
        strict,
    )
    for example in subject.EXAMPLES
]
