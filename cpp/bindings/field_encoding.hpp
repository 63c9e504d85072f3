// Python values as fields of a message. Types and ranges are checked as protobuf checks them.
// Source: the behaviour of protobuf's Python package (upb), version 7.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "model/edit_message.hpp"
#include "wire/message_table.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// One value of a field that is no message. Large bytes are not copied: the field holds the object.
/// Throws TypeError, ValueError for a number out of range or an unknown member of an enum,
/// UnicodeError for text that no file can have, OverflowError for an int that is no float.
[[nodiscard]] model::NewValue encode(const wire::FieldRow& row, const py::handle& value);

/// The bytes of an object with a buffer, which is held and not copied.
[[nodiscard]] model::NewValue hold(const py::object& buffer);

/// Throws TypeError for a text where a list of texts is meant: its characters would be the values.
void check_is_list(const wire::FieldRow& row, const py::handle& values);

/// Iterates over the values for a repeated field. Throws TypeError if they are not iterable.
[[nodiscard]] py::iterator elements_of(const wire::FieldRow& row, const py::handle& values);

/// The values of a repeated field: one new value for each, or one for all in a packed run. Throws
/// the same, and TypeError if `values` is not iterable.
[[nodiscard]] std::vector<model::NewValue> encode_all(const wire::FieldRow& row,
                                                      const py::handle& values);

}  // namespace onnxmap::bindings
