// A filter for walks that look for a few names among very many.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace onnxmap::model {

/// Recognizes most names that were never added, by their length and last byte.
class NameFilter {
  public:
    void add(std::string_view name) noexcept { keys_.set(key(name)); }
    [[nodiscard]] bool may_have(std::string_view name) const noexcept { return keys_[key(name)]; }

  private:
    static std::size_t key(std::string_view name) noexcept {
        const unsigned last = name.empty() ? 0 : static_cast<std::uint8_t>(name.back());
        return (name.size() * 37 + last) % 256;
    }

    std::bitset<256> keys_;
};

}  // namespace onnxmap::model
