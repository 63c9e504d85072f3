#include "save/file_content.hpp"

#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace onnxmap::save {

namespace {

// Bytes. Small copies share blocks of this size; a larger copy has a block of its own.
constexpr std::uint64_t kBlock = 64 << 10;

constexpr std::uint64_t kMostOfFile = std::numeric_limits<std::int64_t>::max();

}  // namespace

void FileContent::swap(FileContent& other) noexcept {
    std::swap(list_, other.list_);
    std::swap(nbytes_, other.nbytes_);
    std::swap(sources_, other.sources_);
    std::swap(blocks_, other.blocks_);
    std::swap(free_, other.free_);
    std::swap(free_nbytes_, other.free_nbytes_);
}

void FileContent::copy(ByteView bytes) {
    if (bytes.empty()) return;
    std::uint8_t* const place = memory_for(bytes.size());
    std::memcpy(place, bytes.data(), bytes.size());
    ContentPart part;
    part.memory_ = place;
    part.nbytes_ = bytes.size();
    add(part);
}

void FileContent::range(const std::shared_ptr<const source::Source>& source, std::uint64_t offset,
                        std::uint64_t nbytes) {
    assert(offset <= source->size() && nbytes <= source->size() - offset);
    if (nbytes == 0) return;
    // Neighbours nearly always have the same source, and looking for it costs more than the part.
    if (list_.empty() || list_.back().source_ != source.get()) sources_.insert(source);
    ContentPart part;
    part.source_ = source.get();
    part.offset_ = offset;
    part.nbytes_ = nbytes;
    add(part);
}

void FileContent::zeros(std::uint64_t nbytes) {
    if (nbytes == 0) return;
    ContentPart part;
    part.nbytes_ = nbytes;
    add(part);
}

std::uint8_t* FileContent::memory_for(std::uint64_t nbytes) {
    if (nbytes > free_nbytes_) {
        const bool alone = nbytes > kBlock / 4;
        const std::uint64_t size = alone ? nbytes : kBlock;
        const auto block = std::make_shared_for_overwrite<std::uint8_t[]>(size);
        blocks_.push_back(block);
        if (alone) return block.get();
        free_ = block.get();
        free_nbytes_ = size;
    }
    free_nbytes_ -= nbytes;
    return std::exchange(free_, free_ + nbytes);
}

void FileContent::add(const ContentPart& part) {
    std::uint64_t sum = 0;
    if (!checked_add(nbytes_, part.nbytes_, sum) || sum > kMostOfFile) {
        throw Error("save.too_large", "a file cannot have more than 2^63 - 1 bytes");
    }
    nbytes_ = sum;
    if (!list_.empty()) {
        ContentPart& last = list_.back();
        const ContentPart::Kind kind = part.kind();
        const bool continues =
            kind == last.kind() && last.source_ == part.source_ &&
            (kind == ContentPart::Kind::zeros ||
             (kind == ContentPart::Kind::memory ? last.memory_ + last.nbytes_ == part.memory_
                                                : last.offset_ + last.nbytes_ == part.offset_));
        if (continues) {
            last.nbytes_ += part.nbytes_;
            return;
        }
    }
    list_.push_back(part);
}

}  // namespace onnxmap::save
