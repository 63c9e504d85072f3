// What opening a name gives, as one text to compare: the file's content, or why there is none.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

/// The first bytes of what an O_PATH descriptor shows, or why it cannot be read.
[[nodiscard]] inline std::string text_of(const os::Descriptor& object) {
    const std::string handle = "/proc/self/fd/" + std::to_string(object.number());
    const os::Descriptor opened(::open(handle.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::array<char, 100> text{};
    const ssize_t count = ::read(opened.number(), text.data(), text.size());
    return count < 0 ? errno_text(errno)
                     : std::string(text.data(), static_cast<std::size_t>(count));
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

/// What open() returns, "errno N" for a FileError, why it is refused, or the code of an Error.
template <class Open>
[[nodiscard]] std::string opened_text(Open&& open) {
    try {
        return std::forward<Open>(open)();
    } catch (const FileError& error) {
        return errno_text(error.code().value());
    } catch (const contain::Refused& refused) {
        return refusal_text(refused.reason);
    } catch (const Error& error) {
        return error.code;
    }
}

using Roots = std::vector<std::shared_ptr<const os::Folder>>;

[[nodiscard]] inline std::string walk(const Roots& roots, const std::string& location,
                                      bool follow_links = true) {
    return opened_text(
        [&] { return text_of(contain::LinkWalk(roots, follow_links).find(location).object); });
}

[[nodiscard]] inline std::string open_contained(const Roots& roots, const std::string& location,
                                                contain::OpenPolicy policy = {}) {
    return opened_text([&] {
        const os::File file = contain::ContainedOpen(roots, policy).open(location);
        std::string text(file.size(), '\0');
        file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
        return text;
    });
}

}  // namespace onnxmap::test
