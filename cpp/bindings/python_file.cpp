#include "bindings/python_file.hpp"

#include <algorithm>
#include <cerrno>

#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace {

constexpr std::uint64_t kPiece = 1 << 20;  // bytes

[[noreturn]] void fail_full(PyObject* error, const py::tuple& arguments) {
    PyErr_SetObject(error, arguments.ptr());
    throw py::error_already_set();
}

// Reads bytes before they are written: a view may lose its file.
void write_in_pieces(const py::object& tensor, const py::object& file, std::uint64_t nbytes) {
    for (std::uint64_t begin = 0; begin < nbytes; begin += kPiece) {
        write_all(file, tensor.attr("_read")(begin, std::min(kPiece, nbytes - begin)));
    }
}

}  // namespace

void write_all(const py::object& file, const py::object& bytes) {
    const py::object view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(bytes.ptr()));
    if (!view) throw py::error_already_set();
    const py::object write = file.attr("write");
    const std::size_t nbytes = view.attr("nbytes").cast<std::size_t>();
    for (std::size_t done = 0; done < nbytes;) {
        const py::object rest =
            view[py::slice(static_cast<py::ssize_t>(done), static_cast<py::ssize_t>(nbytes), 1)];
        const py::object written = write(rest);
        if (written.is_none()) {
            if (py::isinstance(file, python_object<"io", "RawIOBase">())) {
                fail_full(PyExc_BlockingIOError,
                          py::make_tuple(EAGAIN, "the file takes no more bytes now", 0));
            }
            return;  // this kind of object takes everything and returns no count
        }
        const py::ssize_t count = PyNumber_AsSsize_t(written.ptr(), PyExc_OverflowError);
        if (count == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
        if (count <= 0) {
            fail_full(PyExc_OSError, py::make_tuple(EIO, "the file takes no more bytes"));
        }
        done += static_cast<std::size_t>(count);
    }
}

void write_values(const py::object& tensor, const py::object& file) {
    const py::object stored = tensor.attr("_stored_nbytes");
    const std::uint64_t nbytes = stored.is_none() ? 0 : stored.cast<std::uint64_t>();
    py::object all;
    if (nbytes <= kPiece) all = tensor.attr("tobytes")();  // what may fail, before a file is made
    const bool is_path = !py::hasattr(file, "write");
    const py::object opened =
        is_path ? python_object<"builtins", "open">()(python_object<"os", "fspath">()(file), "wb")
                : file;
    const auto close = [&] {
        if (is_path) opened.attr("close")();
    };
    try {
        if (all) {
            write_all(opened, all);
        } else {
            write_in_pieces(tensor, opened, nbytes);
        }
    } catch (...) {
        close();
        throw;
    }
    close();
}

}  // namespace onnxmap::bindings
