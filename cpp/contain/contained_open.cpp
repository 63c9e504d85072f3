#include "contain/contained_open.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::contain {

namespace {

// File systems whose regular files are doors to the kernel: reading may have effects, or show what
// belongs to the process. Source: linux/magic.h.
constexpr std::array<std::uint32_t, 22> kPseudoFileSystems = {
    0x9fa0,      // proc
    0x62656572,  // sysfs
    0x64626720,  // debugfs
    0x74726163,  // tracefs
    0x73636673,  // securityfs
    0x27e0eb,    // cgroup
    0x63677270,  // cgroup2
    0xcafe4a11,  // bpf
    0x6165676c,  // pstore
    0x62656570,  // configfs
    0xde5e81e4,  // efivarfs
    0xf97cff8c,  // selinuxfs
    0x43415d53,  // smackfs
    0x5a3c69f0,  // apparmorfs
    0x19800202,  // mqueue
    0x65735543,  // fusectl
    0x42494e4d,  // binfmt_misc
    0x6e667364,  // nfsd
    0x6e736673,  // nsfs
    0x7655821,   // resctrl
    0x1cd1,      // devpts
    0x09041934,  // anonymous inodes
};

bool on_pseudo_file_system(const os::Descriptor& object, const std::string& path) {
    struct statfs status{};
    // If nobody can say, it could be one.
    if (::fstatfs(object.number(), &status) != 0) throw FileError(errno, path);
    const auto type = static_cast<std::uint32_t>(status.f_type);
    return std::find(kPseudoFileSystems.begin(), kPseudoFileSystems.end(), type) !=
           kPseudoFileSystems.end();
}

// Throws Refused `being_replaced` if `found` (O_PATH) is another file than `file`.
void check_same_file(const os::Descriptor& found, const os::FileIdentity& file,
                     const std::string& path) {
    if (!os::identity_of(found.number(), path).same_file(file)) {
        throw Refused(Refusal::being_replaced, path);
    }
}

// By name, in the folder where it was found; it must be what was looked at.
os::File open_by_name(const Found& found, int flags, const std::string& path) {
    os::Descriptor opened = os::open_descriptor(
        [&] { return ::openat(found.folder->number(), found.name.c_str(), flags); });
    if (!opened && errno == ELOOP) throw Refused(Refusal::being_replaced, path);
    if (!opened) throw FileError(errno, path);
    check_same_file(opened, os::identity_of(found.object.number(), path), path);
    return {std::move(opened), path};
}

class Location final : public os::WayToFile {
  public:
    Location(std::shared_ptr<const ContainedOpen> opener, std::string relative_path)
        : opener_(std::move(opener)), relative_path_(std::move(relative_path)) {}

    [[nodiscard]] std::optional<os::File> open(const os::FileIdentity& file) const override {
        return opener_->open_again(relative_path_, file);
    }
    [[nodiscard]] os::FileIdentity look() const override { return opener_->look(relative_path_); }

  private:
    std::shared_ptr<const ContainedOpen> opener_;
    std::string relative_path_;
};

}  // namespace

std::shared_ptr<const os::WayToFile> way_by_location(std::shared_ptr<const ContainedOpen> opener,
                                                     std::string relative_path) {
    return std::make_shared<const Location>(std::move(opener), std::move(relative_path));
}

ContainedOpen::ContainedOpen(std::vector<std::shared_ptr<const os::Folder>> roots,
                             OpenPolicy policy)
    : roots_(std::move(roots)), policy_(policy) {}

std::string ContainedOpen::path_of(const std::string& relative_path) const {
    const std::string& base = roots_.front()->path();
    return base + (base.ends_with('/') ? "" : "/") + relative_path;
}

// One system call, for nearly all locations. Where it does not find the file, for whatever reason,
// the walk has the last word.
os::Descriptor ContainedOpen::find_by_kernel(const std::string& relative_path) const {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    if (policy_.links != LinkPolicy::trusted) {
        how.resolve |= RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    }
    if (policy_.links == LinkPolicy::strict) how.resolve |= RESOLVE_NO_SYMLINKS;
    const auto folder = roots_.front()->open();
    return os::open_descriptor([&] {
        return static_cast<int>(
            ::syscall(SYS_openat2, folder->number(), relative_path.c_str(), &how, sizeof how));
    });
}

Found ContainedOpen::find_by_steps(const std::string& relative_path,
                                   const std::string& path) const {
    try {
        if (policy_.links != LinkPolicy::trusted) {
            LinkWalk walk(roots_, policy_.links == LinkPolicy::contained);
            return walk.find(relative_path);
        }
        auto folder = roots_.front()->open();
        os::Descriptor object = os::open_descriptor(
            [&] { return ::openat(folder->number(), relative_path.c_str(), O_PATH | O_CLOEXEC); });
        if (!object) throw FileError(errno, path);
        return {std::move(object), std::move(folder), relative_path};
    } catch (const FileError& error) {
        throw FileError(error.code().value(), path);
    }
}

void ContainedOpen::judge(const os::Descriptor& object, const std::string& path) const {
    struct stat status{};
    if (::fstat(object.number(), &status) != 0) throw FileError(errno, path);
    if (S_ISDIR(status.st_mode)) throw FileError(EISDIR, path);
    if (!S_ISREG(status.st_mode) || on_pseudo_file_system(object, path)) {
        throw Refused(Refusal::not_regular, path);
    }
    const bool any_links = policy_.allow_hardlinks || policy_.links == LinkPolicy::trusted;
    if (status.st_nlink > 1 && !any_links) throw Refused(Refusal::has_hard_links, path);
}

os::File ContainedOpen::open(const std::string& relative_path) const {
    const std::string path = path_of(relative_path);
    return open_found(relative_path, path,
                      [&](const os::Descriptor& object) { judge(object, path); });
}

os::File ContainedOpen::open_again(const std::string& relative_path,
                                   const os::FileIdentity& file) const {
    const std::string path = path_of(relative_path);
    return open_found(relative_path, path,
                      [&](const os::Descriptor& object) { check_same_file(object, file, path); });
}

template <class Judge>
os::File ContainedOpen::open_found(const std::string& relative_path, const std::string& path,
                                   Judge&& judge) const {
    if (const os::Descriptor object = find_by_kernel(relative_path)) {
        judge(object);
        // If this throws, the name is not tried again: another file may have it now.
        if (auto file = os::File::open_found(object, path)) return std::move(*file);
    }
    const Found found = find_by_steps(relative_path, path);
    judge(found.object);
    if (auto file = os::File::open_found(found.object, path)) return std::move(*file);
    const int links = policy_.links == LinkPolicy::trusted ? 0 : O_NOFOLLOW;
    return open_by_name(found, os::kReadFlags | links, path);
}

os::FileIdentity ContainedOpen::look(const std::string& relative_path) const {
    const std::string path = path_of(relative_path);
    if (const os::Descriptor object = find_by_kernel(relative_path)) {
        return os::identity_of(object.number(), path);
    }
    return os::identity_of(find_by_steps(relative_path, path).object.number(), path);
}

}  // namespace onnxmap::contain
