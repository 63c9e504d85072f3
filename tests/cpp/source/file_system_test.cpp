// On which file systems a file is mapped, on which it is read, and on which it is refused. The
// tests cannot mount them all, so the fstatfs of this file tells the type of file system.
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>

#include "contain/contained_open.hpp"
#include "contain/opened_text.hpp"
#include "opened.hpp"
#include "os/file.hpp"
#include "plain_os.hpp"
#include "source/source.hpp"
#include "temporary_folder.hpp"

namespace {

std::atomic<std::uint32_t> pretended = 0;  // 0: the real type
std::atomic<bool> fails = false;

// While this lives, all files are on a file system of this type.
class Pretend {
  public:
    explicit Pretend(std::uint32_t type) { pretended = type; }
    Pretend(const Pretend&) = delete;
    Pretend& operator=(const Pretend&) = delete;
    ~Pretend() { pretended = 0; }
};

}  // namespace

// Replaces the C library's function in the whole test program. Only the pretended type differs.
extern "C" int fstatfs(int descriptor, struct statfs* status) {
    if (fails) {
        errno = EIO;
        return -1;
    }
    const long result = ::syscall(SYS_fstatfs, descriptor, status);
    if (result == 0 && pretended != 0) {
        status->f_type = static_cast<decltype(status->f_type)>(pretended.load());
    }
    return static_cast<int>(result);
}

namespace onnxmap::test {

namespace {

struct FileSystem {
    const char* name;
    std::uint32_t type;
};

constexpr FileSystem kNetwork[] = {
    {"nfs", 0x6969},      {"cifs", 0xff534d42}, {"smb2", 0xfe534d42},   {"smb", 0x517b},
    {"fuse", 0x65735546}, {"9p", 0x01021997},   {"lustre", 0x0bd00bd0}, {"gpfs", 0x47504653},
    {"ceph", 0x00c36400}, {"afs", 0x5346414f},  {"coda", 0x73757245},
};

constexpr FileSystem kLocal[] = {
    {"ext4", 0xef53},        {"xfs", 0x58465342}, {"btrfs", 0x9123683e}, {"tmpfs", 0x01021994},
    {"overlay", 0x794c7630}, {"zfs", 0x2fc12fc1}, {"f2fs", 0xf2f52010},  {"squashfs", 0x73717368},
};

constexpr FileSystem kOfTheKernel[] = {
    {"proc", 0x9fa0},         {"sysfs", 0x62656572},      {"debugfs", 0x64626720},
    {"tracefs", 0x74726163},  {"securityfs", 0x73636673}, {"cgroup", 0x27e0eb},
    {"cgroup2", 0x63677270},  {"bpf", 0xcafe4a11},        {"pstore", 0x6165676c},
    {"configfs", 0x62656570}, {"efivarfs", 0xde5e81e4},   {"selinuxfs", 0xf97cff8c},
};

std::string kind(const std::string& path, source::IoMode mode) {
    const auto source = open_source(path, mode);
    static_cast<void>(source->feed());
    CHECK(as_text(source->resident(0, source->size())) == "weights");
    return source->kind();
}

}  // namespace

TEST_CASE("file_system: a file on the network is read, a local file is mapped") {
    ONNXMAP_NEEDS_LINUX("types of file systems");
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "weights");
    CHECK(kind(path, source::IoMode::automatic) == "mmap");
    for (const FileSystem& one : kNetwork) {
        CAPTURE(one.name);
        const Pretend pretend(one.type);
        CHECK(kind(path, source::IoMode::automatic) == "read");
        // An explicit mode is used on any file system.
        CHECK(kind(path, source::IoMode::mmap) == "mmap");
        CHECK(kind(path, source::IoMode::read) == "read");
    }
    for (const FileSystem& one : kLocal) {
        CAPTURE(one.name);
        const Pretend pretend(one.type);
        CHECK(kind(path, source::IoMode::automatic) == "mmap");
        CHECK(kind(path, source::IoMode::read) == "read");
    }
    fails = true;
    const std::string unknown = kind(path, source::IoMode::automatic);
    fails = false;
    CHECK(unknown == "mmap");
}

TEST_CASE("file_system: files of the kernel's own file systems are refused") {
    ONNXMAP_NEEDS_LINUX("types of file systems");
    const TemporaryFolder folder;
    folder.write("w.bin", "weights");
    const Roots roots = {os::Folder::open_shared(folder.path().string())};
    for (const FileSystem& one : kOfTheKernel) {
        CAPTURE(one.name);
        const Pretend pretend(one.type);
        CHECK(open_contained(roots, "w.bin") == refusal_text(contain::Refusal::not_regular));
        CHECK(open_contained(roots, "w.bin", {contain::LinkPolicy::trusted}) ==
              refusal_text(contain::Refusal::not_regular));
    }
    for (const FileSystem& one : kLocal) {
        CAPTURE(one.name);
        const Pretend pretend(one.type);
        CHECK(open_contained(roots, "w.bin") == "weights");
    }
}

TEST_CASE("file_system: a file on an unknown file system is refused") {
    ONNXMAP_NEEDS_LINUX("types of file systems");
    const TemporaryFolder folder;
    folder.write("w.bin", "weights");
    const Roots roots = {os::Folder::open_shared(folder.path().string())};
    for (const contain::LinkPolicy links :
         {contain::LinkPolicy::contained, contain::LinkPolicy::trusted}) {
        fails = true;
        const std::string found = open_contained(roots, "w.bin", {links});
        fails = false;
        CHECK(found == errno_text(EIO));
    }
}

}  // namespace onnxmap::test
