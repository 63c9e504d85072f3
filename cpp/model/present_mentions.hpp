// The names that the elements of a list mention now: those of an earlier state, and what was edited
// since.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "model/field_index.hpp"
#include "model/mentions.hpp"
#include "os/large_vector.hpp"

namespace onnxmap::model {

class PresentMentions {
  public:
    /// Elements are known by their keys; see onnx::Message::loaded(), which begins there.
    using Key = const std::uint8_t*;

    /// `mentions`: of the elements of a list in `fields`.
    PresentMentions(Mentions mentions, std::shared_ptr<const FieldIndex> fields,
                    const wire::FieldRow& list);

    /// The number of a name that is or was mentioned.
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept {
        return then_.find(name);
    }

    /// Begins what an element mentions: one that is new, or that was edited.
    void start(ByteView loaded);
    /// Adds a mention of the element that was started last. Returns the number of the name.
    std::uint32_t add(std::string_view name, bool made);
    /// Forgets an element.
    void remove(Key key);
    [[nodiscard]] bool has(Key key) const;

    /// Calls visit(loaded) for each time that an element makes a name, given by its number, until
    /// it returns false.
    template <class Visit>
    void for_each_maker(std::uint32_t name, Visit&& visit) const {
        if (name < by_name_.name_count() && !visit_unedited(by_name_.makers(name), visit)) return;
        for_each_edited(name | Mentions::kMade, [&](ByteView loaded, std::uint32_t times) {
            bool more = true;
            for (; more && times > 0; --times) more = visit(loaded);
            return more;
        });
    }
    /// Calls visit(loaded) for each element that mentions a name otherwise.
    template <class Visit>
    void for_each_user(std::uint32_t name, Visit&& visit) const {
        Key last = nullptr;
        const auto visit_once = [&](ByteView loaded, auto&&...) {
            if (std::exchange(last, loaded.data()) != loaded.data()) visit(loaded);
            return true;
        };
        if (name < by_name_.name_count()) visit_unedited(by_name_.users(name), visit_once);
        for_each_edited(name, visit_once);
    }

    [[nodiscard]] std::uint64_t unedited_count() const noexcept { return then_.element_count(); }

    /// How often a name is mentioned.
    [[nodiscard]] std::uint64_t count(std::string_view name) const {
        const auto known = find(name);
        return known ? counts_[*known] : 0;
    }
    /// How many different names are mentioned, the empty one included.
    [[nodiscard]] std::uint64_t name_count() const noexcept { return names_in_use_; }

    /// Whether most of the memory is of names that are no longer mentioned.
    [[nodiscard]] bool is_wasteful() const noexcept {
        return then_.name_count() > 2 * names_in_use_ + 1024;
    }

  private:
    struct Edited {
        ByteView loaded;  // null: there is no such element now
        std::vector<std::uint32_t> mentions;
    };

    // Both return false if visit() did, and then visit no more.
    template <class Visit>
    bool visit_unedited(std::span<const std::uint32_t> elements, Visit& visit) const {
        FieldIndex::Cursor cursor(*fields_, *list_);
        wire::Field field;
        for (const std::uint32_t element : elements) {  // in order; one may be there several times
            if (cursor.position() <= element) {
                cursor.skip_to(element);
                cursor.next(field);
            }
            const bool is_edited = !edited_.empty() && edited_.contains(field.bytes.data());
            if (!is_edited && !visit(field.bytes)) return false;
        }
        return true;
    }
    template <class Visit>
    bool for_each_edited(std::uint32_t mention, Visit&& visit) const {
        const auto found = edited_by_mention_.find(mention);
        if (found == edited_by_mention_.end()) return true;
        for (const auto& [key, times] : found->second) {
            if (!visit(edited_.at(key).loaded, times)) return false;
        }
        return true;
    }
    [[nodiscard]] std::optional<std::uint64_t> unedited(Key key) const {
        return fields_->ordinal(*list_, key);
    }
    Edited& forget(Key key);

    Mentions then_;
    Mentioners by_name_;
    std::shared_ptr<const FieldIndex> fields_;  // then
    const wire::FieldRow* list_;
    std::unordered_map<Key, Edited> edited_;
    // The elements that have each mention, and how many times.
    std::unordered_map<std::uint32_t, std::unordered_map<Key, std::uint32_t>> edited_by_mention_;
    Edited* started_ = nullptr;
    os::LargeVector<std::uint32_t> counts_;  // by name
    std::uint64_t names_in_use_ = 0;
};

}  // namespace onnxmap::model
