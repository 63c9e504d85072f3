// Shares one Python object among equal values of a column. Op types and shapes repeat thousands of
// times, and allocating memory is the main cost of a column.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace onnxmap::bindings {

namespace py = pybind11;

/// Remembers the newest object for each of a fixed number of slots. A collision only makes a new
/// object, so a file cannot choose keys that make this slow.
class SharedObjects {
  public:
    /// The object for `key`. If it is not remembered, `make()` makes it.
    template <class Make>
    const py::object& operator()(std::string_view key, Make&& make) {
        Slot& slot = slots_[position(key)];
        if (!slot.value || slot.key != key) {
            slot.value = make();
            slot.key = key;
        }
        return slot.value;
    }

  private:
    struct Slot {
        std::string key;
        py::object value;
    };

    static constexpr unsigned kBits = 10;

    // A hash of the length and of the eight bytes at each end.
    [[nodiscard]] static std::size_t position(std::string_view key) noexcept {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        const std::size_t count = std::min(key.size(), sizeof first);
        if (count > 0) {
            std::memcpy(&first, key.data(), count);
            std::memcpy(&last, key.data() + key.size() - count, count);
        }
        constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;  // 2^64 over the golden ratio
        return ((first * kOdd ^ last) * kOdd + key.size() * kOdd) >> (64 - kBits);
    }

    std::array<Slot, std::size_t{1} << kBits> slots_;
};

}  // namespace onnxmap::bindings
