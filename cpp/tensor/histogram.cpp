#include "tensor/histogram.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/integer_loops.hpp"
#include "kernels/kernel_set.hpp"
#include "os/fault_handler.hpp"
#include "os/parallel.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"
#include "tensor/value_stats.hpp"

namespace onnxmap::tensor {

using onnx::DataType;

namespace {

// Numbers that are placed at a time: the first-level cache holds them.
constexpr std::uint64_t kPlacedAtOnce = 2048;

// How far ahead the pages of a file are asked for, as for statistics.
constexpr std::uint64_t kAskedAheadBytes = 32 << 20;

// Elements that a sample has from one place: a multiple of eight, in some pages.
constexpr std::uint64_t kSampledRun = 1 << 14;

class Bins {
  public:
    explicit Bins(std::span<const double> edges) : edges_(edges), last_(edges.size() - 2) {
        const double per_number =
            static_cast<double>(edges.size() - 1) / (edges.back() - edges.front());
        if (std::isfinite(per_number)) scale_ = per_number;
    }

    /// The bins, and one more for the values outside and NaN.
    [[nodiscard]] std::uint64_t size() const noexcept { return last_ + 2; }

    [[nodiscard]] std::uint64_t bin_of(double value) const noexcept {
        const bool is_inside = value >= edges_.front() && value <= edges_.back();
        if (!is_inside) return last_ + 1;  // also NaN
        // Bins of one width are guessed, and rounding makes few guesses wrong.
        std::uint64_t bin = 0;
        if (scale_ > 0) {
            const double guess = (value - edges_.front()) * scale_;
            bin = std::min(static_cast<std::uint64_t>(static_cast<std::int64_t>(guess)), last_);
        }
        if (value >= edges_[bin] && value < edges_[bin + 1]) return bin;
        const auto above = std::ranges::upper_bound(edges_, value);
        return std::min(static_cast<std::uint64_t>(above - edges_.begin()) - 1, last_);
    }

