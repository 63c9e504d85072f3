// The rule for repeated names in a list whose names should be unique: the last entry counts, at the
// place of the first one. Attributes of a node and metadata follow it.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/name_table.hpp"

namespace onnxmap::model {

/// The entries that count, one for each name.
template <class T>
struct ByName {
    std::vector<T> entries;
    /// The first name of which an entry was left out.
    std::optional<std::string_view> repeated;
};

template <class T>
class LastByName {
  public:
    void set(std::string_view name, T value) {
        const auto [position, is_new] = names_.add(name);
        if (is_new) {
            found_.entries.push_back(std::move(value));
        } else {
            found_.entries[position] = std::move(value);
            if (!found_.repeated) found_.repeated = name;
        }
    }

    [[nodiscard]] ByName<T> found() && { return std::move(found_); }

  private:
    NameTable names_;
    ByName<T> found_;
};

}  // namespace onnxmap::model
