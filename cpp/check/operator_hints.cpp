#include "check/operator_hints.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest_name.hpp"

namespace onnxmap::check {

namespace {

struct Replacement {
    std::string_view deprecated;
    std::string_view by;
};
// Source: the texts of the deprecated operators in onnx.defs, and Changelog.md.
constexpr Replacement kReplacements[] = {
    {"Scatter", "ScatterElements"},
    {"TreeEnsembleClassifier", "TreeEnsemble"},
    {"TreeEnsembleRegressor", "TreeEnsemble"},
    {"Upsample", "Resize"},
};

std::string question(const NearestName& nearest) {
    return nearest.found() ? "; did you mean " + in_quotes(nearest.found()->name) + "?" : "";
}

// Calls visit(operator) for each version of each operator of a name, by domain, the newest first.
template <class Visit>
void for_each_of_name(std::string_view name, Visit&& visit) {
    for (const onnx::Operator::Row& row : onnx::operator_rows()) {
        const onnx::Operator op(row);
        if (op.name() == name) visit(op);
    }
}

}  // namespace

std::string unknown_operator_hint(std::string_view domain, std::int64_t version,
                                  std::string_view op_type) {
    const auto domains = onnx::operator_domains();
    const auto own = std::ranges::find(domains, onnx::plain_domain(domain),
                                       [](const auto& each) { return each.name; });
    std::string hint;
    for_each_of_name(op_type, [&](const onnx::Operator& op) {
        const onnx::OperatorDomain& its = domains[op.domain()];
        if (&its == &*own) {
            hint = "; version " + std::to_string(op.since()) + " is the first that has it";
        } else if (hint.empty()) {
            hint = "; the domain " +
                   in_quotes(its.name.empty() ? onnx::kStandardDomain : its.name) + " has it";
        }
    });
    if (!hint.empty()) return hint;
    NearestName nearest(op_type, {});
    onnx::for_each_operator(static_cast<std::size_t>(own - domains.begin()), version,
                            [&](const onnx::Operator& op) {
                                if (!op.deprecated()) nearest.compare(op.name());
                            });
    return question(nearest);
}

std::string unknown_attribute_hint(const onnx::Operator& op, std::string_view name) {
    std::int64_t version = 0;
    for_each_of_name(op.name(), [&](const onnx::Operator& other) {
        if (version == 0 && other.domain() == op.domain() && other.attribute(name)) {
            version = other.since();
        }
    });
    if (version != 0) return "; version " + std::to_string(version) + " has it";
    NearestName nearest(name, {});
    op.for_each_attribute(
        [&](const onnx::Operator::Attribute& each) { nearest.compare(each.name); });
    return question(nearest);
}

std::string replacement_hint(const onnx::Operator& op) {
    const auto* const found = std::ranges::find(kReplacements, op.name(), &Replacement::deprecated);
    if (found != std::end(kReplacements)) return ", and " + std::string(found->by) + " replaces it";
    std::int64_t newer = 0;
    for_each_of_name(op.name(), [&](const onnx::Operator& other) {
        if (other.domain() == op.domain() && !other.deprecated()) {
            newer = std::max(newer, other.since());
        }
    });
    return newer > op.since() ? ", and version " + std::to_string(newer) + " replaces it" : "";
}

}  // namespace onnxmap::check
