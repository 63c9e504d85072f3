#include "check/imports.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace onnxmap::check {

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
