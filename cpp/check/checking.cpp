#include "check/checking.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "model/function_names.hpp"

namespace onnxmap::check {

namespace {

bool is_identifier(std::string_view name) noexcept {
    return !name.empty() && !is_digit(name[0]) && std::ranges::all_of(name, [](char c) {
        return is_letter(c) || is_digit(c) || c == '_';
    });
}

// Whether a rule looks at operators.
bool wants_operators(const Findings& findings) {
    const auto all = rules();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto rule = static_cast<Rule>(i);
        const bool needs_operators =
            all[i].name.starts_with("operator.") || rule == Rule::value_type ||
            rule == Rule::value_shape || rule == Rule::function_unused ||
            rule == Rule::function_opset_version || rule == Rule::function_opset_import ||
            rule == Rule::model_opset_import_unused;
        if (needs_operators && findings.wants(rule)) return true;
    }
    return false;
}

}  // namespace

model::NameTable::Added Functions::add(std::string_view domain, std::string_view name,
                                       std::string_view overload) {
    domains_.add(plain_domain(domain));
    const auto added = names_.add(model::function_identity(domain, name, overload));
    if (added.is_new) {
        calls_.emplace_back();
        signatures_.emplace_back();
    }
    return added;
}

std::optional<std::uint32_t> Functions::find(std::string_view domain, std::string_view name,
                                             std::string_view overload) const {
    return names_.find(model::function_identity(domain, name, overload));
}

std::vector<std::uint32_t> Functions::recursive() const {
    enum class State : std::uint8_t { unseen, open, done };
    struct Step {
        std::uint32_t function;
        std::size_t next;  // among its calls
    };
    std::vector<std::uint32_t> found;
    std::vector<State> states(calls_.size(), State::unseen);
    std::vector<Step> steps;
    for (std::uint32_t first = 0; first < calls_.size(); ++first) {
        if (states[first] != State::unseen) continue;
        states[first] = State::open;
        steps.push_back({first, 0});
        while (!steps.empty()) {
            Step& step = steps.back();
            if (step.next == calls_[step.function].size()) {
                states[step.function] = State::done;
                steps.pop_back();
                continue;
            }
            const std::uint32_t called = calls_[step.function][step.next++];
            if (states[called] == State::open) {
                found.push_back(called);
            } else if (states[called] == State::unseen) {
                states[called] = State::open;
                steps.push_back({called, 0});
            }
        }
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
}

std::string_view Checking::domain_of(const onnx::Message& function) const {
    const auto domain = function.text(onnx::field<"FunctionProto.domain">);
    return domain.empty() && set ? set->domain : domain;
}

const KnownOperators* Checking::operators_of(const Imports& own) {
    if (!knows_versions || !wants_operators(findings)) return nullptr;
    const auto versions = KnownOperators::versions_of(own);
    const auto found =
        std::ranges::find(operators, versions, [](const auto& each) { return each.first; });
    if (found != operators.end()) return &found->second;
    return &operators.emplace_back(versions, KnownOperators(versions)).second;
}

void Checking::count_not_described(std::string_view domain) {
    const auto added = not_described.add(plain_domain(domain));
    if (added.is_new) not_described_nodes.push_back(0);
    ++not_described_nodes[added.position];
}

bool Checking::uses_domain(std::string_view domain) const {
    const auto domains = onnx::operator_domains();
    for (std::size_t i = 0; i < used_sets.size(); ++i) {
        if (domains[i].name == plain_domain(domain) && used_sets.at(i)) return true;
    }
    return functions.has_domain(domain) || not_described.find(plain_domain(domain)).has_value();
}

void Checking::report_not_described(const FieldPath& root) {
    for (std::uint32_t i = 0; i < not_described.size(); ++i) {
        findings.add(Rule::operator_not_described, root, [&] {
            const std::string_view domain = not_described.name(i);
            const std::uint64_t count = not_described_nodes[i];
            return std::to_string(count) +
                   (count == 1 ? " node has an operator" : " nodes have operators") + " of " +
                   (domain.empty() ? "a version of ai.onnx that is newer than onnxmap"
                                   : "the domain " + in_quotes(domain));
        });
    }
}

void check_field_version(std::int64_t ir_version, Findings& findings, const wire::FieldRow& row,
                         std::int64_t since, const FieldPath& path) {
    if (ir_version >= since) return;
    findings.add(
        Rule::model_field_version, FieldPath{&path, &row},
        {"IR version ", ir_version, " has no ", row.name, "; version ", since, " added it"});
}

void check_reverse_dns(Findings& findings, Rule rule, std::string_view domain,
                       const FieldPath& path) {
    if (plain_domain(domain).empty() || is_reverse_dns(domain)) return;
    findings.add(rule, path, {Quoted(domain), " is not a name in reverse DNS form"});
}

void check_identifier(Findings& findings, std::string_view name, const FieldPath& path) {
    if (!findings.wants(Rule::graph_identifier) || name.empty() || is_identifier(name)) return;
    findings.add(Rule::graph_identifier, path,
                 {"the name ", Quoted(name), " is not an identifier of C"});
}

}  // namespace onnxmap::check
