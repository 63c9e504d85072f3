// The names that the elements of a list mention now: those of an earlier state, and what was edited
// since.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "model/mentions.hpp"

namespace onnxmap::model {

class PresentMentions {
  public:
    /// Elements are known by their keys; see onnx::Message::loaded(), which begins there.
    using Key = const std::uint8_t*;

    /// `loaded`: the elements of `mentions`.
    PresentMentions(Mentions mentions, std::vector<ByteView> loaded);

    /// The number of a name that is or was mentioned.
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept {
        return then_.find(name);
    }

    /// Begins what an element mentions: one that is new, or that was edited.
    void start(ByteView loaded);
    /// Adds a mention of the element that was started last.
    void add(std::string_view name, bool made);
    /// Forgets an element.
    void remove(Key key);
    [[nodiscard]] bool has(Key key);

    /// Calls visit(loaded, made) for each mention of a name: first for those of elements that were
    /// not edited, of these first for the elements that make it. An element that mentions it twice
    /// is visited twice, one time after the other.
    template <class Visit>
    void for_each(std::string_view name, Visit&& visit) const {
        const auto known = find(name);
        if (!known) return;
        if (*known < by_name_.name_count()) {
            const auto visit_unedited = [&](std::uint32_t element, bool made) {
                const ByteView loaded = loaded_[element];
                if (edited_.empty() || !edited_.contains(loaded.data())) visit(loaded, made);
            };
            for (const std::uint32_t each : by_name_.makers(*known)) visit_unedited(each, true);
            for (const std::uint32_t each : by_name_.users(*known)) visit_unedited(each, false);
        }
        const auto edited = edited_by_name_.find(*known);
        if (edited == edited_by_name_.end()) return;
        for (const Key key : edited->second) {
            const Edited& element = edited_.at(key);
            for (const std::uint32_t mention : element.mentions) {
                if ((mention & ~Mentions::kMade) == *known)
                    visit(element.loaded, (mention & Mentions::kMade) != 0);
            }
        }
    }

    [[nodiscard]] std::uint64_t unedited_count() const noexcept { return loaded_.size(); }

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

    [[nodiscard]] std::optional<std::uint32_t> unedited(Key key);
    Edited& forget(Key key);

    Mentions then_;
    Mentioners by_name_;
    std::vector<ByteView> loaded_;
    std::vector<std::pair<Key, std::uint32_t>> by_key_;  // the elements then; made when asked for
    std::unordered_map<Key, Edited> edited_;
    std::unordered_map<std::uint32_t, std::unordered_set<Key>> edited_by_name_;
    Edited* started_ = nullptr;
    os::LargeVector<std::uint32_t> counts_;  // by name
    std::uint64_t names_in_use_ = 0;
};

}  // namespace onnxmap::model
