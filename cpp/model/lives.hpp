// What objects of messages that an edit added still show after the messages were removed. Each
// object holds the life of its message. What was in a removed message is released with the last
// life of a message in it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "onnx/pieces.hpp"

namespace onnxmap::model {

/// The fields of edited messages, by the keys of the messages.
using EditedFields = std::map<const std::uint8_t*, std::shared_ptr<const onnx::Pieces>>;

/// What is in a message. Its bytes are anywhere in memory: one range is what was loaded or copied,
/// the others are fields that were added to messages in it.
struct InsideMessage {
    EditedFields edited;
    std::vector<ByteView> ranges;
};

/// Callers have a lock, and release what the functions return without it: it may hold Python
/// objects.
class Lives {
  public:
    /// What was in a removed message.
    using Gone = std::shared_ptr<const EditedFields>;
    struct Life {
        ByteView loaded;  // of the message
        Gone gone;        // once it is removed
    };
    using LifePtr = std::shared_ptr<Life>;

    /// The life of a message; null if nobody holds one.
    [[nodiscard]] LifePtr find(const std::uint8_t* key) const;
    [[nodiscard]] LifePtr add(ByteView loaded, Gone gone);

    /// All lives, and those of messages in some ranges.
    [[nodiscard]] std::vector<LifePtr> all() const;
    [[nodiscard]] std::vector<LifePtr> in(std::span<const ByteView> ranges) const;

    /// Leaves what was in a removed message to those of the lives in it that have nothing yet: the
    /// others were removed before.
    void let_go(const InsideMessage& found, std::span<const LifePtr> lives);

    /// What holds the fields of a removed message by its key; null if they were never let go.
    /// Throws Error `edit.concurrent` if nothing does any longer.
    [[nodiscard]] Gone holder_of(const std::uint8_t* key) const;

    /// What holds the fields of a removed message: of the messages around it, the innermost that
    /// was removed; null if there is none.
    [[nodiscard]] Gone innermost_around(const std::uint8_t* key) const;

    /// Forgets what nothing holds. Returns the keys of the messages whose fields were let go.
    [[nodiscard]] std::vector<const std::uint8_t*> held_keys();

  private:
    struct GoneRange {
        const std::uint8_t* end;
        std::weak_ptr<const EditedFields> gone;
    };

    std::map<const std::uint8_t*, std::weak_ptr<Life>> lives_;
    std::size_t most_lives_ = 1024;  // when those that are gone are forgotten next
    std::unordered_map<const std::uint8_t*, std::weak_ptr<const EditedFields>> let_go_;
    std::map<const std::uint8_t*, GoneRange> gone_;  // the same, by the ranges of their bytes
    std::size_t most_gone_ = 16;
};

}  // namespace onnxmap::model
