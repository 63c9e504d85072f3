// The result of opening a name as one text to compare: the file's content, or the error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "contain/contained_open.hpp"
#include "contain/link_walk.hpp"
#include "contain/refusal.hpp"

namespace onnxmap::test {

[[nodiscard]] inline std::string errno_text(int number) {
    return "errno " + std::to_string(number);
}

[[nodiscard]] inline std::string refusal_text(contain::Refusal reason) {
    switch (reason) {
        case contain::Refusal::leads_outside: return "leads outside";
        case contain::Refusal::is_link: return "is a link";
        case contain::Refusal::has_hard_links: return "has hard links";
        case contain::Refusal::not_regular: return "not regular";
        case contain::Refusal::being_replaced: return "being replaced";
    }
    return "?";
}

inline const std::string kOutside = refusal_text(contain::Refusal::leads_outside);

/// What open() returns; or "errno N" for a FileError, the reason of a refusal, or the code of an
/// Error.
template <class Open>
[[nodiscard]] std::string opened_text(Open&& open) {
    try {
        return std::forward<Open>(open)();
    } catch (const FileError& error) {
        return errno_text(error.number);
    } catch (const contain::Refused& refused) {
        return refusal_text(refused.reason);
    } catch (const Error& error) {
        return error.code;
    }
}

using Roots = std::vector<std::shared_ptr<const os::Folder>>;

[[nodiscard]] inline std::string text_of(const os::File& file) {
    std::string text(file.size(), '\0');
    file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    return text;
}

[[nodiscard]] inline std::string text_of(const os::FoundObject& found) {
    const auto file = found.open_by_name(found.name());
    return file ? text_of(*file) : refusal_text(contain::Refusal::being_replaced);
}

[[nodiscard]] inline std::string walk(const Roots& roots, const std::string& location,
                                      bool follow_links = true) {
    return opened_text(
        [&] { return text_of(contain::LinkWalk(roots, follow_links).find(location)); });
}

[[nodiscard]] inline std::string open_contained(const Roots& roots, const std::string& location,
                                                contain::OpenPolicy policy = {}) {
    return opened_text(
        [&] { return text_of(contain::ContainedOpen(roots, policy).open(location)); });
}

}  // namespace onnxmap::test
