// The bytes that edits add to a document: blocks of its own, and sources of content that stays
// where it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "onnx/message.hpp"
#include "source/owned_bytes.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

/// Callers have a lock.
class EditArena {
  public:
    /// Bytes that are never moved.
    [[nodiscard]] std::span<std::uint8_t> allocate(std::uint64_t nbytes);

    /// Content for a field, which the source keeps.
    [[nodiscard]] onnx::HeldContent hold(std::shared_ptr<const source::Source> source,
                                         ByteView bytes);

    /// The source of bytes that were added; null if they were not, or if nothing holds them any
    /// longer.
    [[nodiscard]] std::shared_ptr<const source::Source> source_of(ByteView bytes) const;

    /// Whether bytes are in one of the blocks.
    [[nodiscard]] bool has(const std::uint8_t* p) const { return block_of(p).has_value(); }

    /// Whether they were there when revert() was called last.
    [[nodiscard]] bool is_reverted(const std::uint8_t* p) const {
        return reverted_ > 0 && block_of(p).value_or(reverted_) < reverted_;
    }

    /// Begins a new block. The old ones stay, since objects may still read them.
    void revert();

  private:
    static constexpr std::uint64_t kFirstBlock = 4 << 10;
    struct Held {
        ByteView bytes;
        std::weak_ptr<const source::Source> source;
    };

    [[nodiscard]] std::optional<std::size_t> block_of(const std::uint8_t* p) const;

    std::vector<std::shared_ptr<source::OwnedBytes>> blocks_;  // the newest last
    std::map<const std::uint8_t*, std::size_t> block_at_;      // by the first byte
    std::size_t reverted_ = 0;                // so many blocks belong to edits that were reverted
    std::uint64_t used_ = 0;                  // of the newest block
    std::uint64_t next_block_ = kFirstBlock;  // its bytes
    // The sources of held content, by the first byte. Sources may overlap: two views of one buffer.
    std::multimap<const std::uint8_t*, Held> held_;
    std::size_t most_held_ = 16;  // when the sources that are gone are forgotten next
};

}  // namespace onnxmap::model
