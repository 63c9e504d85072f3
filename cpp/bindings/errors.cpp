#include "bindings/errors.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace {

void raise(const Error& error) {
    py::object offset = py::none();
    if (error.offset) offset = py::int_(*error.offset);
    const py::object exception = package::make_error()(
        error.code, to_str(error.what()), offset, to_str(error.path), to_str(error.file),
        to_str(error.tensor), to_str(error.location), to_str(error.remedy));
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
}

// OSError picks its subclass (FileNotFoundError ...) by the error number.
void raise(const FileError& error) {
    const py::object exception = py::reinterpret_borrow<py::object>(PyExc_OSError)(
        error.number, std::generic_category().message(error.number), to_str(error.path));
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
}

// pybind11 would take names in the text for UTF-8.
void raise(const std::invalid_argument& error) {
    const std::string_view text = error.what();
    const auto shown = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace"));
    if (shown) PyErr_SetObject(PyExc_ValueError, shown.ptr());
}

// pybind11 raises RuntimeError, and names a type of C++.
void raise(const py::cast_error& error) {
    const std::string text = error.what();
    const std::string given = text.substr(0, text.find(" to C++"));
    const std::size_t type = std::min(given.find(" of type "), given.size());
    PyErr_Format(PyExc_TypeError, "cannot use a value%s", given.c_str() + type);
}

}  // namespace

void register_errors() {
    py::register_exception_translator([](std::exception_ptr thrown) {
        if (!thrown) return;
        try {
            std::rethrow_exception(thrown);
        } catch (const Error& error) {
            raise(error);
        } catch (const FileError& error) {
            raise(error);
        } catch (const std::invalid_argument& error) {
            raise(error);
        } catch (const py::cast_error& error) {
            raise(error);
        }
    });
}

}  // namespace onnxmap::bindings
