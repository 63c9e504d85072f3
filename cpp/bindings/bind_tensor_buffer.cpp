// The buffer protocol of a Tensor: its stored bytes, without a copy.
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/tensor_access.hpp"

namespace onnxmap::bindings {

namespace {

py::buffer_info buffer_of(const tensor::Values& values) {
    const onnx::DataTypeInfo& type = values.type();
    if (*type.buffer_format == '\0') {
        // NumPy asks for a buffer before __array__, and would take flat bytes for the values.
        throw py::buffer_error("the buffer protocol has no format for " + std::string(type.name) +
                               "; use numpy() or tobytes()");
    }
    const tensor::Payload* payload = values.payload();
    if (payload == nullptr) {
        throw py::buffer_error("the values are not stored as raw bytes; use numpy()");
    }
    const ByteView bytes = payload->source->resident(payload->offset, payload->nbytes);
    const auto dims = values.header().dims();
    std::vector<py::ssize_t> sizes(dims.begin(), dims.end());
    std::vector<py::ssize_t> strides = row_major_strides(dims, type.itemsize());
    return {const_cast<std::uint8_t*>(bytes.data()),
            static_cast<py::ssize_t>(type.itemsize()),
            type.buffer_format,
            static_cast<py::ssize_t>(sizes.size()),
            std::move(sizes),
            std::move(strides),
            true};
}

py::buffer_info buffer(const Tensor& tensor) {
    return with_values(tensor, [](const tensor::Values& values) { return buffer_of(values); });
}

getbufferproc get_buffer_of_pybind11 = nullptr;

// pybind11 raises a BufferError whose cause is our error. This function raises our error itself,
// which says, for example, that the file is missing or unsafe.
extern "C" int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    // torch.asarray asks for a writable buffer, and then for a plain one while the error of the
    // first call is still set. It would take the bytes for float32, whatever they are. No other
    // caller is known to ask with an error set; the API of Python forbids it.
    if (PyErr_Occurred() != nullptr) {
        PyErr_SetString(PyExc_BufferError,
                        "torch would read the bytes of a Tensor as flat float32 values; use "
                        "torch() or torch.from_dlpack()");
        return -1;
    }
    const int result = get_buffer_of_pybind11(self, view, flags);
    if (result == 0) return 0;
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject* const cause = value == nullptr ? nullptr : PyException_GetCause(value);
    if (cause == nullptr) {
        PyErr_Restore(type, value, trace);
        return result;
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause)), cause);
    for (PyObject* each : {cause, type, value, trace}) Py_XDECREF(each);
    return result;
}

}  // namespace

void bind_tensor_buffer(GuardedClass<Tensor>& cls) {
    cls.def_buffer(buffer);
    PyBufferProcs& procs = reinterpret_cast<PyHeapTypeObject*>(cls.ptr())->as_buffer;
    get_buffer_of_pybind11 = std::exchange(procs.bf_getbuffer, get_buffer);
}

}  // namespace onnxmap::bindings