  private:
    std::span<const double> edges_;
    std::uint64_t last_;
    double scale_ = 0;  // bins by the distance from the first edge; 0 if no double has that number
};

using Widen = void (*)(const std::uint8_t* bytes, std::uint64_t count, double* numbers);

template <kernels::Kernel kernels::KernelSet::* kToFloat32>
void widen_halves(const std::uint8_t* bytes, std::uint64_t count, double* numbers) {
    std::array<float, kPlacedAtOnce> floats;
    auto* const as_bytes = reinterpret_cast<std::uint8_t*>(floats.data());
    (kernels::kernels().*kToFloat32)(bytes, count, as_bytes);
    kernels::to_floats<float>(as_bytes, count, numbers);
}

// Makes doubles of at most kPlacedAtOnce elements of a type of more than 8 bits.
constexpr std::optional<Widen> widener_of(DataType type) {
    using kernels::KernelSet;
    switch (type) {
        case DataType::FLOAT: return kernels::to_floats<float, double>;
        case DataType::DOUBLE: return kernels::to_floats<double, double>;
        case DataType::FLOAT16: return widen_halves<&KernelSet::float16_to_float32>;
        case DataType::BFLOAT16: return widen_halves<&KernelSet::bfloat16_to_float32>;
        case DataType::INT16: return kernels::to_floats<std::int16_t, double>;
        case DataType::UINT16: return kernels::to_floats<std::uint16_t, double>;
        case DataType::INT32: return kernels::to_floats<std::int32_t, double>;
        case DataType::UINT32: return kernels::to_floats<std::uint32_t, double>;
        case DataType::INT64: return kernels::to_floats<std::int64_t, double>;
        case DataType::UINT64: return kernels::to_floats<std::uint64_t, double>;
        default: return std::nullopt;
    }
}

constexpr bool has_order(DataType type) {
    return type != DataType::COMPLEX64 && type != DataType::COMPLEX128;
}

// A new type of more than 8 bits needs a case in widener_of().
#define DATA_TYPE(name, number, bits, ...)                                                   \
    static_assert(                                                                           \
        ((bits) > 8 && has_order(DataType::name)) == widener_of(DataType::name).has_value(), \
        #name);
#include "onnx/data_type.def"
#undef DATA_TYPE

void count_block(const onnx::DataTypeInfo& type, bool packed, const std::uint8_t* bytes,
                 std::uint64_t count, const Bins& bins, std::vector<std::uint64_t>& counts) {
    if (type.bits <= 8) {
        const kernels::CodeCounts codes = codes_of(type, packed, bytes, count);
        for (std::uint32_t code = 0; code < codes.size(); ++code) {
            if (codes[code] > 0) counts[bins.bin_of(value_of(type, code))] += codes[code];
        }
        return;
    }
    const Widen widen = widener_of(type.type).value();
    std::array<double, kPlacedAtOnce> numbers;
    for (std::uint64_t done = 0; done < count; done += kPlacedAtOnce) {
        const std::uint64_t here = std::min(kPlacedAtOnce, count - done);
        widen(bytes + done * type.itemsize(), here, numbers.data());
        for (std::uint64_t i = 0; i < here; ++i) ++counts[bins.bin_of(numbers[i])];
    }
}

}  // namespace

Histogram::Histogram(Values& values, std::uint64_t sample) : values_(values), sample_(sample) {
    os::renew_fault_handler();
    source::guard_reads(values.source(), [&] {
        if (values.payload() != nullptr) {
            values.check_padding();
            return;
        }
        values.check_count();  // before memory is allocated by the shape
        decoded_.emplace(values.count() * values.type().itemsize());
        values.read(Conversion::none(values.type()), decoded_->writable());
    });
}

std::optional<Histogram::Extremes> Histogram::extremes() const {
    Extremes found{std::numeric_limits<double>::infinity(),
                   -std::numeric_limits<double>::infinity()};
    std::mutex mutex;
    for_each_block([&](const std::uint8_t* bytes, std::uint64_t count) {
        const ValueStats block = block_stats(values_.type(), !decoded_, bytes, count);
        const std::lock_guard lock(mutex);
        found.least = std::min(found.least, block.least);
        found.most = std::max(found.most, block.most);
    });
    if (found.least > found.most) return std::nullopt;
    return found;
}

std::vector<std::uint64_t> Histogram::count(std::span<const double> edges) const {
    const Bins bins(edges);
    std::mutex mutex;
    std::vector<std::vector<std::uint64_t>> of_threads;  // of those that count no block now
    for_each_block([&](const std::uint8_t* bytes, std::uint64_t count) {
        std::vector<std::uint64_t> counts;
        {
            const std::lock_guard lock(mutex);
            if (!of_threads.empty()) {
                counts = std::move(of_threads.back());
                of_threads.pop_back();
            }
        }
        counts.resize(bins.size());
        count_block(values_.type(), !decoded_, bytes, count, bins, counts);
        const std::lock_guard lock(mutex);
        of_threads.push_back(std::move(counts));
    });
    std::vector<std::uint64_t> total(edges.size() - 1);
    for (const auto& counts : of_threads) {
        for (std::size_t bin = 0; bin < total.size(); ++bin) total[bin] += counts[bin];
    }
    return total;
}

// The elements that are visited at a time. A source that splits a long read into many at once gets
// long reads.
std::uint64_t Histogram::run_count() const {
    if (sample_ < values_.count()) return kSampledRun;
    const std::uint64_t block = block_count(values_.type());
    const Payload* const payload = values_.payload();
    if (payload == nullptr || !payload->source->splits_reads()) return block;
    const std::uint64_t nbytes = packed_nbytes(block, values_.type().bits);
    return block * std::max<std::uint64_t>(payload->source->read_habits().nbytes / nbytes, 1);
}

void Histogram::for_each_block(const Visit& visit) const {
    os::renew_fault_handler();
    const std::uint64_t count = values_.count();
    const std::uint64_t run = run_count();
    const std::uint64_t runs = (count + run - 1) / run;
    const std::uint64_t visited =
        sample_ < count ? std::clamp<std::uint64_t>(sample_ / run, 1, runs) : runs;
    os::for_each_range(visited, 1, [&](std::uint64_t i, std::uint64_t) {
        const std::uint64_t begin = i * runs / visited * run;
        const std::uint64_t end = std::min(begin + run, count);
        if (decoded_) {
            visit(decoded_->data() + begin * values_.type().itemsize(), end - begin);
        } else {
            visit_stored(begin, end, visit);
        }
    });
    values_.check_again();
}

void Histogram::visit_stored(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
    const Payload& payload = *values_.payload();
    const source::Source& source = *payload.source;
    const std::uint64_t offset = payload.offset + begin * values_.type().bits / 8;
    const std::uint64_t nbytes = packed_nbytes(end - begin, values_.type().bits);
    const std::uint64_t ahead = offset + kAskedAheadBytes;
    const std::uint64_t end_ahead = std::min(ahead + nbytes, payload.offset + payload.nbytes);
    if (ahead < end_ahead && sample_ >= values_.count())
        source::prefetch_absent(source, ahead, end_ahead, [](auto, auto) {});
    if (!source.viewable()) {
        const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(nbytes);
        source.read_file(offset, {buffer.get(), nbytes});
        visit(buffer.get(), end - begin);
        return;
    }
    source::guard_reads(source, [&] { visit(source.data() + offset, end - begin); });
    // Mapped pages count as memory of this process, and pages before these may be mapped with them.
    const std::uint64_t before = std::min(offset, os::kMappedAround);
    source::release(source, offset - before, nbytes + before);
}

}  // namespace onnxmap::tensor
