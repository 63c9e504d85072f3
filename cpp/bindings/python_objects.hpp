// Objects of Python packages that the bindings return or call. Imported when first needed.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/made_once.hpp"
#include "bindings/handles.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Returns an object of a module, which is imported once: `python_object<"numpy", "dtype">()`. The
/// package's own objects are in package_seam.hpp.
template <onnx::detail::Name module_name, onnx::detail::Name object_name>
const py::object& python_object() {
    constinit static std::atomic<const py::object*> found = nullptr;
    return made_once(found, [] {
        return std::make_unique<const py::object>(
            py::module_::import(module_name.chars).attr(object_name.chars));
    });
}

/// Text of the file as `str`. Bytes that are not UTF-8 become surrogate escapes, so the text can be
/// hashed, compared and written back byte for byte.
[[nodiscard]] py::str to_str(std::string_view text);

/// The inverse of to_str. Throws UnicodeEncodeError if to_str cannot produce the text.
[[nodiscard]] std::string to_text(const py::str& text);

/// The same for any object. Nothing if it is no text that to_str can produce, which no file has.
[[nodiscard]] std::optional<std::string> name_in_file(const py::object& name);

/// The UTF-8 of any `str`, for names and messages: surrogates become escapes like `\ud800`.
[[nodiscard]] std::string to_printable(const py::str& text);

[[nodiscard]] py::bytes to_bytes(ByteView bytes);

/// Dimensions as a tuple of int.
[[nodiscard]] py::tuple to_tuple(std::span<const std::int64_t> dims);

/// The member of onnxmap.DataType with this number, or None if the number is not assigned.
[[nodiscard]] py::object data_type_or_none(std::int32_t number);

/// The member of onnxmap.DataType with this number, or the int itself if the number is not
/// assigned.
[[nodiscard]] py::object data_type_or_int(std::int32_t number);

/// Whether an object is true. Testing it may run Python code.
[[nodiscard]] inline bool is_true(const py::object& value) {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) throw py::error_already_set();
    return truth != 0;
}

/// NumPy's copy argument: None, true or false. It is tested once, with the interpreter lock
/// held and before anything is read.
struct Copying {
    explicit Copying(const py::object& copy)
        : always(!copy.is_none() && is_true(copy)), never(!copy.is_none() && !always) {}

    bool always;
    bool never;
};

/// The object of a message's class: a Node, a Tensor, a Graph ...
[[nodiscard]] py::object wrap_message(Handle handle);

/// The name of a message's class, like Node for a NodeProto; of the message if it has no class.
[[nodiscard]] std::string class_name(std::string_view message);

/// Throws a Python exception.
[[noreturn]] inline void throw_python(const py::object& error) {
    PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
    throw py::error_already_set();
}

}  // namespace onnxmap::bindings
