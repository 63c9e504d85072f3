// Objects of Python packages that the bindings return or call, imported when first needed, and the
// text and numbers that go to and from Python.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
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

/// Imports a module. A fork waits for it, as for all imports inside calls.
[[nodiscard]] py::object import_module(const char* name);

/// Returns an object of a module, which is imported once: `python_object<"numpy", "dtype">()`. The
/// package's own objects are in package_seam.hpp.
template <onnx::detail::Name module_name, onnx::detail::Name object_name>
const py::object& python_object() {
    constinit static std::atomic<const py::object*> found = nullptr;
    return made_once(found, [] {
        return std::make_unique<const py::object>(
            import_module(module_name.chars).attr(object_name.chars));
    });
}

/// Text of the file as `str`. Bytes that are not UTF-8 become surrogate escapes, so the text can be
/// hashed, compared and written back byte for byte.
[[nodiscard]] py::str to_str(std::string_view text);

/// None for an empty text.
[[nodiscard]] inline py::object to_str_or_none(std::string_view text) {
    return text.empty() ? py::object(py::none()) : to_str(text);
}

/// A list of convert(element) for each element of a range.
template <class Range, class Convert>
[[nodiscard]] py::list list_of(Range&& range, Convert&& convert) {
    py::list made;
    for (auto&& each : range) made.append(convert(each));
    return made;
}

/// The inverse of to_str. Throws UnicodeEncodeError if to_str cannot produce the text.
[[nodiscard]] std::string to_text(const py::str& text);

/// The same for any object. Nothing if it is no text that to_str can produce, which no file has.
[[nodiscard]] std::optional<std::string> name_in_file(const py::object& name);

/// The UTF-8 of any `str`, for names and messages: surrogates become escapes like `\ud800`.
[[nodiscard]] std::string to_printable(const py::str& text);

[[nodiscard]] py::bytes to_bytes(ByteView bytes);

/// Texts as a list of `str`.
[[nodiscard]] py::list to_list(std::span<const std::string_view> texts);

/// Dimensions as a tuple of int.
[[nodiscard]] py::tuple to_tuple(std::span<const std::int64_t> dims);

/// The class of an enum by its name in the package, such as "DataType".
[[nodiscard]] py::object enum_class(const char* name);

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

/// Makes the object of a message's class.
using Wrap = py::object (*)(Handle&&);

/// The Wrap of a message's type. Null if it has no class of its own. The functions that bind the
/// classes set it.
[[nodiscard]] Wrap& wrapper_of(std::string_view message);

/// The object of a message's class: a Node, a Tensor, a Graph ... `as_proto`: a ProtoView.
[[nodiscard]] py::object wrap_message(Handle handle, bool as_proto = false);

/// The name of a message's class, like Node for a NodeProto; of the message if it has no class.
[[nodiscard]] std::string class_name(std::string_view message);

/// The name of an object's class, without its module.
[[nodiscard]] std::string type_name(const py::handle& object);

/// A number that Python takes as an index, of any class. `overflow`: the error for a number that is
/// too large; null clips it.
[[nodiscard]] py::ssize_t to_index(const py::handle& number, PyObject* overflow = nullptr);

/// Where list.insert() puts an element, and where list.index() begins.
[[nodiscard]] inline std::uint64_t place_in(py::ssize_t index, std::uint64_t count) {
    const auto end = static_cast<py::ssize_t>(count);
    return static_cast<std::uint64_t>(
        std::clamp<py::ssize_t>(index < 0 ? index + end : index, 0, end));
}

/// Throws a Python exception.
[[noreturn]] inline void throw_python(const py::object& error) {
    PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
    throw py::error_already_set();
}

}  // namespace onnxmap::bindings
