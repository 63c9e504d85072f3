"""Beginnings of files that people take for files of weights, by a word of what they are."""

import bz2
import gzip
import io
import lzma
import tarfile

_MODEL = b"\x08\x08\x3a\x09\x12\x07weights"  # with a graph of that name


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo("weights")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"abc"))
    return file.getvalue()


FORMATS = {
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "HTML": b"<!DOCTYPE html>\n<html><head><title>404</title></head><body></body></html>",
    "GGUF": b"GGUF\3" + bytes(40),
    "xz": lzma.compress(b"weights"),
    "bzip2": bz2.compress(b"weights"),
    "gzip": gzip.compress(b"weights", mtime=0),  # as a length of a header, it is short
    "Zstandard": b"\x28\xb5\x2f\xfd\x04\x58" + bytes(20),
    "tar": _tar(),
    "model (onnxmap.load reads it)": _MODEL,
    "text": b"Please sign in first.\n",
}
