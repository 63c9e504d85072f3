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
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/message.hpp"
#include "os/fork_safe_mutex.hpp"
#include "source/owned_bytes.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

/// What an edit does to one message.
struct EditStep {
    enum class Kind : std::uint8_t {
        changed,  ///< it has other fields
        added,    ///< it is new in a list
        removed   ///< it is no longer part of the document
    };
    Kind kind;
    const wire::MessageTable* table;
    ByteView loaded;                       // see onnx::Message::loaded(); it begins at the key
    onnx::Pieces::Rows rows = 0;           // that were changed
    const std::uint8_t* parent = nullptr;  // of one that was added: the key of its parent
    const wire::FieldRow* list = nullptr;

    [[nodiscard]] const std::uint8_t* key() const noexcept { return loaded.data(); }
};

class Edits final : public onnx::Changes {
  public:
    using Fields = std::shared_ptr<const onnx::Pieces>;
    using ByKey = std::map<const std::uint8_t*, Fields>;

    [[nodiscard]] Fields find(const std::uint8_t* key) const override;
    [[nodiscard]] bool is_added(const std::uint8_t* key) const override;

    /// Whether messages differ from what was loaded. any() may also be true if they no longer do.
    [[nodiscard]] bool edited() const;

    /// Counts the edits, so that what was derived from an earlier state can be recognised.
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

    /// The place of a singular message, until it is cleared. A handle of an absent message stands
    /// for it. Null before the first edit.
    struct Tombstone;
    using TombstonePtr = std::shared_ptr<const Tombstone>;
    [[nodiscard]] TombstonePtr place_of(const onnx::Message& parent, const wire::FieldRow& row);
    /// Notes that a place is cleared, before `left` is removed: what is there, which may be nothing
    /// (an empty message without bytes).
    void note_vacated(const onnx::Message& parent, const wire::FieldRow& row,
                      const onnx::Message& left);
    /// What left the place when it was cleared; nothing if it was not, since place_of() gave it.
    [[nodiscard]] std::optional<onnx::Message> left(const onnx::Message& parent,
                                                    const wire::FieldRow& row,
                                                    const TombstonePtr& place) const;

    /// Undoes all edits. Messages that were added then count as removed.
    void revert();

    /// The edited messages in a message, itself included.
    [[nodiscard]] ByKey messages_in(const onnx::Message& message) const;

  private:
    static constexpr std::uint64_t kFirstEditBlock = 4 << 10;

    // What was in a message that was removed.
    using Gone = std::shared_ptr<const ByKey>;
    // An added message that objects refer to.
    struct Life {
        ByteView loaded;
        Gone gone;  // once it is removed
    };
    using LifePtr = std::shared_ptr<Life>;
    struct GoneRange {
        const std::uint8_t* end;
        std::weak_ptr<const ByKey> gone;
    };
    struct Places {
        std::shared_ptr<Tombstone> first;  // of handles that were made before the first edit
        std::weak_ptr<Tombstone> now;
    };

    // The bytes of a message are anywhere in memory: one range is what was loaded or copied, the
    // others are fields that were added to messages in it.
    struct Inside {
        ByKey edited;
        std::vector<ByteView> ranges;
    };
    struct Kept {
        ByteView bytes;
        std::weak_ptr<const source::Source> source;
    };

    using Intervals = std::map<const std::uint8_t*, const std::uint8_t*>;  // both ends belong to it

    void log(const EditStep& step);
    [[nodiscard]] LifePtr life_of(const onnx::Message& message);
    [[nodiscard]] std::vector<LifePtr> lives_in(const std::vector<ByteView>& ranges) const;
    void let_go(const Inside& found, const std::vector<LifePtr>& lives);
    [[nodiscard]] Gone gone_at(const std::uint8_t* key) const;
    void remove(std::vector<ByteView> ranges, std::span<const onnx::Message> messages);
    static void add_inside(Inside& found, std::vector<ByteView> ranges, const ByKey& edited);
    static Inside inside(const onnx::Message& message, const ByKey& edited);
    [[nodiscard]] std::optional<std::size_t> block_of(const std::uint8_t* p) const;
    void remove_range(ByteView bytes);
    [[nodiscard]] bool is_removed_at(const std::uint8_t* key) const;

    mutable os::ForkSafeMutex mutex_;
    std::atomic<std::uint64_t> count_ = 0;
    bool is_logged_ = false;
    std::vector<EditStep> log_;    // the newest steps
    std::uint64_t log_begin_ = 0;  // the place of the first of them
    ByKey messages_;
    std::unordered_map<const std::uint8_t*, const Fields*> fields_;  // the same, for find()
    std::map<const std::uint8_t*, std::weak_ptr<Life>> lives_;
    std::size_t most_lives_ = 1024;  // when those that are gone are forgotten next
    // Of removed messages that were added: the objects of messages in them keep what was in them.
    std::unordered_map<const std::uint8_t*, std::weak_ptr<const ByKey>> let_go_;
    std::map<const std::uint8_t*, GoneRange> gone_;  // the same, by the ranges of their bytes
    std::size_t most_gone_ = 16;
    Intervals removed_;
    std::map<std::pair<const std::uint8_t*, const wire::FieldRow*>, Places> places_;
    std::size_t most_places_ = 16;
    // Places may be vacated before the first edit: nothing was there.
    std::atomic<bool> has_vacated_ = false;
    std::map<const std::uint8_t*, onnx::Message> first_in_place_;  // by the newest
    std::vector<std::shared_ptr<source::OwnedBytes>> blocks_;      // the newest last
    std::size_t reverted_ = 0;  // so many of them belong to edits that were reverted
    std::map<const std::uint8_t*, std::size_t> block_at_;  // by the first byte
    std::uint64_t used_ = 0;                               // of the newest block
    std::uint64_t next_block_ = kFirstEditBlock;           // its bytes
    // The sources of held content, by the first byte. Sources may overlap: two views of one buffer.
    std::multimap<const std::uint8_t*, Kept> held_;
    std::size_t most_held_ = 16;  // when the sources that are gone are forgotten next
    std::size_t keepers_ = 0;     // how many KeptFields there are
    std::vector<Fields> kept_;
};

}  // namespace onnxmap::model
