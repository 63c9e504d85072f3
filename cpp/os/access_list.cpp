#include "os/access_list.hpp"

#include <cstddef>
#include <cstdint>

namespace onnxmap::os {

namespace {

// Source: linux/posix_acl_xattr.h. A version, then entries of eight bytes, all little-endian: a
// tag, rights, and the number of a user or group.
constexpr std::size_t kHeader = 4;
constexpr std::size_t kEntry = 8;
constexpr unsigned kVersion = 2;
constexpr unsigned kUser = 0x02;
constexpr unsigned kOwningGroup = 0x04;
constexpr unsigned kGroup = 0x08;
constexpr unsigned kMask = 0x10;
constexpr unsigned kOthers = 0x20;

constexpr unsigned kAll = 07;

unsigned two_bytes(std::string_view list, std::size_t at) {
    return static_cast<std::uint8_t>(list[at]) |
           static_cast<unsigned>(static_cast<std::uint8_t>(list[at + 1])) << 8;
}

struct Rights {
    unsigned group = 0;
    unsigned others = 0;
    unsigned mask = kAll;
    std::optional<unsigned> users = std::nullopt;   // what each named user has
    std::optional<unsigned> groups = std::nullopt;  // what each named group has
    std::size_t at_group = 0;                       // the offset of the group's rights
};

std::optional<Rights> rights_of(std::string_view list) {
    if (list.size() < kHeader || (list.size() - kHeader) % kEntry != 0) return std::nullopt;
    if (two_bytes(list, 0) != kVersion) return std::nullopt;
    Rights rights;
    for (std::size_t at = kHeader; at < list.size(); at += kEntry) {
        const unsigned right = two_bytes(list, at + 2) & kAll;
        switch (two_bytes(list, at)) {
            case kUser: rights.users = rights.users.value_or(kAll) & right; break;
            case kOwningGroup:
                rights.group = right;
                rights.at_group = at + 2;
                break;
            case kGroup: rights.groups = rights.groups.value_or(kAll) & right; break;
            case kMask: rights.mask = right; break;
            case kOthers: rights.others = right; break;
            default: break;
        }
    }
    if (rights.at_group == 0) return std::nullopt;
    return rights;
}

}  // namespace

std::optional<std::string> for_another_group(std::string_view list) {
    const auto rights = rights_of(list);
    if (!rights) return std::nullopt;
    std::string changed(list);
    changed[rights->at_group] = static_cast<char>(rights->group & rights->others);
    return changed;
}

// Without its entry, a user has the rights of the group or of the others, and the members of a
// group have those of the others.
unsigned without_list(std::string_view list, unsigned permissions) {
    const auto rights = rights_of(list);
    if (!rights) return permissions & 0700U;
    const unsigned users = rights->users ? *rights->users & rights->mask : kAll;
    const unsigned groups = rights->groups ? *rights->groups & rights->mask : kAll;
    const unsigned group = rights->group & rights->mask & users;
    const unsigned others = rights->others & users & groups;
    return (permissions & 0700U) | group << 3 | others;
}

}  // namespace onnxmap::os
