#include "model/edit_arena.hpp"

#include <algorithm>
#include <utility>

namespace onnxmap::model {

namespace {

constexpr std::uint64_t kLargestBlock = 1 << 20;

}  // namespace

std::optional<std::size_t> EditArena::block_of(const std::uint8_t* p) const {
    const auto next = block_at_.upper_bound(p);
    if (next == block_at_.begin()) return std::nullopt;
    const std::size_t i = std::prev(next)->second;
    // The last byte of a block is never used, so the end of its bytes lies within the block.
    return p < blocks_[i]->data() + blocks_[i]->size() ? std::optional(i) : std::nullopt;
}

std::span<std::uint8_t> EditArena::allocate(std::uint64_t nbytes) {
    // Neither the first nor the last byte of a block is used. Another source may begin where a
    // block ends or end where it begins, and an empty message there is known by its address.
    if (blocks_.empty() || blocks_.back()->size() - used_ <= nbytes) {
        auto block = std::make_shared<source::OwnedBytes>(std::max(next_block_, nbytes + 2));
        next_block_ = std::min(2 * next_block_, kLargestBlock);
        block_at_.emplace(block->data(), blocks_.size());
        blocks_.push_back(std::move(block));
        used_ = 1;
    }
    const auto bytes = blocks_.back()->writable().subspan(used_, nbytes);
    used_ += nbytes;
    return bytes;
}

onnx::HeldContent EditArena::hold(std::shared_ptr<const source::Source> source, ByteView bytes) {
    const auto [first, last] = held_.equal_range(source->data());
    const bool known = std::any_of(first, last, [&](const auto& entry) {
        const auto& other = entry.second.source;
        return !other.owner_before(source) && !source.owner_before(other);
    });
    if (!known) {
        if (held_.size() >= most_held_) {
            std::erase_if(held_, [](const auto& entry) { return entry.second.source.expired(); });
            most_held_ = 2 * held_.size() + 16;
        }
        held_.emplace(source->data(), Held{source->bytes(), source});
    }
    return {bytes, std::move(source)};
}

std::shared_ptr<const source::Source> EditArena::source_of(ByteView bytes) const {
    if (const auto i = block_of(bytes.data())) return blocks_[*i];
    for (auto each = held_.upper_bound(bytes.data()); each != held_.begin();) {
        const Held& kept = (--each)->second;
        const auto before = static_cast<std::uint64_t>(bytes.data() - kept.bytes.data());
        if (before > kept.bytes.size() || bytes.size() > kept.bytes.size() - before) continue;
        if (auto source = kept.source.lock()) return source;
    }
    return nullptr;
}

void EditArena::revert() {
    reverted_ = blocks_.size();
    // A model that is edited and reverted again and again must not keep a large block each time.
    if (!blocks_.empty()) used_ = blocks_.back()->size();
    next_block_ = kFirstBlock;
}

}  // namespace onnxmap::model
