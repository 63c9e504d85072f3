"""The fields of a model: where it is from, which versions it needs, and what it defines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from onnxmap import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnxmap._core import OpsetMapping, StringMapping


class ModelFields(ABC):
    """The fields of a ModelProto, except the graph."""

    __slots__ = ()

    @property
    @abstractmethod
    def proto(self) -> _core.ProtoView:
        """The source message, with the exact names of onnx.proto."""

    @property
    def ir_version(self) -> int:
        """The version of the ONNX format (IR version)."""
        return self.proto.ir_version

    @ir_version.setter
    def ir_version(self, value: int) -> None:
        self.proto.ir_version = value

    @property
    def opset_imports(self) -> OpsetMapping:
        """The versions of the operator sets by domain.

        If the file imports a domain more than once, the highest version counts. "" and "ai.onnx"
        are two spellings of the default domain. Each is kept as the file spells it, which is
        nearly always "": `model.opset_imports[""]`.
        """
        return _core.friendly(self.proto, "opset_import")

    @opset_imports.setter
    def opset_imports(self, items: Mapping[str, int]) -> None:
        _core.set_friendly(self.proto, "opset_import", items)

    @property
    def producer_name(self) -> str:
        """The name of the tool that made the model."""
        return self.proto.producer_name

    @producer_name.setter
    def producer_name(self, value: str) -> None:
        self.proto.producer_name = value

    @property
    def producer_version(self) -> str:
        """The version of the tool that made the model."""
        return self.proto.producer_version

    @producer_version.setter
    def producer_version(self, value: str) -> None:
        self.proto.producer_version = value

    @property
    def domain(self) -> str:
        """The domain of the model, in reverse DNS order."""
        return self.proto.domain

    @domain.setter
    def domain(self, value: str) -> None:
        self.proto.domain = value

    @property
    def model_version(self) -> int:
        """The version of the model itself."""
        return self.proto.model_version

    @model_version.setter
    def model_version(self, value: int) -> None:
        self.proto.model_version = value

    @property
    def doc_string(self) -> str:
        """The documentation of the model, in Markdown."""
        return self.proto.doc_string

    @doc_string.setter
    def doc_string(self, value: str) -> None:
        self.proto.doc_string = value

    @property
    def metadata_props(self) -> StringMapping:
        """Named values.

        If a key is repeated, its last value counts, and you get a RepeatedKeyWarning.
        """
        return _core.friendly(self.proto, "metadata_props")

    @metadata_props.setter
    def metadata_props(self, items: Mapping[str, str]) -> None:
        _core.set_friendly(self.proto, "metadata_props", items)

    @property
    def functions(self) -> _core.MessageList[_core.Function]:
        """The functions that the model defines, a sequence of Function."""
        return _core.friendly(self.proto, "functions")

    @functions.setter
    def functions(self, messages: Iterable[_core.Function | _core.ProtoView]) -> None:
        _core.set_friendly(self.proto, "functions", messages)

    @property
    def training_info(self) -> _core.MessageList[_core.TrainingInfo]:
        """A sequence of TrainingInfo."""
        return _core.friendly(self.proto, "training_info")

    @training_info.setter
    def training_info(self, messages: Iterable[_core.TrainingInfo | _core.ProtoView]) -> None:
        _core.set_friendly(self.proto, "training_info", messages)

    @property
    def state_variables(self) -> list[str]:
        """The names of the initializers that a training step changes, each once.

        They are the keys of each `update_binding` of `training_info`. An initializer of this name
        is in the graph, or in the `algorithm` of the training information.
        """
        return _core.state_variables(self.proto)

    @property
    def device_configurations(self) -> _core.MessageList[_core.DeviceConfiguration]:
        """A sequence of DeviceConfiguration."""
        return _core.friendly(self.proto, "configuration")

    @device_configurations.setter
    def device_configurations(
        self, messages: Iterable[_core.DeviceConfiguration | _core.ProtoView]
    ) -> None:
        _core.set_friendly(self.proto, "configuration", messages)
