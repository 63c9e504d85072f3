#include "bulk/plan.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace onnxmap::bulk {

using tensor::Conversion;

namespace {

constexpr std::uint64_t kMostBytes = INT64_MAX;  // of an array

bool is_converted(const onnx::DataTypeInfo& type, const Options& options) {
    return options.float_type != nullptr && type.format.is_float() && &type != options.float_type;
}

// The type that reading makes: the array's type if a kernel converts to it, or else a type that
// NumPy can convert.
const onnx::DataTypeInfo& made_type(const onnx::DataTypeInfo& type,
                                    const onnx::DataTypeInfo& array) {
    return &type == &array || Conversion::find(type, array) ? array : tensor::castable_type(type);
}

Reading reading_of(const tensor::Values& values, const Options& options) {
    const onnx::DataTypeInfo& type = values.type();
    if (type.bits == 0) return Reading::text;
    // The unused bits are checked when the whole tensor is decoded.
    if (values.payload() == nullptr || type.zero_padding()) return Reading::whole;
    const bool view = !options.copies && values.is_view() && !is_converted(type, options);
    return view ? Reading::view : Reading::parts;
}

}  // namespace

Conversion Item::conversion() const { return *Conversion::find(*type, *made); }

Plan::Plan(const model::Initializers& initializers, std::span<const std::uint32_t> positions,
           const Options& options)
    : stored_(initializers) {
    items_.reserve(positions.size());
    initializers.for_each_at(
        positions,
        [&](std::uint32_t requested_at, const onnx::Message& message) {
            const model::Tensor tensor(stored_.document(), message);
            tensor.naming([&] { add(tensor, requested_at, options); });
        },
        options.release_pages);
    read::sort_as_stored(items_);
    if (options.copies) stored_.check_overlap();
}

void Plan::add(const model::Tensor& tensor, std::uint32_t requested_at, const Options& options) {
    const tensor::Values values = stored_.find(tensor);
    const read::StoredTensor stored = stored_.add(tensor, values, requested_at);
    const auto& array = is_converted(*stored.type, options) ? *options.float_type : *stored.type;
    const Item item{stored, &made_type(*stored.type, array), &array, reading_of(values, options)};
    const auto largest =
        std::max<std::uint64_t>({item.made->itemsize(), item.array->itemsize(), 1});
    if (item.count > kMostBytes / largest) {
        throw Error("tensor.size_overflow",
                    "converted to the requested type, it would have more than 2^63 bytes");
    }
    nbytes_ += item.nbytes();
    array_nbytes_ += item.array_nbytes();
    stored_.count_bytes(item, values, item.array_nbytes());
    items_.push_back(item);
}

}  // namespace onnxmap::bulk
