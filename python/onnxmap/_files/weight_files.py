"""Models of nothing but weights, and files of them: safetensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnxmap import _core, _read
from onnxmap._base.options import Options
from onnxmap._base.paths import absolute_path, is_url
from onnxmap._files.load import checked_name, loads
from onnxmap._files.save import written_of
from onnxmap._make.messages import make_graph, make_model
from onnxmap._model import Model
from onnxmap._write.documents import write_checkpoint
from onnxmap._write.options import CheckpointOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from onnxmap._base.options import FileOptions
    from onnxmap._base.paths import Path
    from onnxmap._show.progress import ProgressArgument
    from onnxmap._write.options import SaveReport


def from_arrays(
    arrays: Mapping[str, Any], metadata_props: Mapping[str, str] | None = None
) -> Model:
    """Return a new model that holds just these initializers: no nodes, inputs or outputs.

    Args:
        arrays: by name, what `initializers[name] = ...` takes: arrays, numbers, texts, Tensors of
            any model, TensorProtos, or torch tensors. Arrays of 4096 bytes or more are not copied:
            keep them unchanged until a save.
        metadata_props: texts to keep with the model, by key.

    Returns:
        A model that is edited: `revert()` takes the arrays and the texts out again.

    Raises:
        TypeError: `arrays` is no mapping, a name is no text, or ONNX has no type for the elements.
        ValueError: a name is empty.

    Example:
        >>> onnxmap.from_arrays({"w": np.eye(2)}).save("weights.onnx")  # doctest: +SKIP
    """
    given: object = arrays
    if not isinstance(given, Mapping):
        raise TypeError(f"arrays must be a mapping of names, not {type(given).__name__}")
    empty = make_model(make_graph([], "arrays", [], []))  # onnx's checker wants a name
    model = loads(empty.SerializeToString())
    model.metadata_props.update(metadata_props or {})
    model.initializers.update(arrays)
    return model


def load_safetensors(
    path: Path,
    *,
    storage_options: Mapping[str, object] | None = None,
    **options: Unpack[FileOptions],
) -> Model:
    """Return a model whose initializers are the tensors of a safetensors file, read when used.

    The tensors are external data in that file, in its order. Saved into the same folder, the model
    refers to it. `__metadata__` becomes `metadata_props`.

    Args:
        path: the path or URL of the file, or of the index of a sharded checkpoint
            (`model.safetensors.index.json`). Of the shards, the model has the tensors that the
            index names.
        storage_options: as for `load`.
        options: `link_policy`, `allow_hardlinks`, `io`, `watch`, `lenient` and `limits`, as for
            `load`.

    Raises:
        ParseError: the file is not valid (`model.safetensors`): `.offset` says where.
        TensorError: the bytes of a tensor do not fit its type and shape.
        ExternalDataError: a shard is missing, or leads out of the folder.
        The other errors of `load`.

    Source: the README of safetensors, "Format".

    Example:
        >>> model = onnxmap.load_safetensors("model.safetensors")  # doctest: +SKIP
        >>> model.save("weights.onnx", external_data=False)  # doctest: +SKIP
    """
    opened = Options(**options)
    name = checked_name(path)
    if not is_url(name):
        folder = os.path.dirname(absolute_path(name))  # noqa: PTH120 -- bytes
        return Model(
            _core.load_safetensors(name, opened, folder), None, opened, os.fsdecode(folder)
        )
    url, remote = os.fsdecode(name), _read.remote_files
    root = remote.RemoteFolder(url, storage_options, opened.limits, of_file=True)
    with remote.opening_file(url, storage_options, opened.limits) as file:
        location = url.partition("?")[0].rpartition("/")[2]
        document = _core.load_remote_safetensors(file, location, opened, root)
    return Model(document, None, opened, root.url)


def save_safetensors(
    model: Any,
    path: Path,
    names: Sequence[str] | str | None = None,
    metadata: bool = True,
    max_shard_size_bytes: int | None = None,
    *,
    overwrite: bool = True,
    replace_read_only: bool = False,
    sync: bool = True,
    progress: ProgressArgument = False,
) -> SaveReport:
    """Write the initializers of a model's main graph to a safetensors file, from file to file.

    The file is what the official library would write. Nothing is written if a tensor cannot be
    carried.

    Args:
        model: what `save` takes.
        path: the path of the file.
        names: which initializers, as for `Model.arrays`; None for all.
        metadata: write `metadata_props` as `__metadata__`. Readers of the transformers library want
            it to have the entry `format`, such as "pt".
        max_shard_size_bytes: write several files, `NAME-00001-of-00003.safetensors` and so on, of
            at most so many bytes of tensors unless one tensor has more, and the index
            `PATH.index.json`.
        overwrite: as for `save`.
        replace_read_only: as for `save`.
        sync: as for `save`.
        progress: as for `save`.

    Raises:
        SaveError: the format cannot hold some tensors, which the error names: strings, sparse
            tensors, INT4, UINT4, INT2, UINT2 and COMPLEX128, or elements that end within a byte
            (`save.safetensors`). Another model uses a file of that name (`save.own_data`).
        KeyError: there is no initializer of a name.
        TensorError, ExternalDataError: the values of a tensor cannot be read.
        The other errors of `save`.

    Example:
        >>> onnxmap.save_safetensors(model, "model.safetensors", "*.weight")  # doctest: +SKIP
    """
    found = written_of(model, path, None, False)
    chosen = None
    if names is not None:
        initializers = Model(found.document, None, Options()).initializers
        chosen = [initializers[name].name for name in initializers._selected(names)]
    options = CheckpointOptions(
        max_shard_size_bytes=max_shard_size_bytes,
        overwrite=overwrite,
        replace_read_only=replace_read_only,
        sync=sync,
        progress=progress,
        names=chosen,
        metadata=metadata,
    )
    return write_checkpoint(found, path, options)
