// What was edited in a document since it was loaded: the fields of each edited message, and the
// bytes that they need. A message is known by its key, which never changes. The bytes of the
// loaded file stay as they are.
//
// Threads may read while one thread edits: messages and their lists of fields are immutable, and
// bytes stay where they are as long as the document lives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/edit_arena.hpp"
#include "model/edit_log.hpp"
#include "model/lives.hpp"
#include "model/removed_ranges.hpp"
#include "onnx/message.hpp"
#include "os/fork_safe_mutex.hpp"
#include "source/owned_bytes.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

class Edits final : public onnx::Changes {
  public:
    using Fields = std::shared_ptr<const onnx::Pieces>;

    [[nodiscard]] Fields find(const std::uint8_t* key) const override;
    [[nodiscard]] bool is_added(const std::uint8_t* key) const override;

    /// Whether messages differ from what was loaded. any() may also be true if they no longer do.
    [[nodiscard]] bool edited() const;

    /// Counts the edits, so that what was derived from an earlier state can be recognised: who has
    /// read a message that find() found edited gets a count with that edit.
    [[nodiscard]] std::uint64_t count() const noexcept {
        return count_.load(std::memory_order_acquire);
    }

    /// From now on the edits are logged, step by step. Returns the place of the next step.
    [[nodiscard]] std::uint64_t start_log();
    /// Adds the steps from `place` on to `steps` and moves `place` behind them. False if the log
    /// has forgotten some: what follows it must be made anew.
    [[nodiscard]] bool steps_since(std::uint64_t& place, std::vector<EditStep>& steps) const;

    /// Bytes for new fields. They are never moved.
    [[nodiscard]] std::span<std::uint8_t> allocate(std::uint64_t nbytes);

    /// A copy of bytes, which is never moved.
    [[nodiscard]] ByteView keep(std::string_view bytes);

    /// Content for a field, which the source keeps.
    [[nodiscard]] onnx::HeldContent hold(std::shared_ptr<const source::Source> source,
                                         ByteView bytes);

    /// The source of bytes that were added; null if they were not, or if nothing holds them any
    /// longer.
    [[nodiscard]] std::shared_ptr<const source::Source> source_of(ByteView bytes) const;

    /// Gives a message other fields. `changed`: those that may differ from what they were.
    void set(const onnx::Message& message, Fields fields, onnx::Pieces::Rows changed);

    /// Keeps what is in an added message as long as the result lives, also after the message was
    /// removed. Null for a message that was loaded: what is in it stays as long as the document.
    /// Objects of a message do so, and what edits put into a removed message is therefore released
    /// with the last object of a message in it.
    [[nodiscard]] std::shared_ptr<const void> keep_alive(const onnx::Message& message);

    /// Notes that a new message is about to be in a list of another one.
    void note_added(const onnx::Message& made, const onnx::Message& parent,
                    const wire::FieldRow& list);

    /// Notes that a message, with all that it holds, is no longer part of the document.
    void remove(const onnx::Message& message);
    /// The same for messages of one list that stand one behind the other in memory.
    void remove(std::span<const onnx::Message> run);
    [[nodiscard]] bool is_removed(const onnx::Message& message) const;

    /// While one lives, the fields that edits replace or remove stay in memory, since an operation
    /// may still have views of their names. Names of loaded messages and short ones stay in any
    /// case; long ones may lie in the file of another model.
    class KeptFields {
      public:
        explicit KeptFields(Edits& edits);
        ~KeptFields();
        KeptFields(const KeptFields&) = delete;
        KeptFields& operator=(const KeptFields&) = delete;

      private:
        Edits& edits_;
    };

    /// Notes that a new message took the place of another one in a list.
    void note_replacement(const onnx::Message& made, const onnx::Message& replaced);
    /// The message whose place this one took, directly or through others that took it before; the
    /// message itself if there is none.
    [[nodiscard]] onnx::Message first_in_place(const onnx::Message& message) const;

    /// Undoes all edits. Messages that were added then count as removed.
    void revert();

    /// The edited messages in a message, itself included.
    [[nodiscard]] EditedFields messages_in(const onnx::Message& message) const;

  private:
    using LifePtr = Lives::LifePtr;

    [[nodiscard]] LifePtr life_of(const onnx::Message& message);
    [[nodiscard]] Lives::Gone gone_at(const std::uint8_t* key) const;
    void let_go(const InsideMessage& found, const std::vector<LifePtr>& lives);
    void remove(std::vector<ByteView> ranges, std::span<const onnx::Message> messages);
    [[nodiscard]] bool is_removed_at(const std::uint8_t* key) const;

    mutable os::ForkSafeMutex mutex_;
    std::atomic<std::uint64_t> count_ = 0;
    EditLog log_;
    EditArena arena_;
    RemovedRanges removed_;
    Lives lives_;
    EditedFields messages_;
    std::unordered_map<const std::uint8_t*, const Fields*> fields_;  // the same, for find()
    std::map<const std::uint8_t*, onnx::Message> first_in_place_;    // by the newest
    std::size_t keepers_ = 0;  // how many KeptFields there are
    std::vector<Fields> kept_;
};

}  // namespace onnxmap::model
