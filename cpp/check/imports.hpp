// The operator sets that a model or a function imports, and the names of their domains.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/name_table.hpp"
#include "onnx/operators.hpp"

namespace onnxmap::check {

/// The imported version of each domain. "ai.onnx" is "".
class Imports {
  public:
    /// Whether the domain is new. If it is imported twice, the higher version counts.
    bool add(std::string_view domain, std::int64_t version);
    /// The version of a domain; nothing if it is not imported.
    [[nodiscard]] std::optional<std::int64_t> find(std::string_view domain) const;
    [[nodiscard]] bool only_standard() const {
        return domains_.size() == 0 || (domains_.size() == 1 && domains_.name(0).empty());
    }

  private:
    model::NameTable domains_;
    std::vector<std::int64_t> versions_;
    std::optional<std::int64_t> standard_;  // of the default domain
};

using onnx::plain_domain;

/// Whether a name has the reverse DNS form, such as org.example.team.
[[nodiscard]] bool is_reverse_dns(std::string_view domain) noexcept;

}  // namespace onnxmap::check
