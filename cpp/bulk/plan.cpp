#include "bulk/plan.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "model/overlap_limit.hpp"
#include "source/page_cache.hpp"

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
    : document_(initializers.shared_document()), since_(document_->check_for_changes()) {
    items_.reserve(positions.size());
    initializers.for_each_at(
        positions,
        [&](std::uint32_t requested_at, const onnx::Message& message) {
            const model::Tensor tensor(*document_, message);
            tensor.naming([&] { add(tensor, requested_at, options); });
        },
        options.release_pages);
    std::ranges::sort(items_, {}, [](const Item& item) {
        return std::tuple(item.source, item.offset, item.requested_at);
    });
    if (options.copies) model::check_overlap(*document_, sources_, named_nbytes_);
}

void Plan::add(const model::Tensor& tensor, std::uint32_t requested_at, const Options& options) {
    const tensor::Values values = tensor.values(since_);
    Item item{};
    item.message = tensor.message().loaded();
    item.requested_at = requested_at;
    item.type = &values.type();
    item.array = is_converted(*item.type, options) ? options.float_type : item.type;
    item.made = &made_type(*item.type, *item.array);
    item.count = values.count();
    item.reading = reading_of(values, options);
    std::shared_ptr<const source::Source> source = document_->source_of(item.message);
    item.offset = source->offset_of(item.message);
    if (values.payload() != nullptr) {
        source = values.payload()->source;
        item.offset = values.payload()->offset;
        item.stored_nbytes = values.payload()->nbytes;
    }
    item.source = source_number(source);
    const auto largest =
        std::max<std::uint64_t>({item.made->itemsize(), item.array->itemsize(), 1});
    if (item.count > kMostBytes / largest) {
        throw Error("tensor.size_overflow",
                    "converted to the requested type, it would have more than 2^63 bytes");
    }
    nbytes_ += item.nbytes();
    array_nbytes_ += item.array_nbytes();
    // The bytes of the pieces count, too.
    if (values.in_pieces()) {
        values.for_each_range(
            [&](const auto& file, auto, auto) { static_cast<void>(source_number(file)); });
    }
    const std::uint64_t stored = values.in_pieces() ? values.stored_nbytes() : item.stored_nbytes;
    if (stored > 0) named_nbytes_ += std::max(stored, item.array_nbytes());
    items_.push_back(item);
}

std::uint32_t Plan::source_number(const std::shared_ptr<const source::Source>& source) {
    const auto number = static_cast<std::uint32_t>(sources_.size());
    const auto [entry, is_new] = source_numbers_.try_emplace(source.get(), number);
    if (is_new) sources_.push_back(source);
    return entry->second;
}

unsigned Plan::reads_at_once() const noexcept {
    unsigned most = 1;
    for (const auto& source : sources_) most = std::max(most, source->read_habits().at_once);
    return most;
}

model::Tensor Plan::tensor(const Item& item) const {
    return {*document_,
            onnx::Message(onnx::message<"TensorProto">, item.message, &document_->edits())};
}

tensor::Values Plan::values(const Item& item) const {
    const tensor::TolerateQuietly quietly;
    tensor::Values values = tensor(item).values(since_);
    // Memory is allocated by the item's count and type.
    if (values.count() != item.count || &values.type() != item.type) {
        fail_changed();
    }
    return values;
}

void Plan::release(const Item& item) const noexcept {
    const source::Source& own = document_->source();
    if (!document_->store().holds(item.message)) return;  // an edit added it
    source::release(own, own.offset_of(item.message), item.message.size());
}

void Plan::check_again(std::span<const Item> items) const {
    const source::Timestamp now = source::now();
    const source::Source* looked_at = nullptr;
    for (const Item& item : items) {
        const source::Source& file = *source(item);
        if (&file == std::exchange(looked_at, &file)) continue;
        document_->store().check_after_reading(file, now);
    }
}

}  // namespace onnxmap::bulk
