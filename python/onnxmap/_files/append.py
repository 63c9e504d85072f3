"""Appending to model files: metadata and scalar fields, whatever the size of the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from onnxmap import _core
from onnxmap._base.paths import absolute_path, checked_name, is_url
from onnxmap._files.load import load
from onnxmap._write.options import MOST_FOR_PROTOBUF, SaveReport
from onnxmap.errors import SaveError, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxmap._base.paths import Path


def append(
    path: Path,
    *,
    metadata_props: Mapping[str, str] | None = None,
    doc_string: str | None = None,
    producer_name: str | None = None,
    producer_version: str | None = None,
    domain: str | None = None,
    model_version: int | None = None,
    sync: bool = True,
) -> SaveReport:
    """Add metadata or scalar fields to a model file, by one write at its end.

    The size of the file does not matter: protobuf merges what stands at the end with the rest. A
    failed write is undone. Models of the file that are loaded in this process stay as they are;
    those of other processes raise FileChangedError, and views of the file must be saved again. A
    crash of the system, or a loss of power, may leave a part of what was added, and then the file
    cannot be loaded; `save` is safe against that.

    Args:
        path: the path of the file.
        metadata_props: new metadata, strings by key.
        doc_string: the new documentation.
        producer_name: the new name of the tool that made the model.
        producer_version: its new version.
        domain: the new domain of the model.
        model_version: the new version of the model.
        sync: wait until the disk has the bytes.

    Raises:
        SaveError: a key of `metadata_props` exists already (`save.key_exists`); the file is a
            symbolic link or has other hard links (`save.link`); it would have more than 2 GiB
            (`save.too_large`); another program has locked it, or its folder, for 30
            seconds (`save.locked`).
        ValueError: there is nothing to add.
        ParseError: the file is not a model.
        FileChangedError: the file was written to or replaced meanwhile, by another program or by
            another `append`; call again.
        OSError: the system cannot write.
    """
    name = checked_name(path)
    if is_url(name):
        raise SaveError("only a local file can be appended to", code="save.remote")
    name = absolute_path(name)
    entries = dict(metadata_props or {})
    added = _core.new(
        "ModelProto", doc_string=doc_string, producer_name=producer_name,
        producer_version=producer_version, domain=domain, model_version=model_version,
        metadata_props=[{"key": key, "value": value} for key, value in entries.items()],
    )  # fmt: skip
    data = added.SerializeToString()
    if not data:
        raise ValueError("there is nothing to add")
    with load(name, check="lazy") as model:
        if model.io not in ("mmap", "read"):
            text = "only a file in protobuf's binary form can be appended to"
            raise SaveError(text, code="save.text")
        known = {entry.key for entry in model.proto.metadata_props}
        for key in (key for key in entries if key in known):
            text = f"metadata_props has the key {printable(repr(key))} already"
            raise SaveError(f"{text}; save() can change it", code="save.key_exists")
        document = model._open()
        if document.nbytes <= MOST_FOR_PROTOBUF < document.nbytes + len(data):
            raise SaveError("the file would have more than 2 GiB", code="save.too_large")
        _core.append_bytes(document, name, data, sync)
    return SaveReport(files=[os.fsdecode(name)], bytes_written=len(data))
