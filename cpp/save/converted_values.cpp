#include "save/converted_values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "save/data_layout.hpp"
#include "save/write_content.hpp"

namespace onnxmap::save {

namespace {

// Bytes that are read at once: a few, which stay in the cache, or those of a request.
constexpr std::uint64_t kCached = 256 << 10;
constexpr std::uint64_t kRemote = 8 << 20;

constexpr std::size_t kMostLossesNamed = 10;

// Elements. In a larger tensor, the least of many weights may well become zero; in a small one,
// that may be an epsilon, by which the model then divides.
constexpr std::uint64_t kSmall = 1024;

}  // namespace

tensor::Payload ConvertedValues::add(const std::shared_ptr<ConvertedValues>& all,
                                     std::string_view name, const tensor::Payload& values,
                                     const tensor::Cast& cast) {
    const Key key(values.source.get(), values.offset, values.nbytes, cast.from().type,
                  cast.to().type);
    const auto [known, is_new] = all->known_.emplace(key, all->parts_.size());
    if (is_new) all->add_part(name, values, cast);
    const Part& part = all->parts_[known->second];
    return {all, part.begin, part.nbytes()};
}

void ConvertedValues::add_part(std::string_view name, const tensor::Payload& values,
                               const tensor::Cast& cast) {
    sources_.insert(values.source);
    splits_reads_ |= values.source->splits_reads();
    // As much of the alignment as a data file keeps: see SavePlan::copy_data_files().
    const std::uint64_t alignment = std::uint64_t{1}
                                    << std::countr_zero(values.offset | kDataAlignment);
    const std::uint64_t begin = (size_ + alignment - 1) / alignment * alignment;
    parts_.push_back({begin, std::string(name), values, cast});
    size_ = begin + parts_.back().nbytes();
}

void ConvertedValues::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    auto part = std::ranges::upper_bound(parts_, offset, {}, &Part::begin) - parts_.begin();
    while (!out.empty()) {
        const Part& here = parts_[static_cast<std::size_t>(part - 1)];
        const std::uint64_t begin = offset - here.begin;
        std::uint64_t nbytes;
        if (begin < here.nbytes()) {
            const std::uint64_t size = here.cast.to().itemsize();
            const std::uint64_t first = begin / size;
            nbytes = std::min<std::uint64_t>(out.size(), here.nbytes() - begin);
            if (begin % size == 0 && nbytes >= size) {
                nbytes -= nbytes % size;
                convert(here, first, nbytes / size, out.data());
            } else {  // a part of an element
                std::array<std::uint8_t, 8> element{};
                convert(here, first, 1, element.data());
                nbytes = std::min(nbytes, size - begin % size);
                std::memcpy(out.data(), element.data() + begin % size, nbytes);
            }
        } else {
            const auto next = static_cast<std::size_t>(part++);
            const std::uint64_t end = next < parts_.size() ? parts_[next].begin : size_;
            nbytes = std::min<std::uint64_t>(out.size(), end - offset);
            std::ranges::fill(out.first(nbytes), std::uint8_t{0});
        }
        offset += nbytes;
        out = out.subspan(nbytes);
    }
}

// Each reader goes through a tensor from its begin, though perhaps not to its end.
void ConvertedValues::convert(const Part& part, std::uint64_t first, std::uint64_t count,
                              std::uint8_t* to) const {
    const std::uint64_t from_size = part.cast.from().itemsize();
    const std::uint64_t most = (part.values.source->splits_reads() ? kRemote : kCached) / from_size;
    while (count > 0) {
        std::uint64_t here = std::min(count, most);
        const bool was_counted = first < part.counted;
        if (was_counted) here = std::min(here, part.counted - first);
        buffer_.resize(std::max<std::size_t>(buffer_.size(), here * from_size));
        const std::span bytes = std::span(buffer_).first(here * from_size);
        read_source(*part.values.source, part.values.offset + first * from_size, bytes);
        const tensor::LostValues lost = part.cast.convert(bytes.data(), here, to);
        if (!was_counted) {
            part.lost += lost;
            part.counted = first + here;
        }
        first += here;
        to += here * part.cast.to().itemsize();
        count -= here;
    }
}

void ConvertedValues::read_all(const std::function<void()>& look) const {
    std::vector<std::uint8_t> out(1 << 20);
    for (const Part& part : parts_) {
        const std::uint64_t most = out.size() / part.cast.to().itemsize();
        while (part.counted < part.count()) {
            convert(part, part.counted, std::min(most, part.count() - part.counted), out.data());
            if (look) look();
        }
    }
}

void ConvertedValues::check_loss() const {
    std::string text;
    std::size_t tensors = 0;
    for (const Part& part : parts_) {
        const std::uint64_t vanished = part.count() > kSmall ? 0 : part.lost.vanished;
        const std::uint64_t lost = part.lost.too_large + vanished;
        if (lost == 0 || ++tensors > kMostLossesNamed) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(lost) + " of " +
                std::to_string(part.count()) + " in " + in_quotes(part.name) + " as " +
                std::string(part.cast.to().numpy);
        if (vanished > 0) text += " (" + std::to_string(vanished) + " would become 0)";
    }
    if (tensors == 0) return;
    if (tensors > kMostLossesNamed) {
        text += ", and some in " + std::to_string(tensors - kMostLossesNamed) + " more tensors";
    }
    Error error("save.loss", {"values do not fit their new type: ", text});
    error.remedy = "loss";
    throw error;
}

std::map<std::string, std::uint64_t> ConvertedValues::vanished() const {
    std::map<std::string, std::uint64_t> found;
    for (const Part& part : parts_) {
        if (part.lost.vanished > 0) found[part.name] += part.lost.vanished;
    }
    return found;
}

void ConvertedValues::check_for_changes() const {
    for (const auto& each : sources_) {
        each->check_unchanged(each->checked_after_reading() ? source::now() : source::kRecently);
    }
}

}  // namespace onnxmap::save
