// The names that the elements of a list mention now: those of an earlier state, and what was edited
// since.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

    /// Calls visit(loaded) for each time that an element makes a name, given by its number.
    template <class Visit>
    void for_each_maker(std::uint32_t name, Visit&& visit) const {
        if (name < by_name_.name_count()) {
            for (const std::uint32_t element : by_name_.makers(name))
                visit_unedited(element, visit);
        }
        for_each_edited(name | Mentions::kMade, [&](ByteView loaded, std::uint32_t times) {
            for (; times > 0; --times) visit(loaded);
        });
    }
    /// Calls visit(loaded) for each element that mentions a name otherwise.
    template <class Visit>
    void for_each_user(std::uint32_t name, Visit&& visit) const {
        if (name < by_name_.name_count()) {
            std::uint32_t last = UINT32_MAX;
            for (const std::uint32_t element : by_name_.users(name)) {
                if (std::exchange(last, element) != element) visit_unedited(element, visit);
            }
        }
        for_each_edited(name, [&](ByteView loaded, std::uint32_t) { visit(loaded); });
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

    template <class Visit>
    void visit_unedited(std::uint32_t element, Visit& visit) const {
        const ByteView loaded = fields_->at(*list_, element).bytes;
        if (edited_.empty() || !edited_.contains(loaded.data())) visit(loaded);
    }
    template <class Visit>
    void for_each_edited(std::uint32_t mention, Visit&& visit) const {
        const auto found = edited_by_mention_.find(mention);
        if (found == edited_by_mention_.end()) return;
        for (const auto& [key, times] : found->second) visit(edited_.at(key).loaded, times);
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
