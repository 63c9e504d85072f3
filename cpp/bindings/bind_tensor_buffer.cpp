// The buffer protocol of a Tensor: its stored bytes, without a copy.
#include <memory>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/tensor_access.hpp"

namespace onnxmap::bindings {

namespace {

// What a buffer refers to until it is released.
struct Extents {
    std::vector<Py_ssize_t> sizes;
    std::vector<Py_ssize_t> strides;
};

bool asks_for(int flags, int what) { return (flags & what) == what; }

// Fills in what the caller asks for. Source: the tables of Python's documentation, "Buffer request
// types". The strides are always those of C.
void fill(Py_buffer& view, PyObject* self, const tensor::Values& values, int flags) {
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
    if (asks_for(flags, PyBUF_WRITABLE)) {
        throw py::buffer_error("the bytes of a Tensor are read-only");
    }
    const auto dims = values.header().dims();
    const auto strides = row_major_strides(dims, type.itemsize());
    auto extents = std::make_unique<Extents>(
        Extents{{dims.begin(), dims.end()}, {strides.begin(), strides.end()}});
    view = {};
    view.buf = const_cast<std::uint8_t*>(bytes.data());
    view.itemsize = static_cast<Py_ssize_t>(type.itemsize());
    view.len = static_cast<Py_ssize_t>(bytes.size());
    view.readonly = 1;
    view.ndim = asks_for(flags, PyBUF_ND) ? static_cast<int>(dims.size()) : 0;
    if (asks_for(flags, PyBUF_FORMAT)) view.format = const_cast<char*>(type.buffer_format);
    if (asks_for(flags, PyBUF_ND)) view.shape = extents->sizes.data();
    if (asks_for(flags, PyBUF_STRIDES)) view.strides = extents->strides.data();
    if (asks_for(flags, PyBUF_F_CONTIGUOUS) && dims.size() > 1 &&
        PyBuffer_IsContiguous(&view, 'F') == 0) {
        throw py::buffer_error("the bytes of a Tensor are in the order of C, not of Fortran");
    }
    view.obj = py::handle(self).inc_ref().ptr();
    view.internal = extents.release();
}

// torch.asarray asks for a writable buffer, and then for a plain one while the error of the first
// call is still set. It would take the bytes for float32, whatever they are. No other caller is
// known to ask with an error set; the API of Python forbids it.
void refuse_torch() {
    if (PyErr_Occurred() == nullptr) return;
    throw py::buffer_error(
        "torch would read the bytes of a Tensor as flat float32 values; use torch() or "
        "torch.from_dlpack()");
}

extern "C" int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    view->obj = nullptr;
    try {
        refuse_torch();
        const Tensor& tensor = cpp_value<Tensor>(self);
        below_guard(tensor, [&] {
            with_values(tensor,
                        [&](const tensor::Values& values) { fill(*view, self, values, flags); });
        });
        return 0;
    } catch (...) {
        PyBuffer_Release(view);  // the guard may throw after the view was filled in
        raise_current();
        return -1;
    }
}

extern "C" void release_buffer(PyObject*, Py_buffer* view) {
    delete static_cast<Extents*>(view->internal);
}

}  // namespace

void bind_tensor_buffer(GuardedClass<Tensor>& cls) {
    PyBufferProcs& procs = reinterpret_cast<PyHeapTypeObject*>(cls.ptr())->as_buffer;
    procs.bf_getbuffer = get_buffer;
    procs.bf_releasebuffer = release_buffer;
}

}  // namespace onnxmap::bindings
