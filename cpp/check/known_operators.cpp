#include "check/known_operators.hpp"

#include <algorithm>

#include "check/shape_rules.hpp"

namespace onnxmap::check {

namespace {

std::size_t position_of(std::string_view domain) {
    if (domain.empty()) return 0;
    const auto domains = onnx::operator_domains();
    const auto found =
        std::ranges::find(domains, plain_domain(domain), &onnx::OperatorDomain::name);
    return static_cast<std::size_t>(found - domains.begin());
}

// Whether an attribute says what the type of the first output is: no input has the same.
bool decides_type(const onnx::Operator& op) {
    if (op.attribute("value") || op.name() == "QuantizeLinear") return true;
    return std::ranges::any_of(
        kTypeAttributes, [&](std::string_view name) { return op.attribute(name).has_value(); });
}

}  // namespace

KnownOperators::Versions KnownOperators::versions_of(const Imports& imports) {
    Versions versions{};
    const auto domains = onnx::operator_domains();
    for (std::size_t i = 0; i < versions.size(); ++i) {
        const std::int64_t version = imports.find(domains[i].name).value_or(0);
        versions.at(i) = version > domains[i].newest ? 0 : std::max<std::int64_t>(version, 0);
    }
    return versions;
}

KnownOperators::KnownOperators(const Versions& versions) : versions_(versions) {
    for (std::size_t i = 0; i < versions.size(); ++i) {
        if (versions.at(i) == 0) continue;
        Set& set = sets_.at(i);
        onnx::for_each_operator(i, versions.at(i), [&](const onnx::Operator& op) {
            set.names.add(op.name());
            set.found.push_back({true, op, decides_type(op), shape_rule_of(op)});
        });
    }
}

bool KnownOperators::describes(std::string_view domain) const {
    const std::size_t position = position_of(domain);
    return position < sets_.size() && versions_.at(position) != 0;
}

KnownOperators::Found KnownOperators::find(std::string_view domain,
                                           std::string_view op_type) const {
    if (!describes(domain)) return {};
    const Set& set = sets_.at(position_of(domain));
    const auto found = set.names.find(op_type);
    if (!found) return {.is_described = true};
    return set.found[*found];
}

}  // namespace onnxmap::check
