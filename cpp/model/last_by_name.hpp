// The rule for repeated names in a list whose names should be unique: the last entry counts, at the
// place of the first one. Attributes of a node, metadata, and operator sets by domain follow it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/name_table.hpp"

namespace onnxmap::model {

template <class T>
class LastByName {
  public:
    void set(std::string_view name, T value) {
        const auto [position, is_new] = names_.add(name);
        if (is_new) {
            values_.push_back(std::move(value));
        } else {
            values_[position] = std::move(value);
        }
    }

    [[nodiscard]] std::vector<T> values() && { return std::move(values_); }

  private:
    NameTable names_;
    std::vector<T> values_;
};

}  // namespace onnxmap::model
