#include "os/access_list.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace onnxmap::test {

namespace {

struct Rights {
    unsigned user = 6;  // the owner
    unsigned group = 4;
    unsigned others = 0;
    unsigned mask = 7;
    std::optional<unsigned> named_user = std::nullopt;
    std::optional<unsigned> named_group = std::nullopt;
};

void add(std::string& list, unsigned tag, unsigned rights, unsigned number = 0xFFFFFFFF) {
    for (const unsigned value : {tag, rights}) {
        list += static_cast<char>(value & 0xFF);
        list += static_cast<char>(value >> 8);
    }
    for (int i = 0; i < 4; ++i) list += static_cast<char>(number >> 8 * i & 0xFF);
}

// As the kernel stores a list: the entries in the order of their tags.
std::string list_of(const Rights& rights) {
    std::string list("\x02\x00\x00\x00", 4);
    add(list, 0x01, rights.user);
    if (rights.named_user) add(list, 0x02, *rights.named_user, 1000);
    add(list, 0x04, rights.group);
    if (rights.named_group) add(list, 0x08, *rights.named_group, 1000);
    add(list, 0x10, rights.mask);
    add(list, 0x20, rights.others);
    return list;
}

bool is_within(unsigned rights, unsigned most) { return (rights & ~most) == 0; }

}  // namespace

TEST_CASE("access_list: without the list nobody gets more than it grants") {
    std::size_t open = 0;
    for (unsigned bits = 0; bits < 01000; ++bits) {
        Rights rights{6, bits >> 6, bits >> 3 & 7, bits & 7};
        for (unsigned named = 0; named < 0400; ++named) {
            // 8 stands for no such entry; a few rights show all that matter.
            const unsigned user = named >> 4;
            const unsigned group = named & 15;
            if (user > 8 || group > 8) continue;
            rights.named_user = user < 8 ? std::optional(user) : std::nullopt;
            rights.named_group = group < 8 ? std::optional(group) : std::nullopt;
            const unsigned made = os::without_list(list_of(rights), 0660);
            const unsigned of_group = made >> 3 & 7;
            const unsigned of_others = made & 7;
            bool sound = made >> 6 == 6 && is_within(of_group, rights.group & rights.mask) &&
                         is_within(of_others, rights.others);
            // The named user may be in the group or not; members of a named group are others now.
            if (rights.named_user) {
                const unsigned most = *rights.named_user & rights.mask;
                sound = sound && is_within(of_group, most) && is_within(of_others, most);
            }
            if (rights.named_group) {
                sound = sound && is_within(of_others, *rights.named_group & rights.mask);
            }
            if (!sound) CHECK(sound);
            open += of_group != 0;
        }
    }
    CHECK(open > 0);
}

TEST_CASE("access_list: a plain list keeps the rights of the group and of the others") {
    CHECK(os::without_list(list_of({6, 4, 4, 7}), 0674) == 0644);
    CHECK(os::without_list(list_of({6, 6, 0, 4}), 0640) == 0640);
}

TEST_CASE("access_list: another group gets what everybody has") {
    for (const unsigned others : {0U, 4U, 6U}) {
        const auto changed = os::for_another_group(list_of({6, 6, others, 7, 5, 3}));
        REQUIRE(changed);
        CHECK(*changed == list_of({6, others, others, 7, 5, 3}));
    }
}

TEST_CASE("access_list: bytes that are no list") {
    const std::string good = list_of({});
    std::string other_version = good;
    other_version[0] = '\x03';
    std::string no_group("\x02\x00\x00\x00", 4);
    add(no_group, 0x20, 4);
    for (const std::string& bytes : {std::string(), std::string("\x02"), good.substr(0, 11),
                                     good + "x", other_version, no_group}) {
        CHECK(!os::for_another_group(bytes));
        CHECK(os::without_list(bytes, 0664) == 0600);
    }
}

}  // namespace onnxmap::test
