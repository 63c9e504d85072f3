"""Models of nothing but weights, and files of them: safetensors and archives of NumPy."""

from __future__ import annotations

import errno
import os
import pathlib
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from onnxmap import _core, _remote
from onnxmap._base.options import Options
from onnxmap._base.paths import absolute_path, checked_name, is_url
from onnxmap._files.load import loads, wrap
from onnxmap._files.model import Model
from onnxmap._files.save import written_of
from onnxmap._make.messages import make_graph, make_model
from onnxmap._make.tensor_values import tensor_of
from onnxmap._read.npz_archive import model_of, open_regular
from onnxmap._show.display import describe_html
from onnxmap._write.documents import write_weights
from onnxmap._write.options import WeightsOptions
from onnxmap.errors import EditError, OnnxMapError, ParseError, UnknownNameError, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from onnxmap._base.options import FileOptions
    from onnxmap._base.paths import Path
    from onnxmap._show.progress import ProgressArgument
    from onnxmap._write.options import NewTypes, SaveReport


Keys = Mapping[str, str] | Callable[[str], str] | None

_HEAD_BYTES = 512  # of a file, which show its format
_SAFETENSORS = (".safetensors", ".safetensors.index.json")


def from_arrays(
    arrays: Mapping[str, Any], metadata_props: Mapping[str, str] | None = None
) -> Model:
    """Return a new model that holds just these initializers: no nodes, inputs or outputs.

    Args:
        arrays: by name, what `initializers[name] = ...` takes: arrays, numbers, strings, Tensors of
            any model, TensorProtos, or torch tensors. Arrays of 4096 bytes or more are not copied:
            keep them unchanged until a save.
        metadata_props: strings to keep with the model, by key.

    Returns:
        A model that consists of edits: `revert()` takes the arrays and strings out again.

    Raises:
        TypeError: `arrays` is not a mapping, a name is not a str, or ONNX has no type for the
            elements.
        ValueError: a name is empty.

    Example:
        >>> onnxmap.from_arrays({"w": np.eye(2)}).save("weights.onnx")  # doctest: +SKIP
    """
    if not isinstance(arrays, Mapping):
        raise TypeError(f"arrays must be a mapping of names, not {type(arrays).__name__}")
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
    name = checked_name(path)
    if not is_url(name):
        folder = os.path.dirname(absolute_path(name))  # noqa: PTH120 -- bytes
        opened = Options(**options, external_root=folder)
        with _naming_what_is_there(os.fsdecode(name), *_SAFETENSORS):
            return Model(_core.load_safetensors(name, opened, folder), None, opened)
    opened = Options(**options, storage_options=storage_options)
    url, remote = os.fsdecode(name), _remote.files
    root = remote.RemoteFolder(url, opened, of_file=True)
    with remote.opening_file(url, opened) as file:
        location = url.partition("?")[0].rpartition("/")[2]
        document = _core.load_remote_safetensors(file, location, opened, root)
    return Model(document, None, replace(opened, external_root=root.url))


