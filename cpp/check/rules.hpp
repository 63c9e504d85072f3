// The rules of a valid model: the table of rules.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace onnxmap::check {

enum class Rule : std::uint8_t {
#define RULE(subject, name, ...) subject##_##name,
#include "check/rules.def"
#undef RULE
};

enum class Level : std::uint8_t {
    error,
    warning,
    hint,
    strict,  // a hint that is only given on request
};

/// What the specification says about a rule.
enum class Requirement : std::uint8_t { must, should, readers, advice };

struct RuleInfo {
    std::string_view name;  // stable: subject.name
    Level level;
    Requirement requirement;
    std::string_view source;  // where the specification says so
    std::string_view text;    // the rule
    std::string_view advice;  // what to do if a model breaks it
};

/// All rules, in the order of Rule.
[[nodiscard]] std::span<const RuleInfo> rules() noexcept;

[[nodiscard]] inline const RuleInfo& info(Rule rule) noexcept {
    return rules()[static_cast<std::size_t>(rule)];
}

/// The rule of that name. The codes `tensor.*` and `ext.*` of errors are names of rules, too.
[[nodiscard]] std::optional<Rule> find_rule(std::string_view name) noexcept;

}  // namespace onnxmap::check
