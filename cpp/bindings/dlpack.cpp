#include "bindings/dlpack.hpp"

#include "bindings/arrays.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace onnxmap::bindings {

namespace {

// The structs of the specification, which fixes their layout.
struct DLPackVersion {
    std::uint32_t major;
    std::uint32_t minor;
};

struct DLDevice {
    std::int32_t device_type;
    std::int32_t device_id;
};

struct DLDataType {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct DLTensor {
    void* data;
    DLDevice device;
    std::int32_t ndim;
    DLDataType dtype;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};

struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor*);
};

struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned*);
    std::uint64_t flags;
    DLTensor dl_tensor;
};

constexpr std::int32_t kCpu = 1;
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kIsCopied = 2;

// The memory of an export. The consumer holds it until it calls the deleter.
template <class Managed>
struct Export {
    Managed managed;
    std::shared_ptr<const source::Source> source;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;

    static void destroy(Managed* managed) { delete static_cast<Export*>(managed->manager_ctx); }
};

// A consumer renames the capsule that it takes. A capsule that nobody took frees its memory.
template <class Managed>
py::capsule make_capsule(std::unique_ptr<Export<Managed>> made, const char* name) {
    auto capsule = owned<py::capsule>(PyCapsule_New(&made->managed, name, [](PyObject* self) {
        const char* now = PyCapsule_GetName(self);
        if (now == nullptr || std::string_view(now).starts_with("used_")) return;
        auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(self, now));
        if (managed != nullptr) managed->deleter(managed);
    }));
    static_cast<void>(made.release());
    return capsule;
}

template <class Managed>
std::unique_ptr<Export<Managed>> make_export(const onnx::DataTypeInfo& type,
                                             std::span<const std::int64_t> dims, ByteView bytes,
                                             std::shared_ptr<const source::Source> source) {
    auto made = std::make_unique<Export<Managed>>();
    made->source = std::move(source);
    made->shape.assign(dims.begin(), dims.end());
    made->strides = row_major_strides(dims, 1);
    made->managed.manager_ctx = made.get();
    made->managed.deleter = &Export<Managed>::destroy;
    made->managed.dl_tensor = {
        .data = bytes.empty() ? nullptr : const_cast<std::uint8_t*>(bytes.data()),
        .device = {kCpu, 0},
        .ndim = static_cast<std::int32_t>(dims.size()),
        .dtype = {static_cast<std::uint8_t>(type.dlpack), static_cast<std::uint8_t>(type.bits), 1},
        .shape = made->shape.data(),
        .strides = made->strides.data(),
        .byte_offset = 0,
    };
    return made;
}

}  // namespace

py::capsule make_dlpack(const onnx::DataTypeInfo& type, std::span<const std::int64_t> dims,
                        ByteView bytes, std::shared_ptr<const source::Source> source,
                        const DlpackOptions& options) {
    if (!options.versioned) {
        auto made = make_export<DLManagedTensor>(type, dims, bytes, std::move(source));
        return make_capsule(std::move(made), "dltensor");
    }
    auto made = make_export<DLManagedTensorVersioned>(type, dims, bytes, std::move(source));
    made->managed.version = {1, 1};
    made->managed.flags = (options.read_only ? kReadOnly : 0) | (options.copied ? kIsCopied : 0);
    return make_capsule(std::move(made), "dltensor_versioned");
}

}  // namespace onnxmap::bindings
