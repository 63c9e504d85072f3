#include "os/output_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/error.hpp"
#include "os/descriptor_pool.hpp"
#include "os/folder.hpp"
#include "os/random_number.hpp"
#include "os/retried.hpp"
#include "os/stat.hpp"
#include "os/write_calls.hpp"

namespace onnxmap::os {

namespace {

// Bytes. File systems allow 255, some only 143, and what is added needs some thirty.
constexpr std::size_t kMostOfName = 100;

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kRandomLetters = 8;

// The beginning of a name, without a part of a UTF-8 character at its end.
std::string_view beginning_of(std::string_view name) {
    if (name.size() <= kMostOfName) return name;
    std::size_t end = kMostOfName;
    while (end > kMostOfName - 3 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
    return name.substr(0, end);
}

bool lacks_renames_to_new(int number) noexcept {
    return number == ENOSYS || number == EINVAL || number == EPERM || number == ENOTSUP;
}

bool lacks_links(int number) noexcept {
    return number == ENOSYS || number == EPERM || number == ENOTSUP || number == EMLINK ||
           number == EACCES;
}

Descriptor open_in(int folder, const std::string& name, int at_link, const std::string& path) {
    Descriptor opened = open_descriptor([&] {
        return retried([&] {
            return write_calls->open(folder, name.c_str(),
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | at_link, 0);
        });
    });
    if (!opened) throw FileError(errno, path);
    return opened;
}

}  // namespace

std::string unique_name(std::string_view name, std::string_view suffix) {
    std::string result(beginning_of(name));
    result += '.';
    std::uint64_t random = random_number();
    for (std::size_t i = 0; i < kRandomLetters; ++i, random /= kLetters.size())
        result += kLetters[random % kLetters.size()];
    return result.append(suffix);
}

bool is_aside_of(std::string_view aside, std::string_view name) noexcept {
    if (!aside.ends_with(kAsideEnd)) return false;
    const std::string_view beginning = beginning_of(name);
    return name.empty() ||
           (aside.size() == beginning.size() + 1 + kRandomLetters + kAsideEnd.size() &&
            aside.starts_with(beginning) && aside[beginning.size()] == '.');
}

std::optional<std::int64_t> last_change_of(const std::string& path) noexcept {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return changed_ns(status);
}

OutputFolder::OutputFolder(const std::string& folder_path, const std::string& path)
    : descriptor_(open_in(AT_FDCWD, folder_path, 0, path)),
      identity_(status_of(descriptor(), path).identity) {}

OutputFolder::OutputFolder(const OutputFolder& parent, const std::string& name,
                           const std::string& path)
    : descriptor_(open_in(parent.descriptor(), name, O_NOFOLLOW, path)),
      identity_(status_of(descriptor(), path).identity) {}

bool OutputFolder::make_folder(const std::string& name, const std::string& path) const {
    if (write_calls->make_folder(descriptor(), name.c_str()) == 0) return true;
    if (errno != EEXIST) throw FileError(errno, path);
    return false;
}

void OutputFolder::remove_folder(const std::string& name) const noexcept {
    write_calls->remove_folder(descriptor(), name.c_str());
}

std::vector<std::string> OutputFolder::names(const std::string& path) const {
    std::vector<std::string> names;
    for_each_name(descriptor_, path, [&](std::string_view name, bool) {
        names.emplace_back(name);
        return true;
    });
    return names;
}

FoundObject OutputFolder::find(const std::string& name, AtLink at_link,
                               const std::string& path) const {
    return {std::shared_ptr<const Descriptor>(std::shared_ptr<void>(), &descriptor_), name, at_link,
            path};
}

std::optional<FileStatus> OutputFolder::look(const std::string& name,
                                             const std::string& path) const {
    try {
        return find(name, AtLink::the_link, path).status();
    } catch (const FileError& error) {
        if (error.number == ENOENT) return std::nullopt;
        throw;
    }
}

// To root no mode forbids anything, so the owner's bit is asked first.
bool OutputFolder::is_protected(const std::string& name, const FileStatus& found) const {
    return found.kind == FileKind::regular &&
           ((found.permissions & S_IWUSR) == 0 ||
            (::faccessat(descriptor(), name.c_str(), W_OK, AT_EACCESS) != 0 && errno == EACCES));
}

std::optional<std::vector<FileAttribute>> OutputFolder::attributes_of(
    const std::string& name) const {
    try {
        const FoundObject found = find(name, AtLink::the_link, name);
        if (found.status().kind == FileKind::regular) return os::attributes_of(found.handle());
    } catch (const FileError&) {
        // Nothing is known of it.
    }
    return std::nullopt;
}

void OutputFolder::rename(const std::string& from, const OutputFolder& to_folder,
                          const std::string& to, const std::string& path) const {
    const int there = to_folder.descriptor();
    if (write_calls->rename(descriptor(), from.c_str(), there, to.c_str()) != 0) {
        throw FileError(errno, path);
    }
}

void OutputFolder::rename_to_new(const std::string& from, const OutputFolder& to_folder,
                                 const std::string& to, const std::string& path) const {
    const int there = to_folder.descriptor();
    if (write_calls->rename_to_new(descriptor(), from.c_str(), there, to.c_str()) == 0) return;
    if (!lacks_renames_to_new(errno)) throw FileError(errno, path);
    if (!link(from, to_folder, to, path)) {
        if (to_folder.look(to, path)) throw FileError(EEXIST, path);
        if (write_calls->rename(descriptor(), from.c_str(), there, to.c_str()) == 0) return;
        throw FileError(errno, path);
    }
    if (write_calls->remove(descriptor(), from.c_str()) == 0) return;
    const int number = errno;
    // A file with two names would be refused as external data.
    static_cast<void>(write_calls->remove(there, to.c_str()));
    throw FileError(number, path);
}

bool OutputFolder::link(const std::string& from, const OutputFolder& to_folder,
                        const std::string& to, const std::string& path) const {
    const int there = to_folder.descriptor();
    if (write_calls->link(descriptor(), from.c_str(), there, to.c_str()) == 0) return true;
    if (!lacks_links(errno)) throw FileError(errno, path);
    return false;
}

void OutputFolder::remove(const std::string& name, const std::string& path) const {
    if (write_calls->remove(descriptor(), name.c_str()) != 0) throw FileError(errno, path);
}

void OutputFolder::sync(const std::string& path) const {
    if (retried([&] { return write_calls->sync(descriptor()); }) == 0) return;
    if (errno != EINVAL && errno != ENOTSUP) throw FileError(errno, path);
}

}  // namespace onnxmap::os
