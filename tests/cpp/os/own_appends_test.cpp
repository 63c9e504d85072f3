#include "os/own_appends.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace onnxmap::test {

namespace {

// The state of a file after so many appends. No test shares a device with another.
os::FileIdentity state(std::uint64_t device, std::uint64_t appends, std::uint64_t inode = 1) {
    return {device, inode, 100 + appends, static_cast<std::int64_t>(appends), 7};
}

}  // namespace

TEST_CASE("own_appends: each earlier state leads to the newest one and to no other") {
    CHECK_FALSE(os::is_own_append(state(1, 0), state(1, 1)));
    for (std::uint64_t i = 0; i < 5; ++i) os::note_own_append(state(1, i), state(1, i + 1));
    for (std::uint64_t i = 0; i < 5; ++i) {
        CHECK(os::is_own_append(state(1, i), state(1, 5)));
        CHECK_FALSE(os::is_own_append(state(1, i), state(1, i + (i < 4 ? 1 : 2))));
    }
    CHECK_FALSE(os::is_own_append(state(1, 5), state(1, 0)));
    CHECK_FALSE(os::is_own_append(state(1, 0, 2), state(1, 5, 2)));
}

TEST_CASE("own_appends: a write by another process ends the chain") {
    os::note_own_append(state(2, 0), state(2, 1));
    os::note_own_append(state(2, 2), state(2, 3));
    CHECK(os::is_own_append(state(2, 2), state(2, 3)));
    CHECK_FALSE(os::is_own_append(state(2, 0), state(2, 3)));
    CHECK_FALSE(os::is_own_append(state(2, 1), state(2, 3)));
}

TEST_CASE("own_appends: a file that gets an earlier state again") {
    os::note_own_append(state(3, 0), state(3, 1));
    os::note_own_append(state(3, 1), state(3, 2));
    os::note_own_append(state(3, 0), state(3, 4));
    CHECK(os::is_own_append(state(3, 0), state(3, 4)));
    CHECK_FALSE(os::is_own_append(state(3, 1), state(3, 4)));
}

TEST_CASE("own_appends: the oldest states are forgotten, of one file or of many") {
    for (const bool one_file : {true, false}) {
        const std::uint64_t device = one_file ? 4 : 5;
        // Without a bound, this took a time that grows with the square.
        constexpr std::uint64_t kAppends = 10 * os::kMostOwnStates;
        const auto at = [&](std::uint64_t file, std::uint64_t appends) {
            return one_file ? state(device, file + appends) : state(device, appends, file);
        };
        for (std::uint64_t i = 0; i < kAppends; ++i) os::note_own_append(at(i, 0), at(i, 1));
        CHECK_FALSE(os::is_own_append(at(0, 0), one_file ? at(kAppends, 0) : at(0, 1)));
        const std::uint64_t kept = kAppends - os::kMostOwnStates / 2 + 1;
        CHECK(os::is_own_append(at(kept, 0), one_file ? at(kAppends, 0) : at(kept, 1)));
    }
}

}  // namespace onnxmap::test
