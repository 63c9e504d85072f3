#include "compare/tensor_values.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "compare/element_difference.hpp"
#include "model/equality.hpp"
#include "os/parallel.hpp"
#include "source/owned_bytes.hpp"
#include "tensor/conversion.hpp"

namespace onnxmap::compare {

using model::Tensor;
using onnx::DataType;
using tensor::Conversion;
using tensor::Values;

namespace {

// Bytes of elements that one thread compares at a time: two such buffers stay in the cache.
constexpr std::uint64_t kElementBytes = 128 << 10;
// The same for sources that split a read into many.
constexpr std::uint64_t kSplitElementBytes = 64 << 20;

// The type in which the elements of two tensors are compared.
const onnx::DataTypeInfo& common_type(const Values& a, const Values& b) {
    if (&a.type() == &b.type()) return a.type();
    const onnx::DataTypeInfo& widest = onnx::data_type(DataType::DOUBLE);
    const bool is_wide = &a.type() == &widest || &b.type() == &widest;
    return is_wide ? widest : onnx::data_type(DataType::FLOAT);
}

// The elements of a tensor as an array of a type has them.
class ArrayElements {
  public:
    struct Buffers {
        std::vector<std::uint8_t> read;
        std::vector<double> widened;
    };

    ArrayElements(const Values& values, const onnx::DataTypeInfo& type)
        : values_(values),
          widens_(type.type == DataType::DOUBLE && values.type().type != DataType::DOUBLE),
          conversion_(
              *Conversion::find(values.type(), widens_ ? onnx::data_type(DataType::FLOAT) : type)) {
        if (values.payload() != nullptr) return;
        decoded_.emplace(values.count() * conversion_.to().itemsize());
        values.read(conversion_, decoded_->writable());
    }

    [[nodiscard]] bool splits_reads() const noexcept {
        return !decoded_ && values_.payload()->source->splits_reads();
    }

    const std::uint8_t* read(std::uint64_t begin, std::uint64_t count, Buffers& buffers) const {
        const std::uint8_t* const found = converted(begin, count, buffers.read);
        if (!widens_) return found;
        buffers.widened.resize(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            float value;
            std::memcpy(&value, found + i * sizeof value, sizeof value);
            buffers.widened[i] = static_cast<double>(value);
        }
        return reinterpret_cast<const std::uint8_t*>(buffers.widened.data());
    }

  private:
    const std::uint8_t* converted(std::uint64_t begin, std::uint64_t count,
                                  std::vector<std::uint8_t>& buffer) const {
        const std::uint64_t itemsize = conversion_.to().itemsize();
        if (decoded_) return decoded_->data() + begin * itemsize;
        buffer.resize(count * itemsize);
        values_.read_part(begin, count, conversion_, buffer.data());
        return buffer.data();
    }

    const Values& values_;
    bool widens_;
    Conversion conversion_;
    std::optional<source::OwnedBytes> decoded_;
};

ElementDifference compare_numbers(const Values& a, const Values& b, const Options& options) {
    const onnx::DataTypeInfo& type = common_type(a, b);
    const ArrayElements in_a(a, type);
    const ArrayElements in_b(b, type);
    const ElementComparison comparison(type, a.count(), options);
    const bool splits = in_a.splits_reads() || in_b.splits_reads();
    const std::uint64_t grain =
        (splits ? kSplitElementBytes : kElementBytes) / type.itemsize() / 8 * 8;
    ElementDifference total;
    std::mutex mutex;
    os::for_each_range(a.count(), grain, [&](std::uint64_t begin, std::uint64_t end) {
        ArrayElements::Buffers buffer_a;
        ArrayElements::Buffers buffer_b;
        const ElementDifference found =
            comparison.compare(in_a.read(begin, end - begin, buffer_a),
                               in_b.read(begin, end - begin, buffer_b), begin, end - begin);
        const std::lock_guard lock(mutex);
        merge(total, found);
    });
    a.check_again();
    b.check_again();
    return total;
}

// The texts of one tensor are copied: those of the other are visited under other guards.
ElementDifference compare_texts(const Values& a, const Values& b) {
    std::string texts;
    std::vector<std::uint64_t> ends;
    a.for_each_string([&](std::uint64_t, std::string_view text) {
        texts += text;
        ends.push_back(texts.size());
    });
    ElementDifference found;
    found.count = a.count();
    b.for_each_string([&](std::uint64_t i, std::string_view text) {
        if (i >= ends.size()) fail_changed();
        const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
        const auto other = std::string_view(texts).substr(begin, ends[i] - begin);
        if (other != text) ++found.changed;
    });
    return found;
}

// Whether an Error is about a tensor as it is stored, rather than a file that changes meanwhile.
bool is_fault(const Error& error) { return error.code != "file.changed"; }

ComparedValues compare_valid(const TwoDocuments& documents, const Tensor& a, const Tensor& b,
                             bool bytes_differ) {
    Values in_a = a.values(documents.since_a);
    Values in_b = b.values(documents.since_b);
    const bool is_text = in_a.type().bits == 0;
    const bool stored = in_a.payload() != nullptr && in_b.payload() != nullptr;
    const bool typed = in_a.payload() == nullptr && in_b.payload() == nullptr &&
                       !in_a.in_pieces() && !in_b.in_pieces();
    const bool one_type = &in_a.type() == &in_b.type();
    if (stored && !is_text && one_type && !bytes_differ &&
        equal_bytes(*in_a.payload(), *in_b.payload())) {
        return {};
    }
    if (typed && model::equal(documents.a, a.message(), documents.b, b.message())) return {};
    a.naming([&] { in_a.check_count(); });
    b.naming([&] { in_b.check_count(); });
    a.naming([&] { in_a.check_padding(); });
    b.naming([&] { in_b.check_padding(); });
    ComparedValues compared;
    compared.elements =
        is_text ? compare_texts(in_a, in_b) : compare_numbers(in_a, in_b, documents.options);
    compared.same = compared.elements->changed == 0;
    return compared;
}

}  // namespace

std::optional<BytePair> stored_bytes(const TwoDocuments& documents, const Tensor& a,
                                     const Tensor& b) {
    try {
        const Values in_a = a.values(documents.since_a);
        const Values in_b = b.values(documents.since_b);
        if (in_a.payload() == nullptr || in_b.payload() == nullptr ||
            in_a.payload()->nbytes != in_b.payload()->nbytes) {
            return std::nullopt;
        }
        return BytePair{*in_a.payload(), *in_b.payload()};
    } catch (const Error& error) {
        if (!is_fault(error)) throw;
        return std::nullopt;
    }
}

ComparedValues compare_values(const TwoDocuments& documents, const Tensor& a, const Tensor& b,
                              bool bytes_differ) {
    try {
        return compare_valid(documents, a, b, bytes_differ);
    } catch (const Error& error) {
        if (!is_fault(error)) throw;
        // The message must hold all values. Segments are compared one by one if both tensors have
        // a fault.
        const auto elsewhere = [](const Tensor& tensor) {
            return tensor.header().external ||
                   (tensor.header().has_segment && tensor.values_if_valid());
        };
        if (!elsewhere(a) && !elsewhere(b) &&
            model::equal(documents.a, a.message(), documents.b, b.message())) {
            return {};
        }
        return {false, std::nullopt, error.what()};
    }
}

}  // namespace onnxmap::compare
