"""What a model does with its edits: undo them, and write them to files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from onnxmap import _core
    from onnxmap._file_forms import FileForm
    from onnxmap._paths import Path
    from onnxmap._progress import ProgressArgument
    from onnxmap._save_options import ExternalData, SaveReport


class ModelSaving(ABC):
    """The edits of a model, and its saves."""

    __slots__ = ()

    _form: FileForm

    @abstractmethod
    def _open(self) -> _core.Document:
        """The document; an error if the model is closed."""

    @property
    def edited(self) -> bool:
        """Whether the model was edited since it was loaded, or since `revert()`.

        An edit that is taken back by another one counts.
        """
        return self._open().edited

    def revert(self) -> None:
        """Undo all edits since the model was loaded.

        Messages that were added since count as removed: they can be read, and not written to.
        """
        self._open().revert()

    def save(
        self,
        path: Path | BinaryIO,
        external_data: ExternalData = None,
        *,
        size_threshold_bytes: int = 1024,
        alignment: int | None = None,
        attributes: bool = False,
        checksum: bool = False,
        max_shard_size_bytes: int | None = None,
        dedupe: bool = False,
        allow_over_2gib: bool = False,
        format: FileForm | None = None,
        overwrite: bool = True,
        replace_read_only: bool = False,
        follow_symlinks: bool = False,
        sync: bool = True,
        progress: ProgressArgument = False,
    ) -> SaveReport:
        """Write the model, edits included; see `onnxmap.save`."""
        from onnxmap._save_options import SaveOptions
        from onnxmap._writing import Written, write_document

        options = SaveOptions(
            external_data, size_threshold_bytes, alignment, attributes, checksum,
            max_shard_size_bytes, dedupe, allow_over_2gib, format, overwrite, replace_read_only,
            follow_symlinks, sync, progress,
        )  # fmt: skip
        return write_document(Written(self._open(), self._form), path, options)

    def unused_bytes(self) -> dict[str, int]:
        """Return, by the path of each external file, the bytes that no tensor of the model uses.

        Raises:
            ExternalDataError: an external file cannot be opened.
        """
        from onnxmap._writing import unused_bytes

        return unused_bytes(self._open())
