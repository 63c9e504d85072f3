#include "os/file_system.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "base/error.hpp"

namespace onnxmap::os {

namespace {

// Source: statfs(2) and linux/magic.h; Lustre, GPFS and Ceph from their own headers.
constexpr std::array<std::uint32_t, 12> kNetworkFileSystems = {
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
    0x517b,      // SMB
    0x65735546,  // FUSE
    0x01021997,  // 9p
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x00c36400,  // Ceph
    0x5346414f,  // AFS
    0x6b414653,  // kAFS
    0x73757245,  // Coda
};

// File systems whose regular files are interfaces to the kernel: reading may have effects, or show
// data of the process. Source: linux/magic.h.
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

bool is_one_of(std::span<const std::uint32_t> types, const struct statfs& status) noexcept {
    return std::ranges::find(types, static_cast<std::uint32_t>(status.f_type)) != types.end();
}

}  // namespace

bool on_network(int descriptor) noexcept {
    struct statfs status{};
    return ::fstatfs(descriptor, &status) == 0 && is_one_of(kNetworkFileSystems, status);
}

bool leads_to_kernel(int descriptor, const FileStatus&, std::uint64_t, const std::string& path) {
    struct statfs status{};
    // If the system does not report the kind, the file could be one.
    if (::fstatfs(descriptor, &status) != 0) throw FileError(errno, path);
    return is_one_of(kPseudoFileSystems, status);
}

}  // namespace onnxmap::os
