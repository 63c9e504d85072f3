"""Methods of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxmap import _core
from onnxmap._base.later import import_module
from onnxmap._methods import surgery
from onnxmap._methods.mappings import new_names
from onnxmap._show.shown import Displayed, Tabled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnxmap._read.checks import CheckReport
    from onnxmap.types import Use


class Node(Tabled):
    """What a Node of `_core` gets."""

    def _set_attributes(self, given: Any) -> None:
        import_module("onnxmap._make.attribute_values").set_entries(self, "attribute", given)


class Attribute(Tabled):
    """What an Attribute of `_core` gets."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def proto(self) -> _core.ProtoView: ...
        @property
        def type(self) -> Any: ...
        def _assign(self, made: _core.ProtoView) -> None: ...

    def _set_value(self, given: Any) -> None:
        make = import_module("onnxmap._make.attribute_values")
        self._assign(make.attribute_of(self.name, given, self.proto, self.type))


class ValueInfo(Tabled):
    """What a ValueInfo of `_core` gets."""

    if TYPE_CHECKING:

        @property
        def proto(self) -> _core.ProtoView: ...
        def _set_of_tensor(self, field: str, value: Any) -> None: ...

    def _set_dtype(self, given: Any) -> None:
        make = import_module("onnxmap._make.type_values")
        self._set_of_tensor("elem_type", make.element_type(given))

    def _set_shape(self, given: Any) -> None:
        import_module("onnxmap._make.type_values").set_shape(self, given)

    def _set_type(self, given: Any) -> None:
        make = import_module("onnxmap._make.type_values")
        _core.set_property(self.proto, "type", make.type_message(given))


class Body(Tabled):
    """What a Graph and a Function of `_core` get."""

    if TYPE_CHECKING:

        def _uses(self, value: str) -> list[tuple[Any, int]]: ...

    def uses(self, value: str) -> list[Use]:
        """Return the places where `value` is used, in order.

        A `Use` is a pair: a Node and a position among its inputs, or a Graph or Function and a
        position among its outputs. Uses in subgraphs follow those of the node that holds the
        subgraph. A subgraph that has a value of the same name uses its own.
        """
        use = import_module("onnxmap.types").Use
        return [use(*each) for each in self._uses(value)]

    insert_after = surgery.insert_after
    insert_before = surgery.insert_before
    replace = surgery.replace


class Function(Body):
    """What a Function of `_core` gets."""

    def _set_attribute_protos(self, given: Any) -> None:
        import_module("onnxmap._make.attribute_values").set_entries(self, "attribute_proto", given)


class Graph(Body):
    """What a Graph of `_core` gets."""

    if TYPE_CHECKING:

        def _rename(self, new_names: dict[str, str]) -> None: ...

    def rename(self, old: str | Mapping[str, str], new: str | None = None) -> None:
        """Rename a value of the graph, with everything that refers to it.

        A value is an input, an initializer or an output of a node. `initializers.rename` lists what
        can refer to it.

        Args:
            old: the name; or the new names of many values by their old ones.
            new: the new name.

        Raises:
            KeyError: the graph makes no value of the old name.
            ValueError: the new name is taken: in the graph, in a subgraph, or in a graph around it;
                two values would get it; or the graph is in a function that has a graph as the
                default of an attribute, which may use the name.
            ParseError: `model.duplicate_name`: several nodes make the value.
            EditError: the graph was removed from its model.
        """
        self._rename(new_names(old, new))

    add_prefix = surgery.add_prefix
    remove_output = surgery.remove_output


class OperatorSet(Displayed):
    """What an OperatorSet of `_core` gets."""

    if TYPE_CHECKING:

        @property
        def proto(self) -> _core.ProtoView: ...

    def check(
        self,
        *,
        strict: bool = False,
        select: Iterable[str] | str | None = None,
        ignore: Iterable[str] | str | None = None,
    ) -> CheckReport:
        """Check the set against the rules of the ONNX specification; see `Model.check`."""
        checks = import_module("onnxmap._read.checks")
        return checks.check_message(self.proto, checks.chosen_rules(strict, select, ignore))


class ProtoView:
    """What a ProtoView of `_core` gets."""

    if TYPE_CHECKING:

        @property
        def message_type(self) -> str: ...
        def ByteSize(self) -> int: ...
        def _fields(self) -> list[tuple[str, Any]]: ...

    @property
    def DESCRIPTOR(self) -> Any:
        """The type of the message, as protobuf describes it.

        The `Descriptor` of the package onnx if it is installed; otherwise a `types.MessageType`.
        """
        return import_module("onnxmap.interop.from_libraries").descriptor(self.message_type)

    def __repr__(self) -> str:
        return f"<onnxmap.ProtoView {self.message_type}, {self.ByteSize()} bytes>"

    def __dir__(self) -> list[str]:
        fields = [row["name"] for row in _core.schema()["messages"][self.message_type]]
        hidden = ("_", "write_")
        return fields + [name for name in vars(_core.ProtoView) if not name.startswith(hidden)]

    def IsInitialized(self, errors: list[str] | None = None) -> bool:
        """Return True: no field of onnx.proto is required. `errors` stays as it is."""
        return True

    def FindInitializationErrors(self) -> list[str]:
        """Return an empty list: no field of onnx.proto is required."""
        return []

    def ListFields(self) -> list[tuple[Any, Any]]:
        """Return `(field, value)` for each field that is set, sorted by number.

        `field` is from DESCRIPTOR.fields_by_number.
        """
        by_name = self.DESCRIPTOR.fields_by_name
        return [(by_name[name], value) for name, value in self._fields()]
