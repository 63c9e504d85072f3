"""Writing models: `save`, `save_all`, `dumps`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.later import import_module
from onnxmap._base.options import Options
from onnxmap._files.load import open_buffer
from onnxmap._files.model import Model
from onnxmap._write.documents import Written, write_document, write_documents
from onnxmap._write.options import SaveOptions, SaveReport
from onnxmap._write.paths import local_path
from onnxmap._write.streams import own_descriptor

if TYPE_CHECKING:
    from typing import BinaryIO

    from onnxmap._base.file_forms import FileForm
    from onnxmap._base.paths import Path
    from onnxmap._show.progress import ProgressArgument
    from onnxmap._write.options import ExternalData, NewTypes


def save(
    model: Any,
    path: Path | BinaryIO,
    external_data: ExternalData = None,
    *,
    external_root: Path | None = None,
    size_threshold_bytes: int = 1024,
    alignment: int | None = None,
    attributes: bool = False,
    checksum: bool = False,
    max_shard_size_bytes: int | None = None,
    dedupe: bool = False,
    dtype: NewTypes = None,
    allow_loss: bool = False,
    allow_over_2gib: bool = False,
    format: FileForm | None = None,
    overwrite: bool = True,
    replace_read_only: bool = False,
    follow_symlinks: bool = False,
    sync: bool = True,
    progress: ProgressArgument = False,
) -> SaveReport:
    """Write a model, edits included, without holding its weights in memory.

    What was not edited is written byte for byte as it was loaded. The files are complete, or they
    are what they were before: even if the disk is full, the call is interrupted, or `path` is the
    file that was loaded. Two errors are exceptions: `save.not_restored`, and an OSError that the
    disk reports last; and an interrupt at the last moment may leave the new files in place.
    Saves and appends of several processes take turns. Arrays that exist stay valid, and the model
    stays as it is.

    Args:
        model: a Model or its `.proto`, a ModelProto of protobuf, or an `onnx_ir.Model`. If a tensor
            of a ModelProto has values and a location, as after onnx's
            `convert_model_to_external_data`, the values count, and by default go to that file.
        path: the path of the file, or a file object that can write bytes. A file object gets them
            in order, and no data file can be written beside it. A path that leads to a descriptor
            of this process, such as `/dev/stdout`, means that file object, unless it is a terminal.
        external_data: where the values of tensors go. None: each stays where it is. In another
            folder, data files in use are copied. They keep names that are plainly those of data
            files, others are named after `path`; none of these names may be taken. New values of a
            tensor that was external go to PATH.edited.data, or to PATH.2.edited.data
            and so on if another model may use that. False: into the model. The name of a data file:
            values of initializers, at any depth, go there. "view": only the structure is written,
            and inline values stay in the file that was loaded, which must be in the same folder and
            must not change.
        external_root: for a ModelProto of protobuf, which does not know its folder: the folder that
            its locations are relative to, by default that of `path`. Its external values must be
            there.
        size_threshold_bytes: smaller tensors stay in the model, and so do empty tensors, strings,
            integers of less than 64 KiB, and others from which shapes are inferred.
        alignment: a power of two. Each tensor in a data file starts at a multiple of it, by default
            of 4096. For values in the model: each `raw_data` starts at a multiple of it. By default
            a model whose values are aligned stays so. Not for "view", which moves no values.
        attributes: the tensors of attributes are treated as initializers are, for a data file and
            for "view".
        checksum: record the SHA-1 of each data file in its tensors. All values are then read twice.
        max_shard_size_bytes: split the data file into shards of at most this size,
            `weights-00001-of-00003.data`, if it is larger.
        dedupe: store tensors with equal bytes once in the data file.
        dtype: the type in which floating-point initializers are written, of all graphs and
            subgraphs: "float64", "float32", "float16", "bfloat16", "float8_e4m3fn",
            "float8_e4m3fnuz", "float8_e5m2" or "float8_e5m2fnuz". Or a mapping of names, or globs
            of names, to types; the first one that matches counts, the others keep their type. A
            node Cast gives each converted initializer its old name and type back, so that the model
            computes in the types that it had; those of an earlier save go. Sparse initializers,
            those that decide a shape, and those in functions and training_info stay as they are.
        allow_loss: with `dtype`, write values that are too large for their new type: as infinity,
            or as the largest number of a type of 8 bits. And write those of tensors of at most 1024
            elements that become 0.
        allow_over_2gib: write a model of more than 2 GiB, which protobuf cannot read.
        format: "protobuf", "textproto" (protobuf's text format) or "json". None: what the extension
            of `path` says (`.onnx`, `.textproto`, `.json`); if it says nothing, the form of the
            file that was loaded. A file object gets "protobuf". A text is made in memory, and read
            back to compare it.
        overwrite: replace files that exist, but no data file that another model of its folder
            uses. False: any name that is taken is an error.
        replace_read_only: replace also files that must not be written to. Without it, a file whose
            owner has no write permission (`chmod 444`) is an error, also for root, and so is a file
            that this process may not write to.
        follow_symlinks: if `path` is a symbolic link, replace its target, not the link.
        sync: wait until the disk has the files.
        progress: True draws a bar with tqdm; a callable gets `(bytes_done, bytes_total)`.

    Returns:
        How many bytes were written, copied and referenced, and how many are unused.

    Raises:
        SaveError: values do not fit `dtype` (`save.loss`); an initializer that would get another
            type is also an input of its graph, stands twice, or is used in training_info
            (`save.dtype`); no initializer is affected by `dtype` or `external_data`, since the
            weights are in Constant nodes (`save.no_weights`); the model is too old for the nodes
            Cast (`save.opset`); other options do not fit the model (`save.too_large`, `save.view`,
            ...); the save would replace a file that one of the models, or another model, needs
            (`save.own_data`); a name is that of a device, or a link to one (`save.not_regular`);
            the name of a data file is not UTF-8, or has a backslash (`save.data_name`); the model
            is empty or has no graph (`save.empty`, `save.no_graph`); a text cannot hold it, or only
            onnx writes the form (`save.format`); another program has locked the folder for 30
            seconds (`save.locked`); or the save failed, and old files could not get their names
            back: the error says where they are (`save.not_restored`).
        UnknownNameError: a key of `dtype` matches no floating-point initializer.
        UnsafePathError: the name of the data file leads out of the folder, or through a link.
        FileExistsError: a name is taken that must not be replaced.
        PermissionError: a file must not be written to (see `replace_read_only`).
        TensorError, ExternalDataError: values that must be moved cannot be read.
        FileChangedError: a file changed since it was loaded; a file to which the new model would
            refer was replaced or deleted; or the file that would be replaced was written to or
            replaced since the model was loaded from it or saved there, and that would be lost.
        OSError: the system cannot write, for example because the disk is full. If the disk reports
            an error after a single model took the name of an old one, the new files are in place.
    """
    options = SaveOptions(
        external_data=external_data,
        size_threshold_bytes=size_threshold_bytes,
        alignment=alignment,
        attributes=attributes,
        checksum=checksum,
        max_shard_size_bytes=max_shard_size_bytes,
        dedupe=dedupe,
        dtype=dtype,
        allow_loss=allow_loss,
        allow_over_2gib=allow_over_2gib,
        format=format,
        overwrite=overwrite,
        replace_read_only=replace_read_only,
        follow_symlinks=follow_symlinks,
        sync=sync,
        progress=progress,
    )
    return write_document(written_of(model, path, external_root, follow_symlinks), path, options)


def save_all(
    models: Mapping[Path, Any],
    external_data: str | bytes | os.PathLike[str],
    *,
    external_root: Path | None = None,
    dedupe: bool | None = None,
    size_threshold_bytes: int = 1024,
    alignment: int | None = None,
    attributes: bool = False,
    checksum: bool = False,
    max_shard_size_bytes: int | None = None,
    dtype: NewTypes = None,
    allow_loss: bool = False,
    allow_over_2gib: bool = False,
    format: FileForm | None = None,
    overwrite: bool = True,
    replace_read_only: bool = False,
    follow_symlinks: bool = False,
    sync: bool = True,
    progress: ProgressArgument = False,
) -> SaveReport:
    """Write several models of one folder with one data file, such as an encoder and a decoder.

    Args:
        models: the models by path.
        external_data: the name of the data file.
        external_root: as for `save`.
        dedupe: store tensors with equal bytes once, also those of different models. None: yes,
            unless the file is safetensors, which cannot.
        size_threshold_bytes: as for `save`.
        alignment: as for `save`.
        attributes: as for `save`.
        checksum: as for `save`.
        max_shard_size_bytes: as for `save`.
        dtype: as for `save`; each key must match an initializer of one of the models.
        allow_loss: as for `save`.
        allow_over_2gib: as for `save`.
        format: as for `save`.
        overwrite: as for `save`.
        replace_read_only: as for `save`.
        follow_symlinks: as for `save`.
        sync: as for `save`.
        progress: as for `save`.

    Raises:
        ValueError: there are no models, or they are in different folders.
        The errors of `save`.
    """
    if dedupe is None:
        dedupe = not os.fsencode(external_data or b"").endswith(b".safetensors")
    options = SaveOptions(
        external_data=external_data,
        size_threshold_bytes=size_threshold_bytes,
        alignment=alignment,
        attributes=attributes,
        checksum=checksum,
        max_shard_size_bytes=max_shard_size_bytes,
        dedupe=dedupe,
        dtype=dtype,
        allow_loss=allow_loss,
        allow_over_2gib=allow_over_2gib,
        format=format,
        overwrite=overwrite,
        replace_read_only=replace_read_only,
        follow_symlinks=follow_symlinks,
        sync=sync,
        progress=progress,
    )
    if not isinstance(models, Mapping):
        raise TypeError(f"models must be a mapping of paths to models, not {type(models).__name__}")
    if not models:
        raise ValueError("there are no models to save")
    if external_data in (None, False, "view"):
        text = (
            f"external_data must be the name of the data file of the models, not {external_data!r}"
        )
        raise ValueError(f"{text}; save() writes one model in other ways")
    written = {
        path: written_of(model, path, external_root, follow_symlinks)
        for path, model in models.items()
    }
    return write_documents(written, options)


def dumps(model: Any) -> bytes:
    """Return a model, an `onnx_ir.Model`, or any message, as bytes, edits included.

    What was not edited is written byte for byte as it was loaded. External data are not included.

    Args:
        model: a Model, an `onnx_ir.Model`, a message of onnxmap or of protobuf, or an object of
            one, such as a Graph.

    Raises:
        TypeError: `model` is none of them.
        FileChangedError: the file of the model changed since it was loaded.
    """
    if _is_ir(model):
        model = import_module("onnxmap.interop.ir").proto_of(model)
    if not _core.message_type_of(model):
        raise TypeError(f"expected a Model or a message, not {type(model).__name__}")
    return getattr(model, "proto", model).SerializeToString()


def written_of(
    model: Any, path: Path | BinaryIO, external_root: Path | None, follow_symlinks: bool
) -> Written:
    """What is written for an object that a user wants to save to `path`."""
    known = _known(model)
    if known is None:
        return _of_message(model, path, external_root, follow_symlinks)
    if external_root is not None:
        raise ValueError(f"a {type(model).__name__} knows its folder; leave external_root out")
    return known


def _known(model: Any) -> Written | None:
    """What is written for a model that knows its folder; None for another message."""
    if isinstance(model, Model):
        return Written(model.proto, model._form)
    if _is_ir(model):
        libraries = import_module("onnxmap.interop.from_libraries")
        return Written(libraries.from_ir(model).proto)
    is_model = isinstance(model, _core.ProtoView) and model.message_type == "ModelProto"
    return Written(model) if is_model and _core.document_of(model) is not None else None


def _of_message(
    message: Any, path: Any, external_root: Path | None, follow_symlinks: bool
) -> Written:
    if not hasattr(message, "SerializeToString") or _core.message_type_of(message) != "ModelProto":
        found = _core.message_type_of(message) or type(message).__name__
        is_path = isinstance(message, (str, os.PathLike))
        advice = f": load it first, onnxmap.load({os.fspath(message)!r})" if is_path else ""
        raise TypeError(f"expected a Model, not {found}{advice}")
    data = message.SerializeToString()
    if not data:  # `loads` would speak of a file
        return written_of(_core.new("ModelProto"), path, None, follow_symlinks)
    is_file = not hasattr(path, "write") and own_descriptor(path) is None
    if external_root is None and is_file:
        name = local_path(path)
        name = os.path.realpath(name) if follow_symlinks else name
        external_root = os.path.dirname(name)  # noqa: PTH120 -- bytes
    document = open_buffer(data, "ModelProto", Options(external_root=external_root))
    locations = _core.take_locations(document)
    return Written(document.proto, locations=locations, must_exist="all" if is_file else "none")


def _is_ir(model: object) -> bool:
    return type(model).__module__.partition(".")[0] == "onnx_ir" and hasattr(model, "graph")
