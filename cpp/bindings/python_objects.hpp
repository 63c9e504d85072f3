// Objects of the Python package that the bindings hand out or call. Imported when first needed.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/made_once.hpp"
#include "bindings/handles.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// `python_object<"numpy", "dtype">()`; the module is imported once. Ours: package_seam.hpp.
template <onnx::detail::Name module_name, onnx::detail::Name object_name>
const py::object& python_object() {
    constinit static std::atomic<const py::object*> found = nullptr;
    return made_once(found, [] {
        return std::make_unique<const py::object>(
            py::module_::import(module_name.chars).attr(object_name.chars));
    });
}

/// Text of the file as `str`: UTF-8, where it is not that with surrogate escapes, so that it can
/// be hashed, compared and written back byte for byte.
[[nodiscard]] py::str to_str(std::string_view text);

/// The inverse of to_str. Throws UnicodeEncodeError if to_str makes that text of no bytes.
[[nodiscard]] std::string to_text(const py::str& text);

/// The UTF-8 of any `str`, for names and messages: surrogates become escapes like `\ud800`.
[[nodiscard]] std::string to_printable(const py::str& text);

[[nodiscard]] py::bytes to_bytes(ByteView bytes);

/// Dimensions as a tuple of int.
[[nodiscard]] py::tuple to_tuple(std::span<const std::int64_t> dims);

/// The member of onnxmap.DataType with this number, or None for a number nobody has assigned.
[[nodiscard]] py::object data_type_or_none(std::int32_t number);

/// As above, but a plain int for an unassigned number.
[[nodiscard]] py::object data_type_or_int(std::int32_t number);

/// A read-only view of a dict.
[[nodiscard]] py::object read_only(const py::dict& mapping);

/// The friendly object of a message: a Node, a Tensor, a Graph ...
[[nodiscard]] py::object wrap_message(Handle handle);

}  // namespace onnxmap::bindings