def save_safetensors(
    model: Any,
    path: Path,
    names: Sequence[str] | str | None = None,
    metadata: bool = True,
    max_shard_size_bytes: int | None = None,
    *,
    dtype: NewTypes = None,
    allow_loss: bool = False,
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
        dtype: the types of floating-point tensors, as for `save`. Names stay.
        allow_loss: as for `save`.
        overwrite: as for `save`.
        replace_read_only: as for `save`.
        sync: as for `save`.
        progress: as for `save`.

    Raises:
        SaveError: values do not fit `dtype` (`save.loss`). The format cannot hold some tensors,
            which the error names: strings, sparse tensors, INT4, UINT4, INT2, UINT2 and
            COMPLEX128, or elements that end within a byte (`save.not_carried`). There are no
            initializers, and the weights are in Constant nodes (`save.no_weights`). Another model
            uses a file of that name (`save.own_data`).
        KeyError: there is no initializer of a name, or none that matches.
        TensorError, ExternalDataError: the values of a tensor cannot be read.
        The other errors of `save`.

    Example:
        >>> onnxmap.save_safetensors(model, "model.safetensors", "*.weight")  # doctest: +SKIP
    """
    options = WeightsOptions(
        metadata=metadata, max_shard_size_bytes=max_shard_size_bytes, dtype=dtype,
        allow_loss=allow_loss, overwrite=overwrite, replace_read_only=replace_read_only, sync=sync,
        progress=progress,
    )  # fmt: skip
    return _write(model, path, names, options)


def load_npz(path: Path, **options: Unpack[FileOptions]) -> Model:
    """Return a model whose initializers are the arrays of an `.npz` archive.

    Arrays that are stored uncompressed, as `numpy.savez` does, in C order and native byte order are
    external data in the archive, and read when they are used, without their checksums. The others
    are read now, into memory that the model keeps. Members that are no arrays are left out, with a
    warning (`TensorWarning`).

    Args:
        path: the path of the archive.
        options: `link_policy`, `allow_hardlinks`, `io`, `watch`, `lenient` and `limits`, as for
            `load`.

    Raises:
        ParseError: it is no archive of arrays (`model.npz`): a member is damaged, has the name of
            another, or has pickled objects.
        LimitError: arrays that are read now have more than `Limits(dense_bytes=...)` bytes.
        TypeError: ONNX has no type for the elements. NumPy stores types that it lacks, such as
            bfloat16, as plain bytes.
        OSError: the file cannot be read.
    """
    name = checked_name(path)
    folder = os.path.dirname(absolute_path(name))  # noqa: PTH120 -- bytes
    opened = Options(**options, external_root=folder)
    shown = os.fsdecode(name)
    with _naming_what_is_there(shown, ".npz"), open_regular(shown) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                model = model_of(file, archive, opened.limits.dense_bytes)
        except Exception as error:
            # The decoders' errors have no number. EINVAL is the answer to a wrong offset.
            is_of_system = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
            if is_of_system or isinstance(error, OnnxMapError | MemoryError | TypeError | Warning):
                raise
            reason = str(error) or type(error).__name__
            file.seek(0)
            head = file.read(_HEAD_BYTES)
            kind = None if head.startswith(b"PK") else _core.looks_like(head)
            if kind:
                reason = f"this is not an .npz archive; it looks like {kind} ({reason})"
            raise ParseError(f"{shown!r}: {reason}", code="model.npz") from None
        now = os.fstat(file.fileno())
    state = now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns
    return Model(_core.load_beside(name, model, opened, folder, state), None, opened)


@contextmanager
def _naming_what_is_there(name: str, *endings: str) -> Iterator[None]:
    """Let the error about a folder, or a missing file beside its index, name what to open."""
    try:
        yield
    except (IsADirectoryError, FileNotFoundError) as error:
        index = f"{name}.index.json"
        found = [index] * os.path.exists(index)  # noqa: PTH110 -- pathlib raises for a long name
        if isinstance(error, IsADirectoryError):
            # The index first: a shard has only some of the tensors.
            found = sorted(map(str, pathlib.Path(name).iterdir()))
            found.sort(key=lambda each: not each.endswith(".json"))
        for each in [each for each in found if each.endswith(endings)][:1]:
            error.strerror = f"{error.strerror}; there is {each!r}"
        raise


def extract_weights(
    model: Any, path: Path, names: Sequence[str] | str | None, **given: Any
) -> SaveReport:
    """See `Model.extract_weights`."""
    extension = pathlib.Path(os.fsdecode(path)).suffix
    if extension not in (".safetensors", ".npz", ".npy"):
        raise ValueError(f"the path must end in .safetensors, .npz or .npy, not {extension!r}")
    options = WeightsOptions(for_numpy=extension != ".safetensors", **given)
    return _write(model, path, names, options)


@dataclass(frozen=True)
class RebaseReport:
    """What `Model.rebase` did, by names of initializers.

    Attributes:
        matched: the initializers that got the values of the other model.
        missing: those whose names the other model does not have. They are as they were.
        unused: names of the other model that this one does not have.
    """

    matched: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    _repr_html_ = describe_html


def rebase(model: Model, other: Any, strict: bool, keys: Keys) -> RebaseReport:
    """See `Model.rebase`."""
    given: Any = other.initializers if isinstance(other, Model) else other
    if not isinstance(given, Mapping):
        raise TypeError(f"other must be a Model or a mapping of arrays, not {type(other).__name__}")
    if not (keys is None or callable(keys) or isinstance(keys, Mapping)):
        raise TypeError(f"keys must be a mapping or a function, not {type(keys).__name__}")
    renamed: dict[str, str] = {}
    for key in given:
        name = _renamed(key, keys)
        if name in renamed:
            raise ValueError(f"{renamed[name]!r} and {key!r} both become {name!r}")
        renamed[name] = key
    mine = model.initializers
    report = RebaseReport(unused=[key for name, key in renamed.items() if name not in mine])
    wrong, new = [], {}
    for name, tensor in mine.items():
        if name not in renamed:
            report.missing.append(name)
            continue
        new[name] = value = given[renamed[name]]
        is_tensor = isinstance(value, _core.Tensor)
        found = value if is_tensor else wrap(tensor_of(value, copy=False))
        if (found.dtype, found.shape) != (tensor.dtype, tensor.shape):
            wrong.append(f"{name!r} is {_kind(tensor)}, not {_kind(found)}")
        report.matched.append(name)
    if strict:
        wrong += [f"{name!r} is missing" for name in report.missing]
        wrong += [f"{key!r} is not in the model" for key in report.unused]
    if wrong:
        more = f"; and {len(wrong) - 10} more" if len(wrong) > 10 else ""
        text = f"the weights do not fit: {'; '.join(wrong[:10])}{more}"
        raise EditError(text, code="edit.weights")
    mine.update(new)
    return report


def _kind(tensor: _core.Tensor) -> str:
    return f"{tensor.dtype.name} {list(tensor.shape)}"


def _renamed(key: str, keys: Keys) -> str:
    if callable(keys):
        return keys(key)
    for pattern, target in (keys or {}).items():
        found = re.fullmatch(re.escape(pattern).replace(r"\*", "(.*)", 1), key, re.DOTALL)
        if found:
            return target.replace("*", found[1]) if found.lastindex else target
    return key


def _write(
    model: Any, path: Path, names: Sequence[str] | str | None, options: WeightsOptions
) -> SaveReport:
    found = written_of(model, path, None, False)
    if names is not None:
        initializers = _core.wrap(found.proto.graph).initializers
        chosen = [initializers[name].name for name in initializers._selected(names)]
        if isinstance(names, str) and not chosen:
            text = f"no initializer matches {printable(repr(names))}"
            raise UnknownNameError(text, code="name.unknown", name=names)
        options = replace(options, names=chosen)
    return write_weights(found, path, options)
