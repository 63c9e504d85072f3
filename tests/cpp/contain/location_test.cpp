#include "contain/location.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

namespace onnxmap::test {

namespace {

// The code and text of the refusal; nothing if the location is accepted.
std::string verdict(std::string_view location) {
    try {
        contain::check_location(location);
    } catch (const contain::LocationFault& fault) {
        return std::string(fault.code) + ": " + fault.why;
    }
    return "";
}

bool says(std::string_view location, std::string_view code, std::string_view words) {
    const std::string found = verdict(location);
    return found.starts_with(code) && found.find(words) != std::string::npos;
}

bool is_unsafe(std::string_view location, std::string_view words) {
    return says(location, "ext.unsafe_path", words);
}

std::string nested(std::size_t folders, std::string_view name) {
    std::string path;
    for (std::size_t i = 0; i < folders; ++i) path += "d/";
    return path + std::string(name);
}

// What Windows makes of one component of a path. It drops a dot at the end of a component, and all
// dots and spaces at the end of the path. To be safe, this function also drops spaces behind every
// "..". Source: "File path formats on Windows systems", normalization, in the .NET documentation.
std::string as_windows_has_it(std::string name, bool is_last) {
    if (name == "." || name == "..") return name;
    const std::string without_spaces = name.substr(0, name.find_last_not_of(' ') + 1);
    if (without_spaces == "..") return "..";
    if (is_last) return name.substr(0, name.find_last_not_of(" .") + 1);
    if (name.ends_with('.') && !name.ends_with("..")) name.pop_back();
    return name;
}

// Whether a location is absolute, or begins with ".." after normalization.
bool leaves(const std::string& location, bool as_windows) {
    std::string text = location;
    if (as_windows) {
        std::ranges::replace(text, '\\', '/');
        const bool has_drive = text.size() > 1 && text[1] == ':' &&
                               std::isalpha(static_cast<unsigned char>(text[0])) != 0;
        if (has_drive) return true;
    }
    const std::filesystem::path path(text);
    if (path.is_absolute()) return true;
    std::filesystem::path plain;
    for (auto part = path.begin(); part != path.end(); ++part) {
        plain /= as_windows ? as_windows_has_it(part->string(), std::next(part) == path.end())
                            : part->string();
    }
    const std::filesystem::path normal = plain.lexically_normal();
    return normal.begin() != normal.end() && *normal.begin() == "..";
}

}  // namespace

TEST_CASE("location: plain names are accepted, even unusual ones") {
    for (const char* location : {"w.bin",
                                 "sub/w.bin",
                                 "./w.bin",
                                 "sub//w.bin",
                                 "sub/./w.bin",
                                 "sub/../w.bin",
                                 "a/b/../../w.bin",
                                 "a..b",
                                 "..w.bin",
                                 "w..",
                                 "w...",
                                 ".w",
                                 "...w",
                                 " w",
                                 "w w",
                                 "#w",
                                 "~w",
                                 "*",
                                 "w?",
                                 "-",
                                 "\xff\xfe",
                                 "\n",
                                 "\x1b[31m",
                                 "sub\\w.bin",
                                 "a\\..\\w.bin",
                                 "file:",
                                 "sub/w:",
                                 "nul_",
                                 "null",
                                 "con1",
                                 "com",
                                 "comx",
                                 "com10",
                                 "lpt\xc2\xb4",
                                 "auxiliary.bin",
                                 "my.nul",
                                 "_ORT_MEM_ADDR",
                                 "d/..w/x"}) {
        CAPTURE(location);
        CHECK(verdict(location) == "");
    }
}

TEST_CASE("location: text that leads out of the folder on POSIX or Windows is refused") {
    for (const char* location :
         {"..", "../x", "../", "a/../..", "a/../../x", "./../x", "a/./../../x", "a//../../x",
          "../model/w.bin", "a/b/../../../x", "..\\x", "..\\", "a\\..\\..\\x", "a/..\\..\\x",
          "a\\../..", "..\\..\\..\\windows\\system32", "a/b\\..\\..\\..\\c/d/e"}) {
        CAPTURE(location);
        CHECK(is_unsafe(location, "outside the model directory"));
    }
    // Out of the folder and in again is refused: a model cannot know the folder's name.
    CHECK(is_unsafe("../../a/b/c", "outside the model directory"));
}

TEST_CASE("location: text that is absolute on POSIX or Windows is refused") {
    for (const char* location :
         {"/", "/etc/passwd", "//x", "\\", "\\x", "\\\\server\\share", "\\\\?\\C:\\x",
          "\\\\.\\pipe\\x", "C:", "C:x", "c:\\x", "z:/x", "A:w.bin", "//?/C:/x"}) {
        CAPTURE(location);
        CHECK(is_unsafe(location, "absolute"));
    }
}

TEST_CASE("location: bytes and names with a special meaning are refused") {
    for (const std::string_view location :
         {std::string_view("w.bin\0evil", 10), std::string_view("\0", 1),
          std::string_view("w.bin\0/../../x", 14), std::string_view("w\0", 2)}) {
        CHECK(is_unsafe(location, "NUL byte"));
    }
    for (const char* location :
         {"*/_ORT_MEM_ADDR_/*", "_ORT_MEM_ADDR_", "x_ORT_MEM_ADDR_y", "sub/_ORT_MEM_ADDR_/w"}) {
        CAPTURE(location);
        CHECK(is_unsafe(location, "a memory address"));
    }
}

TEST_CASE("location: names that Windows reserves are refused") {
    for (const char* name : {"nul",          "NUL",
                             "Con",          "prn",
                             "aux",          "aux.bin",
                             "aux.tar.gz",   "com0",
                             "COM1",         "com9.txt",
                             "lpt1",         "LPT9",
                             "com\xc2\xb9",  "lpt\xc2\xb2.x",
                             "com\xc2\xb3",  "conin$",
                             "CONOUT$",      "nul ",
                             "nul .txt",     "con  .x",
                             "nul:",         "nul..",
                             "w.bin:stream", "ww:s:$DATA",
                             ":s",           "w ",
                             "w.bin ",       " ",
                             "w.",           "a.b.",
                             "...",          "....",
                             "w. ",          ".. ",
                             ". ",           ".. ."}) {
        for (const std::string& location :
             {std::string(name), std::string(name) + "/w.bin", "sub/" + std::string(name),
              "sub\\" + std::string(name), std::string(name) + "\\w.bin"}) {
            CAPTURE(location);
            CHECK(is_unsafe(location, "reserved name"));
        }
    }
}

TEST_CASE("location: the reason says what Windows makes of a reserved name") {
    CHECK(is_unsafe("sub/con", "'con' is a reserved name: Windows opens a device"));
    CHECK(is_unsafe("w.", "'w.' is a reserved name: Windows drops dots and spaces"));
    CHECK(is_unsafe("w.bin:s", "'w.bin:s' is a reserved name: Windows opens a stream"));
    CHECK(says("x.data/", "ext.location", "a slash at the end"));
    CHECK(says(".", "ext.location", "but a directory"));
}

TEST_CASE("location: text that names no file is refused") {
    CHECK(says("", "ext.location", "is empty"));
    for (const char* location : {".", "./", "./.", "sub/..", "sub/../", "w.bin/", "w.bin//", "sub/",
                                 "w.bin/.", "a/b/../..", "sub/./"}) {
        CAPTURE(location);
        CHECK(says(location, "ext.location", "is not a file"));
    }
    // The limits of the system, to the byte.
    CHECK(verdict(std::string(255, 'n')) == "");
    CHECK(says(std::string(256, 'n'), "ext.location", "too long"));
    CHECK(says("sub/" + std::string(256, 'n') + "/w", "ext.location", "too long"));
    CHECK(says(std::string(5000, 'n'), "ext.location", "too long"));
    CHECK(verdict(nested(2047, "w")) == "");  // 4095 bytes
    CHECK(says(nested(2047, "ww"), "ext.location", "too long"));
    // Unsafe text gets its own code, whatever its length.
    CHECK(is_unsafe("../" + std::string(5000, 'n'), "outside"));
}

TEST_CASE("location: random text that is accepted never leaves the folder") {
    constexpr std::string_view kParts[] = {"..",  ".",  "/",   "\\",   "a",   "b",  "w.bin", "...",
                                           "/..", "/.", "\\.", "\\..", "../", ":",  "C:",    " ",
                                           "nul", ". ", ".. ", "//",   "c",   "\t", "..a",   "a.."};
    std::mt19937_64 random(12);
    std::size_t accepted = 0;
    std::size_t refused = 0;
    for (int i = 0; i < 100'000; ++i) {
        std::string location;
        for (std::uint64_t left = 1 + random() % 8; left > 0; --left) {
            location += kParts[random() % std::size(kParts)];
        }
        const bool leads_out = leaves(location, false) || leaves(location, true);
        const std::string found = verdict(location);
        if (leads_out && !found.starts_with("ext.unsafe_path")) FAIL("accepted: " << location);
        ++(found.empty() ? accepted : refused);
    }
    CHECK(accepted > 5'000);
    CHECK(refused > 5'000);
}

TEST_CASE("location: random bytes are refused if they contain a forbidden one") {
    std::mt19937_64 random(13);
    for (int i = 0; i < 100'000; ++i) {
        std::string location(1 + random() % 12, 'x');
        for (char& c : location) {
            c = random() % 3 == 0 ? "./\\: \0"[random() % 6] : static_cast<char>(random());
        }
        const bool bad = location.find('\0') != std::string::npos || location.ends_with('/') ||
                         location.ends_with(' ') || leaves(location, false) ||
                         leaves(location, true);
        if (bad && verdict(location).empty()) FAIL("accepted: " << location);
    }
}

}  // namespace onnxmap::test
