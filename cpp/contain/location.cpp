#include "contain/location.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "os/folder.hpp"

namespace onnxmap::contain {

namespace {

// Bytes; Linux rejects longer paths, and longer names in a folder.
constexpr std::size_t kLongestPath = 4095;
constexpr std::size_t kLongestName = 255;

constexpr std::array<std::string_view, 6> kDevices = {"con", "prn",    "aux",
                                                      "nul", "conin$", "conout$"};
constexpr std::array<std::string_view, 3> kSuperscripts = {"\xc2\xb9", "\xc2\xb2", "\xc2\xb3"};

[[noreturn]] void unsafe(std::string why, const char* advice = "") {
    throw LocationFault{"ext.unsafe_path", std::move(why), advice};
}

[[noreturn]] void no_file(std::string why, const char* advice = "") {
    throw LocationFault{"ext.location", std::move(why), advice};
}

// COM1, LPT9 and similar names, also with a superscript digit.
bool is_port(std::string_view name) {
    if (!name.starts_with("com") && !name.starts_with("lpt")) return false;
    name.remove_prefix(3);
    if (name.size() == 1) return is_digit(name[0]);
    return std::ranges::find(kSuperscripts, name) != kSuperscripts.end();
}

// What Windows takes a name for if that is not a file of that name; otherwise null.
// Source: "Naming Files, Paths, and Namespaces" of the Windows documentation.
const char* other_meaning(std::string_view name) {
    if (name.empty() || name == "." || name == "..") return nullptr;
    // Two dots and more at the end are accepted: names like "w.." are in use.
    const std::string_view tail = name.substr(name.find_last_not_of(". ") + 1);
    if (tail == name || tail == "." || tail.find(' ') != std::string_view::npos) {
        return "drops dots and spaces at the end of a name";
    }
    const std::size_t colon = name.find(':');
    if (colon != std::string_view::npos && colon + 1 < name.size()) {
        return "opens a stream of another file";
    }
    std::string stem = lower(name.substr(0, name.find_first_of(".:")));
    stem.resize(stem.find_last_not_of(' ') + 1);
    const bool is_device = std::ranges::find(kDevices, stem) != kDevices.end() || is_port(stem);
    return is_device ? "opens a device" : nullptr;
}

// How deep below its folder a location is. A location that leaves the folder on the way is unsafe.
std::int64_t depth_of(std::string_view location, std::string_view separators) {
    std::int64_t depth = 0;
    os::for_each_component(location, separators, [&](std::string_view name) {
        if (name == "..") {
            if (--depth < 0) unsafe("outside the model directory");
        } else if (!name.empty() && name != ".") {
            ++depth;
        }
    });
    return depth;
}

bool has_drive(std::string_view location) noexcept {
    return location.size() >= 2 && location[1] == ':' && is_letter(location[0]);
}

}  // namespace

void check_location(std::string_view location) {
    constexpr std::string_view kPosix = "/";
    constexpr std::string_view kWindows = "/\\";
    if (location.empty()) no_file("is empty");
    if (location.find('\0') != std::string_view::npos) unsafe("NUL byte");
    if (location[0] == '/' || location[0] == '\\' || has_drive(location)) {
        unsafe("absolute", "a location is relative to the model directory");
    }
    // onnxruntime uses this name for memory of the process.
    if (location.find("_ORT_MEM_ADDR_") != std::string_view::npos) unsafe("a memory address");
    const std::int64_t depth = depth_of(location, kPosix);
    static_cast<void>(depth_of(location, kWindows));
    if (location.size() > kLongestPath) no_file("is too long");
    os::for_each_component(location, kPosix, [](std::string_view name) {
        if (name.size() > kLongestName) no_file("is too long");
    });
    os::for_each_component(location, kWindows, [](std::string_view name) {
        if (const char* const meaning = other_meaning(name)) {
            unsafe(in_quotes(name) + " is a reserved name: Windows " + meaning,
                   "rename the file, and change the location in the model");
        }
    });
    if (depth == 0 || location.ends_with("/."))
        no_file("is not a file but a directory", "name a file in it");
    if (location.ends_with('/')) {
        no_file("is not a file: a slash at the end means a directory",
                "leave the slash out in the model");
    }
}

bool is_safe_location(std::string_view location) {
    try {
        check_location(location);
        return true;
    } catch (const LocationFault&) {
        return false;
    }
}

}  // namespace onnxmap::contain
