// What is known of the shapes of values, and of the values of small integer tensors, which are axes
// and sizes. Values of one shape share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace onnxmap::check {

/// A dimension or an element that is not known.
inline constexpr std::int64_t kUnknown = INT64_MIN;

using Numbers = std::vector<std::int64_t>;
using NumberView = std::span<const std::int64_t>;

/// Most elements that are kept of a tensor.
inline constexpr std::size_t kMostElements = 64;

/// What is known of a value.
struct Known {
    std::optional<NumberView> dims = std::nullopt;
    std::optional<NumberView> elements = std::nullopt;  // of a scalar or a list of integers
};

/// The product; nothing if a number is not known, or for one of more than 63 bits.
inline std::optional<std::int64_t> product(NumberView numbers) {
    std::int64_t product = 1;
    for (const std::int64_t each : numbers) {
        if (each < 0 || __builtin_mul_overflow(product, each, &product)) return std::nullopt;
    }
    return product;
}

/// Whether both are known, and differ.
constexpr bool differ(std::int64_t a, std::int64_t b) noexcept {
    return a != kUnknown && b != kUnknown && a != b;
}

class ShapeStore {
  public:
    using Id = std::uint32_t;
    static constexpr Id kNothing = 0;

    /// Keeps copies of the numbers: of the elements only if they are those of a scalar or a list,
    /// as many as the shape says, and at most kMostElements.
    Id add(Known known) {
        if (!known.dims) return kNothing;
        const bool has_elements = known.elements && known.dims->size() <= 1 &&
                                  known.elements->size() <= kMostElements &&
                                  product(*known.dims) == std::ssize(*known.elements);
        if (!has_elements) known.elements.reset();
        const std::size_t count =
            known.dims->size() + (known.elements ? known.elements->size() : 0);
        if (count > room_) return kNothing;
        room_ -= count;
        Known copy{.dims = copied(*known.dims, 0)};
        if (known.elements) copy.elements = copied(*known.elements, kUnknown);
        all_.push_back(copy);
        return static_cast<Id>(all_.size() - 1);
    }
    [[nodiscard]] const Known& at(Id id) const { return all_[id]; }

  private:
    // A file can make nodes whose shapes are larger than themselves: 64 MiB of numbers.
    static constexpr std::size_t kMostNumbers = 8 << 20;

    // A number below `least` is not known.
    NumberView copied(NumberView numbers, std::int64_t least) {
        if (numbers.empty()) return {};
        auto* const copy = static_cast<std::int64_t*>(
            memory_.allocate(numbers.size_bytes(), alignof(std::int64_t)));
        std::ranges::transform(numbers, copy,
                               [&](auto each) { return each < least ? kUnknown : each; });
        return {copy, numbers.size()};
    }

    std::pmr::monotonic_buffer_resource memory_;
    std::deque<Known> all_{1};  // which never move
    std::size_t room_ = kMostNumbers;
};

}  // namespace onnxmap::check
