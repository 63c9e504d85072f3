#include "bindings/remote.hpp"

#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "os/parallel.hpp"

namespace onnxmap::bindings {

namespace {

class PythonReader final : public source::RangeReader {
  public:
    explicit PythonReader(const py::object& file)
        : file_(thread_safe(file)),
          url_(to_text(file.attr("url"))),
          state_(to_text(file.attr("state"))),
          size_(file.attr("size").cast<std::uint64_t>()),
          at_once_(file.attr("at_once").cast<unsigned>()) {}

    [[nodiscard]] const std::string& url() const noexcept override { return url_; }
    [[nodiscard]] const std::string& state() const noexcept override { return state_; }
    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] unsigned at_once() const noexcept override { return at_once_; }

    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        if (out.empty()) return;
        const WithLock locked;
        const auto nbytes = static_cast<py::ssize_t>(out.size());
        const py::memoryview memory = py::memoryview::from_memory(out.data(), nbytes);
        const LetGo let_go{memory};
        try {
            file_->attr("read_into")(offset, memory);
        } catch (const py::error_already_set&) {
            os::leave_if_stopped();  // the stop may be the reason for the error
            throw;
        }
    }

    void check_unchanged() const override {
        const WithLock locked;
        file_->attr("check_unchanged")();
    }

  private:
    // Releases the memoryview when a read ends, early or not, so that nobody can touch the memory
    // later.
    struct LetGo {
        const py::memoryview& memory;
        ~LetGo() {
            const py::error_scope keeps_error;
            py::object done = py::reinterpret_steal<py::object>(
                PyObject_CallMethod(memory.ptr(), "release", nullptr));
            if (!done) PyErr_WriteUnraisable(memory.ptr());
        }
    };

    ThreadSafeObject file_;
    std::string url_;
    std::string state_;
    std::uint64_t size_;
    unsigned at_once_;
};

// The error number of the system that corresponds to the exception, for errors about an external
// file.
int number_of(const py::error_already_set& error) {
    if (error.matches(PyExc_FileNotFoundError) || error.matches(PyExc_NotADirectoryError)) {
        return ENOENT;
    }
    if (error.matches(PyExc_PermissionError)) return EACCES;
    return error.matches(PyExc_IsADirectoryError) ? EISDIR : 0;
}

class PythonFolder final : public source::RemoteFolder {
  public:
    explicit PythonFolder(const py::object& folder) : folder_(thread_safe(folder)) {}

    [[nodiscard]] std::string url_of(std::string_view location) const override {
        const WithLock locked;
        return to_text(folder_->attr("url_of")(to_bytes(as_bytes(location))));
    }

    [[nodiscard]] std::shared_ptr<const source::RangeReader> open(
        std::string_view location) const override {
        const WithLock locked;
        try {
            return range_reader(folder_->attr("open")(to_bytes(as_bytes(location))));
        } catch (const py::error_already_set& error) {
            if (const int number = number_of(error)) throw FileError(number, url_of(location));
            throw;
        }
    }

  private:
    ThreadSafeObject folder_;
};

}  // namespace

std::shared_ptr<const source::RangeReader> range_reader(const py::object& file) {
    return std::make_shared<const PythonReader>(file);
}

std::shared_ptr<const source::RemoteFolder> remote_folder(const py::object& folder) {
    return std::make_shared<const PythonFolder>(folder);
}

}  // namespace onnxmap::bindings
