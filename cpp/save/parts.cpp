#include "save/parts.hpp"

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

Parts::Parts(Parts&& other) noexcept
    : list_(std::exchange(other.list_, {})),
      nbytes_(std::exchange(other.nbytes_, 0)),
      sources_(std::exchange(other.sources_, {})),
      blocks_(std::exchange(other.blocks_, {})),
      free_(std::exchange(other.free_, nullptr)),
      free_nbytes_(std::exchange(other.free_nbytes_, 0)) {}

Parts& Parts::operator=(Parts&& other) noexcept {
    Parts taken(std::move(other));
    std::swap(list_, taken.list_);
    std::swap(nbytes_, taken.nbytes_);
    std::swap(sources_, taken.sources_);
    std::swap(blocks_, taken.blocks_);
    std::swap(free_, taken.free_);
    std::swap(free_nbytes_, taken.free_nbytes_);
    return *this;
}

void Parts::copy(ByteView bytes) {
    if (bytes.empty()) return;
    count(bytes.size());
    std::uint8_t* const place = memory_for(bytes.size());
    std::memcpy(place, bytes.data(), bytes.size());
    Part part;
    part.memory_ = place;
    part.nbytes_ = bytes.size();
    add(part);
}

void Parts::range(const std::shared_ptr<const source::Source>& source, std::uint64_t offset,
                  std::uint64_t nbytes) {
    assert(offset <= source->size() && nbytes <= source->size() - offset);
    if (nbytes == 0) return;
    count(nbytes);
    // Neighbours nearly always have the same source, and looking for it costs more than the part.
    if (list_.empty() || list_.back().source_ != source.get()) sources_.insert(source);
    Part part;
    part.source_ = source.get();
    part.offset_ = offset;
    part.nbytes_ = nbytes;
    add(part);
}

void Parts::zeros(std::uint64_t nbytes) {
    if (nbytes == 0) return;
    count(nbytes);
    Part part;
    part.nbytes_ = nbytes;
    add(part);
}

std::uint8_t* Parts::memory_for(std::uint64_t nbytes) {
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

void Parts::count(std::uint64_t nbytes) {
    std::uint64_t sum = 0;
    if (!checked_add(nbytes_, nbytes, sum) || sum > kMostOfFile) {
        throw Error("save.too_large", "a file cannot have more than 2^63 - 1 bytes");
    }
    nbytes_ = sum;
}

void Parts::add(const Part& part) {
    if (!list_.empty()) {
        Part& last = list_.back();
        const Part::Kind kind = part.kind();
        const bool continues =
            kind == last.kind() && last.source_ == part.source_ &&
            (kind == Part::Kind::zeros ||
             (kind == Part::Kind::memory ? last.memory_ + last.nbytes_ == part.memory_
                                         : last.offset_ + last.nbytes_ == part.offset_));
        if (continues) {
            last.nbytes_ += part.nbytes_;
            return;
        }
    }
    list_.push_back(part);
}

}  // namespace onnxmap::save
