#include "save/data_layout.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "os/random_number.hpp"
#include "save/write_content.hpp"

namespace onnxmap::save {

namespace {

// Bytes that are read at once, and between two looks.
constexpr std::uint64_t kAtOnce = 1 << 20;
constexpr std::uint64_t kLookEvery = 4 << 20;

}  // namespace

std::string shard_name(const std::string& location, std::size_t i, std::size_t count) {
    if (count == 1) return location;
    const std::size_t folder = location.rfind('/') + 1;
    std::size_t dot = location.rfind('.');
    if (dot == std::string::npos || dot <= folder) dot = location.size();
    std::array<char, 48> number{};
    std::snprintf(number.data(), number.size(), "-%05zu-of-%05zu", i + 1, count);
    return location.substr(0, dot) + number.data() + location.substr(dot);
}

DataLayout::DataLayout(LayoutOptions options) : options_(std::move(options)) {
    if (options_.dedupe) seeds_ = os::random_seeds();
}

// Calls visit(done, bytes) for a range in pieces, until it returns false.
template <class Visit>
void DataLayout::read_in_pieces(const tensor::Payload& range, Visit&& visit) {
    buffer_.resize(std::min(kAtOnce, range.nbytes));
    for (std::uint64_t done = 0; done < range.nbytes;) {
        const std::uint64_t here = std::min<std::uint64_t>(kAtOnce, range.nbytes - done);
        const std::span<std::uint8_t> piece(buffer_.data(), here);
        read_source(*range.source, range.offset + done, piece);
        if (!visit(done, piece)) return;
        done += here;
        unlooked_ += here;
        if (unlooked_ < kLookEvery) continue;
        unlooked_ = 0;
        if (options_.look) options_.look();
    }
}

bool DataLayout::is_equal(const tensor::Payload& a, const tensor::Payload& b) {
    bool same = true;
    std::vector<std::uint8_t> of_b;
    read_in_pieces(a, [&](std::uint64_t done, std::span<const std::uint8_t> bytes) {
        of_b.resize(bytes.size());
        read_source(*b.source, b.offset + done, of_b);
        same = std::ranges::equal(bytes, of_b);
        return same;
    });
    return same;
}

// Only a filter: equal hashes are compared. Files choose the bytes, so each layout has new seeds:
// no file can make many ranges have one hash.
std::uint64_t DataLayout::hash_of(const tensor::Payload& range) {
    std::uint64_t hash = fold(seeds_[0] ^ range.nbytes, seeds_[1]);
    read_in_pieces(range, [&](std::uint64_t, std::span<const std::uint8_t> bytes) {
        for (std::size_t i = 0; i < bytes.size(); i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
            hash = fold(hash ^ word, seeds_[1]);
        }
        return true;
    });
    return hash;
}

DataLayout::FileOffset DataLayout::add(const tensor::Payload& range) {
    if (options_.container != LayoutOptions::Container::plain) return append(range);
    const std::tuple key(range.source, range.offset, range.nbytes);
    if (const auto known = by_range_.find(key); known != by_range_.end()) return known->second;
    const FileOffset place = options_.dedupe ? append_if_new(range) : append(range);
    by_range_.emplace(key, place);
    return place;
}

// A range is read only if another one has as many bytes.
DataLayout::FileOffset DataLayout::append_if_new(const tensor::Payload& range) {
    const auto only = only_of_size_.find(range.nbytes);
    if (only == only_of_size_.end()) {
        const FileOffset place = append(range);
        only_of_size_.emplace(range.nbytes, Known{range, place});
        return place;
    }
    if (only->second) {
        by_hash_.emplace(hash_of(only->second->range), *only->second);
        only->second.reset();
    }
    const std::uint64_t hash = hash_of(range);
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto each = begin; each != end; ++each) {
        const Known& other = each->second;
        if (other.range.nbytes == range.nbytes && is_equal(range, other.range)) return other.place;
    }
    const FileOffset place = append(range);
    by_hash_.emplace(hash, Known{range, place});
    return place;
}

DataLayout::FileOffset DataLayout::append(const tensor::Payload& range) {
    const auto alignment =
        options_.container != LayoutOptions::Container::plain
            ? 1
            : std::max<std::uint64_t>(options_.alignment.value_or(kDataAlignment), 1);
    const auto aligned = [&](std::uint64_t end) {
        return (end + alignment - 1) / alignment * alignment;
    };
    const bool is_full = !files_.empty() && options_.most_nbytes > 0 &&
                         files_.back().nbytes() > 0 &&
                         aligned(files_.back().nbytes()) + range.nbytes > options_.most_nbytes;
    if (files_.empty() || is_full) files_.emplace_back();
    FileContent& file = files_.back();
    const std::uint64_t offset = aligned(file.nbytes());
    file.zeros(offset - file.nbytes());
    file.range(range.source, range.offset, range.nbytes);
    nbytes_ += range.nbytes;
    return {files_.size() - 1, offset};
}

}  // namespace onnxmap::save
