// Shares one Python object among equal values of a column. Op types and shapes repeat thousands of
// times, and allocating memory is the main cost of a column.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/seeded_hash.hpp"

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

    // Of a number of bytes that the compiler knows. A copy of `n` bytes would be read back as
    // eight, and the processor would wait for it.
    template <class Number>
    [[nodiscard]] static Number load(const char* bytes) noexcept {
        Number number;
        std::memcpy(&number, bytes, sizeof number);
        return number;
    }

    // A hash of the length and of up to eight bytes at each end.
    [[nodiscard]] static std::size_t position(std::string_view key) noexcept {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        if (key.size() >= sizeof(std::uint64_t)) {
            first = load<std::uint64_t>(key.data());
            last = load<std::uint64_t>(key.data() + key.size() - sizeof last);
        } else if (key.size() >= sizeof(std::uint32_t)) {
            first = load<std::uint32_t>(key.data());
            last = load<std::uint32_t>(key.data() + key.size() - sizeof(std::uint32_t));
        } else if (!key.empty()) {
            first = static_cast<std::uint8_t>(key.front());
            last = std::uint64_t{static_cast<std::uint8_t>(key[key.size() / 2])} << 8 |
                   static_cast<std::uint8_t>(key.back());
        }
        return ((first * kScatter ^ last) * kScatter + key.size() * kScatter) >> (64 - kBits);
    }

    std::array<Slot, std::size_t{1} << kBits> slots_;
};

}  // namespace onnxmap::bindings
