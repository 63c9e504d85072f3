// The names that the elements of a list mention, as numbers: by element, and by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/name_table.hpp"
#include "os/large_vector.hpp"

namespace onnxmap::model {

class Mentions {
  public:
    /// A mention is the number of a name, with this bit if the name is what the element makes.
    static constexpr std::uint32_t kMade = std::uint32_t{1} << 31;

    explicit Mentions(NameTable::Text text) : names_(text) {}

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept {
        return names_.find(name);
    }
    [[nodiscard]] std::string_view name(std::uint32_t name) const noexcept {
        return names_.name(name);
    }
    [[nodiscard]] std::uint32_t name_count() const noexcept { return names_.size(); }
    [[nodiscard]] std::uint32_t element_count() const noexcept {
        return static_cast<std::uint32_t>(ends_.size());
    }
    [[nodiscard]] std::span<const std::uint32_t> of_element(std::uint32_t element) const noexcept {
        const std::uint32_t begin = element == 0 ? 0 : ends_[element - 1];
        return std::span(mentions_).subspan(begin, ends_[element] - begin);
    }
    /// Of all elements, one after the other.
    [[nodiscard]] std::span<const std::uint32_t> all() const noexcept { return mentions_; }

    /// Makes room for this many elements, and for names: most nodes make one value, and use fewer
    /// than three. Throws std::length_error for more than 2^32 - 2 elements.
    void reserve(std::uint64_t elements, std::uint64_t names);
    [[nodiscard]] NameTable& names() noexcept { return names_; }
    /// Notes that an element mentions a name: the element of the note before, or one behind it.
    void note(std::uint32_t mention, std::uint32_t element) {
        mentions_.push_back(mention);
        ends_[element] = static_cast<std::uint32_t>(mentions_.size());
    }
    /// Call it after the last note. Throws std::length_error for 2^31 names or 2^32 notes.
    void finish();

  private:
    NameTable names_;
    os::LargeVector<std::uint32_t> mentions_;  // by the elements, one after the other
    os::LargeVector<std::uint32_t> ends_;      // of the mentions of each element
};

/// Which elements mention each name. An element that mentions it twice is there twice.
class Mentioners {
  public:
    explicit Mentioners(const Mentions& mentions);

    /// The elements that make it, in order.
    [[nodiscard]] std::span<const std::uint32_t> makers(std::uint32_t name) const noexcept {
        return part(2 * std::uint64_t{name});
    }
    /// The elements that mention it otherwise, in order.
    [[nodiscard]] std::span<const std::uint32_t> users(std::uint32_t name) const noexcept {
        return part(2 * std::uint64_t{name} + 1);
    }
    /// Numbers below this are of names that were known when it was made.
    [[nodiscard]] std::uint64_t name_count() const noexcept { return ends_.size() / 2; }

  private:
    [[nodiscard]] std::span<const std::uint32_t> part(std::uint64_t i) const noexcept {
        const std::uint32_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::span(elements_).subspan(begin, ends_[i] - begin);
    }

    os::LargeVector<std::uint32_t> ends_;  // of the makers of each name, and of its users
    os::LargeVector<std::uint32_t> elements_;
};

}  // namespace onnxmap::model
