// Gives functions of a bound Tensor its header and values, with errors that name the tensor.
#pragma once

#include <utility>

#include "base/error.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "model/tensor_path.hpp"
#include "source/read_guard.hpp"
#include "tensor/header.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

/// Calls work(). If an Error is thrown for a tensor without a name, adds the tensor's path.
template <class Work>
auto naming(const Tensor& tensor, Work&& work) {
    try {
        return std::forward<Work>(work)();
    } catch (const Error& error) {
        throw model::with_tensor_path(error, *tensor.document, tensor.message.piece(0).data());
    }
}

[[nodiscard]] inline tensor::Header header_of(const Tensor& tensor) {
    const tensor::Header header = tensor::read_header(tensor.message);
    return header;
}

/// Releases the interpreter lock, since finding segments and opening a file may take a while.
[[nodiscard]] inline tensor::Values values_of(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (!header.has_segment && !header.external) {
        return tensor.document->values(tensor.message, header);
    }
    const WithoutLock unlocked;
    return tensor.document->values(tensor.message, header);
}

/// Calls work(values) with the values of a tensor. All reads meanwhile, including NumPy's, are
/// below a guard of the file that holds the values.
template <class Work>
auto with_values(const Tensor& tensor, Work&& work) {
    return naming(tensor, [&] {
        tensor::Values values = values_of(tensor);
        return source::guard_reads(values.source(), [&] { return work(values); });
    });
}

[[nodiscard]] inline bool is_true(const py::object& value) {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) throw py::error_already_set();
    return truth != 0;
}

/// NumPy's copy argument: None, true or false. Testing an object's truth may run Python code, so it
/// is done once, with the interpreter lock held and before anything is read.
struct Copying {
    explicit Copying(const py::object& copy)
        : always(!copy.is_none() && is_true(copy)), never(!copy.is_none() && !always) {}

    bool always;
    bool never;
};

}  // namespace onnxmap::bindings
