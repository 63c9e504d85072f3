#include "check/rules.hpp"

#include <algorithm>
#include <array>

namespace onnxmap::check {

namespace {

constexpr std::array kRules = {
#define RULE(subject, name, level, requirement, ...) \
    RuleInfo{#subject "." #name, Level::level, Requirement::requirement, __VA_ARGS__},
#include "check/rules.def"
#undef RULE
};
static_assert(kRules.size() <= UINT8_MAX, "Rule has room for 255 rules");

}  // namespace

std::span<const RuleInfo> rules() noexcept { return kRules; }

std::optional<Rule> find_rule(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(kRules, name, &RuleInfo::name);
    if (found == kRules.end()) return std::nullopt;
    return static_cast<Rule>(found - kRules.begin());
}

}  // namespace onnxmap::check
