// What the elements of a list mention, in its present state: it follows the log of edits, so that a
// look-up after an edit reads only the elements that were edited since the look-up before.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "model/edits.hpp"
#include "model/field_index.hpp"
#include "model/present_mentions.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"
#include "os/fork_safe_mutex.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::model {

class Document;

class FollowedList {
  public:
    using Key = PresentMentions::Key;

    /// What an element and the messages inside of it mention.
    struct Inside {
        enum class Role : std::uint8_t {
            use,          ///< a value that it or a message in it uses
            made_inside,  ///< a value that a subgraph of a node makes
            annotated     ///< a value of the graph that a message in a subgraph describes
        };
        struct Mention {
            std::uint32_t name;  // its number
            Role role;
            std::uint32_t user;   // in users; of made_inside it means nothing
            std::uint32_t index;  // of a use: among the inputs or outputs of the user
        };
        ByteView loaded;                  // of the element
        bool holds_graphs;                // edits of inner messages matter
        std::deque<onnx::Message> users;  // the element first
        std::deque<Mention> mentions;     // by name, then by user and index
    };
    /// What was read of the elements.
    struct State {
        PresentMentions mentions;
        std::map<Key, Inside> inside;  // of elements with inner messages or very many mentions
    };
    /// The elements to read again.
    struct Again {
        std::map<Key, ByteView> elements;
        bool all_with_graphs = false;
    };

    /// `parent`: the message of the document that has the list. `rows`: the fields of an element on
    /// which the result of read() depends.
    FollowedList(const Document& document, onnx::Message parent, const wire::FieldRow& list,
                 onnx::Pieces::Rows rows)
        : document_(document), parent_(std::move(parent)), list_(&list), rows_(rows) {}
    FollowedList(const FollowedList&) = delete;
    FollowedList& operator=(const FollowedList&) = delete;
    virtual ~FollowedList() = default;

    /// Calls look(state) for the present state, a const State, and returns its result. It holds a
    /// lock meanwhile. Throws Error `file.changed`.
    template <class Look>
    decltype(auto) look(Look&& look) {
        for (;;) {
            {
                const std::lock_guard lock(mutex_);
                if (follow()) {
                    return source::guard_reads(source(), [&]() -> decltype(auto) {
                        return std::forward<Look>(look)(std::as_const(*state_));
                    });
                }
            }
            read_all();
        }
    }

    /// Whether to call look(), which reads the list once: it was read already, or this was asked so
    /// often that as many walks over the list would have taken as long as reading it.
    [[nodiscard]] bool is_worth_reading() {
        const std::lock_guard lock(mutex_);
        return state_ != nullptr || ++asked_ > kMostWalks;
    }

    /// How many elements were read. Tests count them.
    [[nodiscard]] std::uint64_t elements_read() const noexcept {
        return elements_read_.load(std::memory_order_relaxed);
    }

  protected:
    /// Reads what all elements mention, in any thread.
    [[nodiscard]] virtual std::unique_ptr<State> read_list(
        const std::shared_ptr<const FieldIndex>& fields, NameTable::Text text) const = 0;
    /// Adds what an element mentions, which is started.
    virtual void read(const onnx::Message& element, State& state) const = 0;
    /// A message that is no element was changed. Returns false if the whole list is to be read
    /// again.
    virtual bool changed_elsewhere(const EditStep& /*step*/, const State& /*state*/,
                                   Again& /*again*/) const {
        return true;
    }

    [[nodiscard]] const Document& document() const noexcept { return document_; }
    [[nodiscard]] const wire::FieldRow& list() const noexcept { return *list_; }
    [[nodiscard]] onnx::Message element(ByteView loaded) const;

  private:
    [[nodiscard]] const source::Source& source() const;
    [[nodiscard]] bool is_removed(const wire::MessageTable& table, ByteView loaded) const;
    bool follow();
    void follow_steps();
    void reread(ByteView loaded);
    bool apply(const EditStep& step, Again& again);
    void read_all();

    static constexpr unsigned kMostWalks = 8;

    const Document& document_;
    onnx::Message parent_;
    const wire::FieldRow* list_;
    onnx::Pieces::Rows rows_;
    os::ForkSafeMutex mutex_;
    std::unique_ptr<State> state_;  // null: all elements are to be read
    unsigned asked_ = 0;            // for is_worth_reading()
    std::uint64_t place_ = 0;       // in the log
    std::uint64_t followed_ = 0;    // Edits::count() then
    std::vector<EditStep> steps_;   // empty; keeps its memory
    mutable std::atomic<std::uint64_t> elements_read_ = 0;
};

/// The names of the elements: the first value of one of their text fields.
class FollowedNames final : public FollowedList {
  public:
    FollowedNames(const Document& document, onnx::Message parent, const wire::FieldRow& list,
                  const wire::FieldRow& name)
        : FollowedList(document, std::move(parent), list,
                       onnx::Pieces::rows(onnx::kSchema.message_of(list), name)),
          name_(&name) {}

    [[nodiscard]] static std::string_view name_of(const onnx::Message& element,
                                                  const wire::FieldRow& name);

  private:
    [[nodiscard]] std::unique_ptr<State> read_list(const std::shared_ptr<const FieldIndex>& fields,
                                                   NameTable::Text text) const override;
    void read(const onnx::Message& element, State& state) const override;

    const wire::FieldRow* name_;
};

}  // namespace onnxmap::model
