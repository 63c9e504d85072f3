#include "os/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "os/access_list.hpp"
#include "os/descriptor_pool.hpp"
#include "os/file_attributes.hpp"
#include "os/page_ranges.hpp"
#include "os/parallel.hpp"
#include "os/retried.hpp"
#include "os/write_calls.hpp"

namespace onnxmap::os {

namespace {

constexpr int kNewFileFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;

// A file that is replaced may hold secrets, so nobody else may read the new one before it has the
// same permissions. The system gives other files theirs: 0666 without the bits of the umask.
constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kEverybody = 0666;

constexpr unsigned kGroupBits = 070;

// Bytes that a thread copies before it takes the next ones, and those that it reads and writes at
// once: the processor's cache keeps them from one to the other.
constexpr std::uint64_t kPiece = 4 << 20;
constexpr std::uint64_t kWindow = 256 << 10;

}  // namespace

NewFile::NewFile(std::shared_ptr<const OutputFolder> folder, std::string name, std::string path,
                 std::optional<FileStatus> replaced)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      path_(std::move(path)),
      replaced_(replaced) {
    std::string temporary = unique_name("." + name_, kTemporary);
    const mode_t mode = replaced_ ? kOwnerOnly : kEverybody;
    Descriptor opened = open_descriptor([&] {
        return retried([&] {
            return write_calls->open(folder_->descriptor(), temporary.c_str(), kNewFileFlags, mode);
        });
    });
    if (!opened) throw FileError(errno, path_);
    descriptor_ = opened.release();
    temporary_ = std::move(temporary);
}

NewFile::~NewFile() {
    if (descriptor_ >= 0) static_cast<void>(write_calls->close(descriptor_));
    if (temporary_.empty()) return;
    static_cast<void>(write_calls->remove(folder_->descriptor(), temporary_.c_str()));
}

void NewFile::write(ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t count =
            retried([&] { return write_calls->write(descriptor_, bytes.data(), bytes.size()); });
        if (count < 0) throw FileError(errno, path_);
        if (count == 0) throw FileError(EIO, path_);  // no system does that, but it would loop
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

// Within the kernel, whole pages are copied as fast as memory, or their blocks are shared; a server
// may copy by itself. If bytes start elsewhere in their page than they did in the source, the
// kernel copies each page in two pieces, and threads that read and write are faster.
// NOLINTNEXTLINE(readability-make-member-function-const): the file changes
std::uint64_t NewFile::copy(const File& file, std::uint64_t offset, std::uint64_t nbytes) {
    const off_t position = ::lseek(descriptor_, 0, SEEK_CUR);
    const auto moved = offset - static_cast<std::uint64_t>(position);
    if (moved % page_size() != 0 && !file.on_network()) {
        if (!read_and_write(file, offset, nbytes, static_cast<std::uint64_t>(position))) return 0;
        return ::lseek(descriptor_, static_cast<off_t>(nbytes), SEEK_CUR) < 0 ? 0 : nbytes;
    }
    const ssize_t count = retried([&] {
        return write_calls->copy(file.descriptor(), static_cast<off_t>(offset), descriptor_,
                                 nbytes);
    });
    return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

bool NewFile::read_and_write(const File& file, std::uint64_t offset, std::uint64_t nbytes,
                             std::uint64_t position) const {
    std::atomic<bool> failed = false;
    for_each_range(nbytes, kPiece, [&](std::uint64_t begin, std::uint64_t end) {
        const auto window = std::make_unique_for_overwrite<std::uint8_t[]>(kWindow);
        while (begin < end && !failed.load(std::memory_order_relaxed)) {
            // Whole pages are written faster, so the first window ends with a page.
            const std::uint64_t count =
                std::min(end - begin, kWindow - (position + begin) % page_size());
            const std::span bytes(window.get(), count);
            try {
                file.read(offset + begin, bytes);
            } catch (const std::exception&) {
                failed = true;
                return;
            }
            if (write_all_at(descriptor_, bytes, position + begin) != 0) failed = true;
            begin += count;
        }
    });
    return !failed;
}

bool NewFile::skip(std::uint64_t nbytes) {
    if (nbytes == 0) return true;
    if (::lseek(descriptor_, static_cast<off_t>(nbytes - 1), SEEK_CUR) < 0) return false;
    constexpr std::uint8_t kLast = 0;  // the file may end here
    write({&kLast, 1});
    return true;
}

void NewFile::finish(bool sync) {
    if (replaced_) set_permissions();
    identity_ = status_of(descriptor_, path_).identity;
    if (sync && retried([&] { return write_calls->sync(descriptor_); }) != 0) {
        throw FileError(errno, path_);
    }
    // A network file system may report a full disk here. After EINTR the descriptor is closed, and
    // no write has failed.
    if (write_calls->close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
        throw FileError(errno, path_);
    }
}

// At no moment the file may be open to anybody who could not open the old one. It is the owner's
// alone until its ACL or its mode is set.
void NewFile::set_permissions() {
    const FileStatus status = status_of(descriptor_, path_);
    const bool has_group =
        status.group == replaced_->group ||
        write_calls->set_owner(descriptor_, static_cast<uid_t>(-1), replaced_->group) == 0;
    const auto attributes = folder_->attributes_of(name_);
    const std::string* list = nullptr;
    for (const FileAttribute& each : attributes.value_or(std::vector<FileAttribute>())) {
        if (each.name == kAccessList) continue;
        static_cast<void>(write_calls->set_attribute(descriptor_, each.name.c_str(),
                                                     each.value.data(), each.value.size()));
    }
    if (attributes) {
        const auto found = std::ranges::find(*attributes, kAccessList, &FileAttribute::name);
        if (found != attributes->end()) list = &found->value;
    }
    if (list == nullptr || !set_list(*list, has_group)) {
        unsigned permissions = replaced_->permissions;
        if (list != nullptr) permissions = without_list(*list, permissions);
        // Another group must not get more than everybody has. If the system does not tell whether
        // there is an ACL, the bits of the group may be its mask.
        if (!has_group || !attributes) permissions &= ~kGroupBits | permissions << 3;
        set_mode(permissions);
    }
    if (status.user != replaced_->user) {
        static_cast<void>(
            write_calls->set_owner(descriptor_, replaced_->user, static_cast<gid_t>(-1)));
    }
}

// Gives the file the ACL of the old one. False if the system refuses.
// NOLINTNEXTLINE(readability-make-member-function-const): the file changes
bool NewFile::set_list(const std::string& list, bool has_group) {
    const std::optional<std::string> own = has_group ? list : for_another_group(list);
    return own &&
           write_calls->set_attribute(descriptor_, kAccessList, own->data(), own->size()) == 0;
}

// The folder may have given the file an ACL of its own, which a mode would bring to life.
void NewFile::set_mode(unsigned permissions) {
    if (write_calls->remove_attribute(descriptor_, kAccessList) != 0 && errno != ENODATA &&
        errno != ENOTSUP && errno != ENOSYS) {
        permissions &= ~kGroupBits;
    }
    if (retried([&] {
            return write_calls->set_mode(descriptor_, static_cast<mode_t>(permissions));
        }) != 0) {
        throw FileError(errno, path_);
    }
}

void NewFile::replace() {
    folder_->rename(temporary_, *folder_, name_, path_);
    temporary_.clear();
}

void NewFile::take_new_name() {
    folder_->rename_to_new(temporary_, *folder_, name_, path_);
    temporary_.clear();
}

}  // namespace onnxmap::os
