#include "check/checking.hpp"

#include <algorithm>

namespace onnxmap::check {

namespace {

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_identifier(std::string_view name) noexcept {
    return !name.empty() && !is_digit(name[0]) && std::ranges::all_of(name, [](char c) {
        return is_letter(c) || is_digit(c) || c == '_';
    });
}

// Lengths make the parts unambiguous, whatever bytes they have.
std::string key_of(std::string_view domain, std::string_view name, std::string_view overload) {
    domain = plain_domain(domain);
    std::string key = std::to_string(domain.size());
    key.append(1, ':').append(domain).append(std::to_string(name.size())).append(1, ':');
    return key.append(name).append(overload);
}

}  // namespace

bool Imports::add(std::string_view domain, std::int64_t version) {
    const auto added = domains_.add(plain_domain(domain));
    if (added.is_new) {
        versions_.push_back(version);
    } else {
        versions_[added.position] = std::max(versions_[added.position], version);
    }
    if (domains_.name(added.position).empty()) standard_ = versions_[added.position];
    return added.is_new;
}

std::optional<std::int64_t> Imports::find(std::string_view domain) const {
    if (domain.empty() && standard_) return standard_;  // nearly every node
    const auto found = domains_.find(plain_domain(domain));
    return found ? std::optional(versions_[*found]) : std::nullopt;
}

Functions::Added Functions::add(std::string_view domain, std::string_view name,
                                std::string_view overload) {
    const auto added = names_.add(key_of(domain, name, overload));
    if (added.is_new) calls_.emplace_back();
    return {added.position, added.is_new};
}

std::optional<std::uint32_t> Functions::find(std::string_view domain, std::string_view name,
                                             std::string_view overload) const {
    return names_.find(key_of(domain, name, overload));
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

void check_identifier(Findings& findings, std::string_view name, const FieldPath& place) {
    if (!findings.wants(Rule::graph_identifier) || name.empty() || is_identifier(name)) return;
    findings.add(Rule::graph_identifier, place,
                 [&] { return "the name " + quoted(name) + " is not an identifier of C"; });
}

bool is_reverse_dns(std::string_view domain) noexcept {
    bool has_dot = false;
    for (std::size_t begin = 0; begin <= domain.size();) {
        const std::size_t end = std::min(domain.find('.', begin), domain.size());
        const std::string_view label = domain.substr(begin, end - begin);
        if (label.empty() || !std::ranges::all_of(label, [](char c) {
                return is_letter(c) || is_digit(c) || c == '-' || c == '_';
            })) {
            return false;
        }
        has_dot = has_dot || end < domain.size();
        begin = end + 1;
    }
    return has_dot;
}

}  // namespace onnxmap::check
