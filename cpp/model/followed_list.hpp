// What the elements of a list mention, in its present state: it follows the log of edits, so that a
// look-up after an edit reads only the elements that were edited since the look-up before.
// Documents that nobody edits do without: ListNames and ValueUses are made in less time.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/edits.hpp"
#include "model/mentions.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::model {

class Document;

class FollowedList {
  public:
    /// What was read of the elements.
    struct Read {
        Mentions mentions;
        /// Messages inside of an element that mention names, by its key.
        std::unordered_map<const std::uint8_t*, std::vector<onnx::Message>> inner_users;
        /// The elements in which edits of inner messages matter: their bytes by their keys.
        std::map<const std::uint8_t*, ByteView> holders;

        void forget(const std::uint8_t* key);
    };

    /// `parent`: the message of the document that has the list. `rows`: the fields of an element on
    /// which the result of read() depends.
    FollowedList(const Document& document, onnx::Message parent, const wire::FieldRow& list,
                 onnx::Pieces::Rows rows)
        : document_(document), parent_(std::move(parent)), list_(&list), rows_(rows) {}
    FollowedList(const FollowedList&) = delete;
    FollowedList& operator=(const FollowedList&) = delete;
    virtual ~FollowedList() = default;

    /// Calls look(read) for the present state, a const Read, and returns its result. It holds a
    /// lock meanwhile. Throws Error `file.changed`.
    template <class Look>
    decltype(auto) look(Look&& look) {
        for (;;) {
            {
                const std::lock_guard lock(mutex_);
                if (follow()) return std::forward<Look>(look)(std::as_const(*read_));
            }
            read_all();
        }
    }

    /// Whether to call look(), which reads the list once: it was read already, or this was asked so
    /// often that as many walks over the list would have taken as long as reading it.
    [[nodiscard]] bool is_worth_reading() {
        const std::lock_guard lock(mutex_);
        return read_ != nullptr || ++asked_ > kMostWalks;
    }

    /// How many elements were read. Tests count them.
    [[nodiscard]] std::uint64_t elements_read() const noexcept {
        return elements_read_.load(std::memory_order_relaxed);
    }

  protected:
    /// Adds what an element mentions, which is started.
    virtual void read(const onnx::Message& element, Read& found) const = 0;
    /// A message that is no element was changed. Returns false if all is to be read again.
    virtual bool changed_elsewhere(const EditStep& /*step*/, Read& /*found*/) const { return true; }

    [[nodiscard]] const Document& document() const noexcept { return document_; }
    /// Reads an element again, unless it was removed since: then it may have no fields left, and a
    /// later step says so.
    void reread_element(ByteView loaded, Read& found) const;

  private:
    void read_element(ByteView loaded, Read& found) const;
    bool follow();
    bool apply(const EditStep& step);
    void read_all();

    static constexpr unsigned kMostWalks = 8;

    const Document& document_;
    onnx::Message parent_;
    const wire::FieldRow* list_;
    onnx::Pieces::Rows rows_;
    os::ForkSafeMutex mutex_;
    std::unique_ptr<Read> read_;   // null: all elements are to be read
    unsigned asked_ = 0;           // for is_worth_reading()
    std::uint64_t place_ = 0;      // in the log
    std::uint64_t followed_ = 0;   // Edits::count() then
    std::vector<EditStep> steps_;  // empty; keeps its memory
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
    void read(const onnx::Message& element, Read& found) const override;

    const wire::FieldRow* name_;
};

}  // namespace onnxmap::model
