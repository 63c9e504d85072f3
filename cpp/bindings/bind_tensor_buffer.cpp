// The buffer protocol of a Tensor: its stored bytes, without a copy.
#include <memory>
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

bool asks_for(int flags, int what) { return (flags & what) == what; }

// Fills in what the caller asks for. Source: the tables of Python's documentation, "Buffer request
// types". The strides are always those of C.
void fill(Py_buffer& view, PyObject* self, std::unique_ptr<py::buffer_info> info, int flags) {
    const bool is_contiguous_only_for_c = info->ndim > 1;
    if (asks_for(flags, PyBUF_WRITABLE)) {
        throw py::buffer_error("the bytes of a Tensor are read-only");
    }
    view = {};
    view.buf = info->ptr;
    view.itemsize = info->itemsize;
    view.len = info->size * info->itemsize;
    view.readonly = 1;
    view.ndim = static_cast<int>(info->ndim);
    if (asks_for(flags, PyBUF_FORMAT)) view.format = info->format.data();
    if (asks_for(flags, PyBUF_ND)) view.shape = info->shape.data();
    if (asks_for(flags, PyBUF_STRIDES)) view.strides = info->strides.data();
    if (!asks_for(flags, PyBUF_ND)) view.ndim = 0;
    if (asks_for(flags, PyBUF_F_CONTIGUOUS) && is_contiguous_only_for_c &&
        PyBuffer_IsContiguous(&view, 'F') == 0) {
        throw py::buffer_error("the bytes of a Tensor are in the order of C, not of Fortran");
    }
    view.obj = py::handle(self).inc_ref().ptr();
    view.internal = info.release();
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
        auto info = below_guard(tensor, [&] {
            return with_values(tensor, [](const tensor::Values& values) {
                return std::make_unique<py::buffer_info>(buffer_of(values));
            });
        });
        fill(*view, self, std::move(info), flags);
        return 0;
    } catch (...) {
        raise_current();
        return -1;
    }
}

extern "C" void release_buffer(PyObject*, Py_buffer* view) {
    delete static_cast<py::buffer_info*>(view->internal);
}

}  // namespace

void bind_tensor_buffer(GuardedClass<Tensor>& cls) {
    PyBufferProcs& procs = reinterpret_cast<PyHeapTypeObject*>(cls.ptr())->as_buffer;
    procs.bf_getbuffer = get_buffer;
    procs.bf_releasebuffer = release_buffer;
}

}  // namespace onnxmap::bindings
