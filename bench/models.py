"""Makes the models from a seed. `python -m bench.models DIRECTORY` makes all of them.

Beside each model is a `manifest.json`, which says where the header and bytes of every initializer
are. The floors and `np.memmap` use it, because they cannot find that out themselves.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.recipe import Recipe
from bench.tensor_files import TENSOR_RECIPES
from bench.wire import Mark, Message, Payload, write_pieces

FLOAT, INT64, FLOAT16, BFLOAT16 = 1, 7, 10, 16  # TensorProto.DataType
NUMPY_NAME = {FLOAT: "float32", INT64: "int64", FLOAT16: "float16", BFLOAT16: "bfloat16"}
SAFETENSORS_NAME = {FLOAT: "F32", INT64: "I64", FLOAT16: "F16", BFLOAT16: "BF16"}
ITEM_BYTES = {FLOAT: 4, INT64: 8, FLOAT16: 2, BFLOAT16: 2}
EXTERNAL = 1  # TensorProto.DataLocation
IR_VERSION, OPSET = 10, 21  # every peer reads these, onnxruntime included
DATA_ALIGNMENT = 4096


@dataclass
class TensorSpec:
    """One initializer, and where it is in the file after it was written."""

    name: str
    data_type: int
    shape: tuple[int, ...]
    payload: Payload
    header: Mark

    def as_json(self) -> dict[str, object]:
        """Return the line of the manifest for this initializer."""
        return {
            "name": self.name,
            "dtype": NUMPY_NAME[self.data_type],
            "shape": self.shape,
            "header_offset": self.header.offset,
            "data_offset": self.payload.offset,
            "nbytes": self.payload.nbytes,
        }


def tensor(
    name: str,
    data_type: int,
    shape: tuple[int, ...],
    seed: int,
    sparse: bool = False,
    numbers: bool = False,
) -> TensorSpec:
    """Return a tensor of random bytes: every bit pattern is a value. Or of plain numbers."""
    nbytes = ITEM_BYTES[data_type]
    for extent in shape:
        nbytes *= extent
    kind = NUMPY_NAME[data_type] if numbers else ""
    return TensorSpec(name, data_type, shape, Payload(nbytes, seed, sparse, kind), Mark())


def transformer(
    layers: int, hidden: int, vocabulary: int, data_type: int, numbers: bool = False
) -> list[TensorSpec]:
    """Return the weights of a decoder: 7 tensors per layer and 4 others, of all sizes."""
    square, wide = (hidden, hidden), (hidden, 4 * hidden)
    shapes: list[tuple[str, int, tuple[int, ...]]] = [
        ("model.embed_tokens.weight", data_type, (vocabulary, hidden))
    ]
    for layer in range(layers):
        prefix = f"model.layers.{layer}"
        shapes += [
            (f"{prefix}.input_layernorm.weight", FLOAT, (hidden,)),
            (f"{prefix}.self_attn.q_proj.weight", data_type, square),
            (f"{prefix}.self_attn.k_proj.weight", data_type, square),
            (f"{prefix}.self_attn.v_proj.weight", data_type, square),
            (f"{prefix}.self_attn.o_proj.weight", data_type, square),
            (f"{prefix}.mlp.up_proj.weight", data_type, wide),
            (f"{prefix}.mlp.down_proj.weight", data_type, wide[::-1]),
        ]
    shapes += [
        ("model.norm.weight", FLOAT, (hidden,)),
        ("lm_head.weight", data_type, (hidden, vocabulary)),
        ("position", INT64, (1,)),
    ]
    return [
        tensor(name, kind, shape, i, numbers=numbers and kind != INT64)
        for i, (name, kind, shape) in enumerate(shapes)
    ]


def largest_and_total(dimensions: tuple[int, int, int, int]) -> tuple[int, int]:
    """Return the bytes of the largest tensor of a decoder, and of all its tensors."""
    sizes = [spec.payload.nbytes for spec in transformer(*dimensions)]
    return max(sizes), sum(sizes)


def even(count: int, nbytes: int) -> list[TensorSpec]:
    """Return `count` matrices of about `nbytes` in all. They are holes: good for loading only."""
    rows = max(1, nbytes // count // 8192)
    return [tensor(f"weight_{i}", FLOAT16, (rows, 4096), i, sparse=True) for i in range(count)]


def small(count: int, data_type: int = FLOAT) -> list[TensorSpec]:
    """Return `count` small tensors of one, two and three dimensions."""
    shapes = ((16,), (4, 6), (2, 3, 3))
    return [
        tensor(f"/block.{i}/weight", data_type, shapes[i % len(shapes)], i) for i in range(count)
    ]


def write_tensors(folder: Path, tensors: list[TensorSpec], external: bool = False) -> None:
    """Write a model with `tensors`, and an Identity node for each, so that runtimes accept it."""
    if external:
        write_weights(folder / "weights.safetensors", tensors)
    graph = Message()
    used = tensors if len(tensors) < 1000 else tensors[:1]
    for spec in used:
        graph.message(1, node("Identity", [spec.name], [f"{spec.name}.out"], f"{spec.name}.node"))
    graph.text(2, "graph")
    for spec in tensors:
        graph.mark(spec.header)
        graph.message(5, initializer(spec, external))
    for spec in used:
        graph.message(12, value_info(f"{spec.name}.out", spec.data_type, spec.shape))
    write_model(folder, graph, tensors)


def write_nodes(folder: Path, count: int) -> None:
    """Write a chain of `count` nodes of nine operators, some with an attribute."""
    operators = ("MatMul", "Add", "Mul", "Relu", "Reshape", "Transpose", "Softmax", "Cast", "Gemm")
    spec = tensor("w", FLOAT, (4,), 0)
    graph = Message()
    previous = "x"
    for i in range(count):
        operator = operators[i % len(operators)]
        output = f"/layers.{i % 48}/{operator}_{i}_o"
        body = node(operator, [previous, f"/layers.{i % 48}/w"], [output], f"{operator}_{i}")
        if i % 4 == 0:  # an integer attribute: name, i, type
            body.message(5, Message().text(1, "axis").integer(3, i % 4).integer(20, 2))
        graph.message(1, body)
        previous = output
    graph.text(2, "graph").mark(spec.header).message(5, initializer(spec))
    graph.message(11, value_info("x", FLOAT, (4,))).message(12, value_info(previous, FLOAT, (4,)))
    write_model(folder, graph, [spec])


def write_valid_nodes(folder: Path, count: int) -> None:
    """Write a chain of `count` nodes as `write_nodes` does, in a model that breaks no rule."""
    operators = ("MatMul", "Add", "Mul", "Sub", "Div", "Max", "Min", "Pow")
    specs = [tensor(f"/layers.{i}/w", FLOAT, (4, 4), i) for i in range(48)]
    # A Concat with one of them keeps the shape, which the next nodes need.
    specs += [tensor(f"/none.{i}/w", FLOAT, ((0, 4), (4, 0))[i], i) for i in range(2)]
    graph = Message()
    previous = "x"
    for i in range(count):
        operator = "Concat" if i % 4 == 0 else operators[i % len(operators)]
        weight = f"/none.{i % 2}/w" if operator == "Concat" else f"/layers.{i % 48}/w"
        output = f"/layers.{i % 48}/{operator}_{i}_o"
        body = node(operator, [previous, weight], [output], f"{operator}_{i}")
        if operator == "Concat":  # its one attribute
            body.message(5, Message().text(1, "axis").integer(3, i % 2).integer(20, 2))
        graph.message(1, body)
        previous = output
    graph.text(2, "graph")
    for spec in specs:
        graph.mark(spec.header).message(5, initializer(spec))
    graph.message(11, value_info("x", FLOAT, (4, 4)))
    graph.message(12, value_info(previous, FLOAT, (4, 4)))
    write_model(folder, graph, specs)


def write_convolutions(folder: Path, count: int) -> None:
    """Write a chain of `count` convolutions with four attributes each."""
    spec = tensor("w", FLOAT, (1, 1, 3, 3), 0)
    graph = Message()
    for i in range(count):
        body = node("Conv", [f"x_{i}", "w"], [f"x_{i + 1}"], f"conv_{i}")
        for name, values in (("kernel_shape", (3, 3)), ("pads", (1, 1, 1, 1)), ("strides", (1, 1))):
            attribute = Message().text(1, name)
            for value in values:
                attribute.integer(8, value)
            body.message(5, attribute.integer(20, 7))  # INTS
        body.message(5, Message().text(1, "group").integer(3, 1).integer(20, 2))
        graph.message(1, body)
    graph.text(2, "graph").mark(spec.header).message(5, initializer(spec))
    graph.message(11, value_info("x_0", FLOAT, (1, 1, 8, 8)))
    graph.message(12, value_info(f"x_{count}", FLOAT, (1, 1, 8, 8)))
    write_model(folder, graph, [spec])


def write_products(folder: Path, count: int, extent: int) -> None:
    """Write a chain of `count` products with square matrices, of a batch of any size."""
    shape = (extent, extent)
    tensors = [tensor(f"weight_{i}", FLOAT, shape, i, numbers=True) for i in range(count)]
    graph = Message()
    previous = "x"
    for i, spec in enumerate(tensors):
        graph.message(1, node("MatMul", [previous, spec.name], [f"y_{i}"], f"product_{i}"))
        previous = f"y_{i}"
    graph.text(2, "graph")
    for spec in tensors:
        graph.mark(spec.header).message(5, initializer(spec))
    graph.message(11, value_info("x", FLOAT, ("batch", extent)))
    graph.message(12, value_info(previous, FLOAT, ("batch", extent)))
    write_model(folder, graph, tensors)


def node(operator: str, inputs: list[str], outputs: list[str], name: str) -> Message:
    """Return a NodeProto."""
    message = Message()
    for text in inputs:
        message.text(1, text)
    for text in outputs:
        message.text(2, text)
    return message.text(3, name).text(4, operator)


def initializer(spec: TensorSpec, external: bool = False) -> Message:
    """Return a TensorProto, with its fields in the order in which protobuf writes them."""
    message = Message()
    for extent in spec.shape:  # onnx.proto is proto2: repeated integers are not packed
        message.integer(1, extent)
    message.integer(2, spec.data_type).text(8, spec.name)
    if not external:
        return message.payload(9, spec.payload)
    entries = {
        "location": "weights.safetensors",
        "offset": str(spec.payload.offset),
        "length": str(spec.payload.nbytes),
    }
    for key, value in entries.items():
        message.message(13, Message().text(1, key).text(2, value))
    return message.integer(14, EXTERNAL)


def value_info(name: str, data_type: int, shape: tuple[int | str, ...]) -> Message:
    """Return a ValueInfoProto of a dense tensor."""
    dimensions = Message()
    for extent in shape:
        named = isinstance(extent, str)
        dimensions.message(1, Message().text(2, extent) if named else Message().integer(1, extent))
    tensor_type = Message().integer(1, data_type).message(2, dimensions)
    return Message().text(1, name).message(2, Message().message(1, tensor_type))


def write_weights(path: Path, tensors: list[TensorSpec]) -> None:
    """Write all payloads into one file, which is also a safetensors file."""
    relative, entries = 0, {}
    for spec in tensors:
        end = relative + spec.payload.nbytes
        entries[spec.name] = {
            "dtype": SAFETENSORS_NAME[spec.data_type],
            "shape": spec.shape,
            "data_offsets": (relative, end),
        }
        relative = end
    header = json.dumps(entries).encode()
    header += b" " * (-(len(header) + 8) % DATA_ALIGNMENT)  # the data begin at a page
    with path.open("wb") as file:
        preamble = len(header).to_bytes(8, "little") + header
        write_pieces(file, [preamble, *(spec.payload for spec in tensors)])


def write_model(folder: Path, graph: Message, tensors: list[TensorSpec]) -> None:
    """Write `model.onnx` and `manifest.json`."""
    model = Message().integer(1, IR_VERSION).text(2, "onnxmap.bench").message(7, graph)
    model.message(8, Message().integer(2, OPSET))
    model.write(folder / "model.onnx")
    manifest = [spec.as_json() for spec in tensors]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def write_inline_transformer(folder: Path, *dimensions: int) -> None:
    """Write a decoder with its weights in the model file."""
    write_tensors(folder, transformer(*dimensions))


def write_two_transformers(folder: Path, *dimensions: int) -> None:
    """Write a decoder, and a second one that differs in the last element of its last large tensor.

    `cmp` stops at the first difference, and must read nearly everything here, too.
    """
    write_inline_transformer(folder, *dimensions)
    shutil.copyfile(folder / "model.onnx", folder / "other.onnx")
    lines = json.loads((folder / "manifest.json").read_text())
    changed = next(line for line in lines if line["name"] == "lm_head.weight")
    with (folder / "other.onnx").open("r+b") as file:
        file.seek(changed["data_offset"] + changed["nbytes"] - 1)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x80]))


def write_external_transformer(folder: Path, *dimensions: int) -> None:
    """Write a decoder with its weights in one file beside the model."""
    write_tensors(folder, transformer(*dimensions), external=True)


def write_weights_transformer(folder: Path, *dimensions: int) -> None:
    """Write the same with numbers like those of a trained decoder."""
    write_tensors(folder, transformer(*dimensions, numbers=True), external=True)


def write_even(folder: Path, count: int, nbytes: int) -> None:
    """Write a model whose weights are holes in the model file."""
    write_tensors(folder, even(count, nbytes))


def write_small(folder: Path, count: int) -> None:
    """Write a model with many small tensors in the model file."""
    write_tensors(folder, small(count))


def write_small_external(folder: Path, count: int) -> None:
    """Write a model with many small tensors in one file beside it."""
    write_tensors(folder, small(count), external=True)


def _growth() -> dict[str, Recipe]:
    recipes = {}
    for tenths in (5, 10, 20, 40, 80):
        recipes[f"growth_bytes_{tenths}"] = Recipe(
            partial(write_even, count=130, nbytes=tenths * 10**8),
            partial(write_even, count=130, nbytes=tenths * 10**6),
            payload_is_read=False,
        )
    for thousands in (50, 100, 200, 400):
        recipes[f"growth_tensors_{thousands}"] = Recipe(
            partial(write_small, count=thousands * 1000), partial(write_small, count=thousands * 10)
        )
        recipes[f"growth_nodes_{thousands}"] = Recipe(
            partial(write_nodes, count=thousands * 1000), partial(write_nodes, count=thousands * 10)
        )
    return recipes


def _transformer(write: Callable[..., None], dimensions: tuple[int, int, int, int]) -> Recipe:
    layers, hidden, vocabulary, data_type = dimensions
    return Recipe(
        lambda folder: write(folder, layers, hidden, vocabulary, data_type),
        lambda folder: write(folder, layers, 64, 512, data_type),
    )


# Layers, width, vocabulary and element type of the decoders.
INLINE_100MB = (18, 448, 8_000, FLOAT16)  # as many tensors as the next one
INLINE_1800MB = (18, 1920, 27_000, FLOAT16)  # just under the 2 GiB that others can hold in one file
SINGLE_3000MB = (18, 2432, 45_800, FLOAT16)
EXTERNAL_3400MB = (40, 1792, 44_300, BFLOAT16)
FLOAT32_3400MB = (18, 1792, 44_300, FLOAT)

RECIPES: dict[str, Recipe] = {
    "inline_1800mb": _transformer(write_inline_transformer, INLINE_1800MB),
    "two_1800mb": _transformer(write_two_transformers, INLINE_1800MB),
    "inline_100mb": _transformer(write_inline_transformer, INLINE_100MB),
    "external_1800mb": _transformer(write_external_transformer, INLINE_1800MB),
    "single_3000mb": _transformer(write_inline_transformer, SINGLE_3000MB),
    "external_3400mb": _transformer(write_external_transformer, EXTERNAL_3400MB),
    "weights_3400mb": _transformer(write_weights_transformer, EXTERNAL_3400MB),
    "float32_3400mb": _transformer(write_weights_transformer, FLOAT32_3400MB),
    "small_100k": Recipe(partial(write_small, count=100_000), partial(write_small, count=1_000)),
    "external_20k": Recipe(
        partial(write_small_external, count=20_000), partial(write_small_external, count=500)
    ),
    "products_1740mb": Recipe(
        partial(write_products, count=26, extent=4096), partial(write_products, count=3, extent=128)
    ),
    "products_3000mb": Recipe(
        partial(write_products, count=45, extent=4096), partial(write_products, count=4, extent=128)
    ),
    "valid_nodes_200k": Recipe(
        partial(write_valid_nodes, count=200_000), partial(write_valid_nodes, count=2_000)
    ),
    "nodes_200k": Recipe(partial(write_nodes, count=200_000), partial(write_nodes, count=2_000)),
    "convolutions_50k": Recipe(
        partial(write_convolutions, count=50_000), partial(write_convolutions, count=500)
    ),
    **_growth(),
    **TENSOR_RECIPES,
}


def main() -> None:
    """Make every model under the directory named on the command line."""
    root = Path(sys.argv[1])
    for name, recipe in RECIPES.items():
        if not (root / name).exists():
            recipe.make(root / name, smoke=False)
        print(f"{name}: {sum(p.stat().st_size for p in (root / name).iterdir()) / 1e6:,.1f} MB")


if __name__ == "__main__":
    main()
