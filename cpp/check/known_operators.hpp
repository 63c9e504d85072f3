// The operators that a node may have: those of the operator sets that its model or function
// imports, as far as ONNX describes them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "check/imports.hpp"
#include "model/name_table.hpp"
#include "onnx/operators.hpp"

namespace onnxmap::check {

/// Attributes that say which element type an output has.
inline constexpr std::string_view kTypeAttributes[] = {"to", "dtype", "output_dtype",
                                                       "output_datatype"};

class KnownOperators {
  public:
    /// The version of each set that ONNX describes; 0: none, or one that is newer than the table.
    using Versions = std::array<std::int64_t, onnx::kOperatorDomains>;
    static Versions versions_of(const Imports& imports);

    explicit KnownOperators(const Versions& versions);

    struct Found {
        bool is_described = false;                     // whether ONNX describes the set
        std::optional<onnx::Operator> operator_ = {};  // nothing: the set has none of that name
        bool decides_type = false;     // whether an attribute decides the type of the first output
        std::uint16_t shape_rule = 0;  // see shape_rules.hpp
    };
    [[nodiscard]] Found find(std::string_view domain, std::string_view op_type) const;
    /// Whether ONNX describes the imported version of a domain.
    [[nodiscard]] bool describes(std::string_view domain) const;

  private:
    struct Set {
        model::NameTable names;
        std::vector<Found> found;  // of each name
    };
    std::array<Set, std::tuple_size_v<Versions>> sets_;
    Versions versions_;
};

}  // namespace onnxmap::check
