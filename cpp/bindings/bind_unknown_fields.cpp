// Fields that today's onnx.proto does not know, as a sequence.
#include <memory>

#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"

namespace onnxmap::bindings {

namespace {

struct UnknownField {
    std::uint32_t field_number;
    int wire_type;
    py::object data;
};

}  // namespace

template <>
struct ListTraits<UnknownFieldList> {
    static const model::UnknownFields& core(const UnknownFieldList& list) { return *list.fields; }

    static py::object element(const UnknownFieldList& list, const wire::Field& field) {
        const auto bytes = [&] { return list.document->resident(field.bytes); };
        py::object data;
        if (field.type == wire::WireType::length_delimited) {
            data = to_bytes(bytes());
        } else if (field.type == wire::WireType::start_group) {
            auto group = std::make_shared<const model::UnknownFields>(bytes());
            data = py::cast(UnknownFieldList{list.document, std::move(group)});
        } else {
            data = py::int_(field.value);
        }
        return py::cast(UnknownField{field.number, static_cast<int>(field.type), std::move(data)});
    }

    static py::object named(const UnknownFieldList&, const py::object& index) {
        return py::int_(to_index(index));  // throws TypeError
    }

    static std::uint64_t edits(const UnknownFieldList&) { return 0; }  // it never changes
    static bool is_removed(const UnknownFieldList&, const wire::Field&) { return false; }
};

void bind_unknown_fields(py::module_& module) {
    py::class_<UnknownField>(module, "UnknownField",
                             R"(A field that the schema does not know.

`data` is an int or bytes, or an UnknownFieldList for a group.)")
        .def_readonly("field_number", &UnknownField::field_number)
        .def_readonly("wire_type", &UnknownField::wire_type)
        .def_readonly("data", &UnknownField::data)
        .def(
            "__eq__",
            [](const UnknownField& a, const UnknownField& b) {
                return a.field_number == b.field_number && a.wire_type == b.wire_type &&
                       a.data.equal(b.data);
            },
            py::is_operator())
        .def("__hash__", [](const UnknownField& self) { return self.field_number; });
    bind_sequence<UnknownFieldList>(
        module, "UnknownFieldList", "UnknownFieldIterator",
        R"(An immutable sequence of the fields that the schema does not know.

The elements, of class UnknownField, are made on access.)");
}

}  // namespace onnxmap::bindings
