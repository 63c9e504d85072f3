// The mutator of the fuzz targets. Each change does what its name says, whatever the bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "fuzz/field_tree.hpp"
#include "fuzz/mutator.hpp"
#include "sample_models.hpp"
#include "sanitized.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

using fuzz::Change;
using fuzz::Field;
using Kind = Field::Kind;
using Fields = std::vector<Field>;

constexpr std::size_t kRoom = 128 << 10;

void visit(const Fields& fields, const std::function<void(const Field&, std::size_t)>& each,
           std::size_t depth = 0) {
    for (const Field& field : fields) {
        each(field, depth);
        visit(field.fields, each, depth + 1);
    }
}

std::size_t count(const Fields& fields, const std::function<bool(const Field&)>& wanted) {
    std::size_t found = 0;
    visit(fields, [&](const Field& field, std::size_t) { found += wanted(field); });
    return found;
}

std::size_t count(const Fields& fields) {
    return count(fields, [](const Field&) { return true; });
}

std::size_t depth_of(const Fields& fields) {
    std::size_t deepest = 0;
    visit(fields, [&](const Field&, std::size_t depth) { deepest = std::max(deepest, depth); });
    return deepest;
}

Fields tree(const Bytes& bytes) { return fuzz::read_fields(bytes, &onnx::message<"ModelProto">); }

// A model that offers something to every change: repeated messages, runs in pieces, a group.
Bytes sample() {
    const Bytes tensor = join(blob(8, "w"), scalar(1, 2), scalar(1, 3), scalar(2, 1),
                              blob(5, join(varint(1), varint(2))), blob(5, varint(3)),
                              blob(9, Bytes(8, 7)), fixed32(4, 0x3f80'0000));
    const Bytes group =
        join(tag(21, WireType::start_group), scalar(1, 5), tag(21, WireType::end_group));
    return join(scalar(1, 10), blob(7, join(blob(5, tensor), blob(2, "g"))), group,
                blob(7, blob(5, tensor)));
}

using Holds = std::function<bool(const Fields& before, const Fields& after, const Bytes& bytes)>;

bool same_multiset(const Fields& before, const Fields& after) {
    // Reordering moves fields, but neither adds nor removes any.
    std::multiset<std::uint64_t> one;
    std::multiset<std::uint64_t> other;
    visit(before, [&](const Field& field, std::size_t) { one.insert(field.number); });
    visit(after, [&](const Field& field, std::size_t) { other.insert(field.number); });
    return one == other;
}

bool is_group(const Field& field) { return field.kind == Kind::group; }
bool is_run(const Field& field) {
    return field.kind == Kind::bytes && field.number == 5 && field.table == nullptr;
}
bool is_overlong(const Field& field) {
    const auto is_long = [](std::uint64_t value, std::size_t width) {
        return width > varint(value).size();
    };
    return is_long(field.number << 3, field.tag_width) ||
           is_long(field.end_number << 3, field.end_width) ||
           (field.kind == Kind::varint && is_long(field.value, field.value_width)) ||
           (field.kind == Kind::bytes && is_long(field.bytes.size(), field.value_width));
}

struct Property {
    Change change;
    const char* what;
    Holds holds;
};

// For each change, what at least one mutant of the sample must show.
const std::vector<Property>& properties() {
    static const std::vector<Property> all = {
        {Change::insert_known, "one more field of the schema",
         [](const Fields& a, const Fields& b, const Bytes&) {
             return count(b) > count(a) && b.size() == a.size() && !same_multiset(a, b);
         }},
        {Change::insert_known, "a message with fields of its own",
         [](const Fields& a, const Fields& b, const Bytes&) { return count(b) > count(a) + 2; }},
        {Change::insert_unknown, "a field above the schema",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) { return f.number > 30; }) > 0;
         }},
        {Change::insert_unknown, "field number 0",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) { return f.number == 0 && f.kind != Kind::raw; }) >
                    0;
         }},
        {Change::remove, "one field less",
         [](const Fields& a, const Fields& b, const Bytes&) { return count(b) == count(a) - 1; }},
        {Change::duplicate, "a third graph",
         [](const Fields& a, const Fields& b, const Bytes&) { return b.size() == a.size() + 1; }},
        {Change::reorder, "the same fields in another order",
         [](const Fields& a, const Fields& b, const Bytes& bytes) {
             return bytes != sample() && count(a) == count(b) && same_multiset(a, b);
         }},
        {Change::split, "a graph in one more occurrence, with the same fields",
         [](const Fields& a, const Fields& b, const Bytes&) {
             const auto filled = [](const Field& f) { return f.number == 7 && !f.fields.empty(); };
             return count(b, filled) == count(a, filled) + 1 && count(b) == count(a) + 1;
         }},
        {Change::split, "a run in one more piece",
         [](const Fields& a, const Fields& b, const Bytes&) {
             const auto filled = [](const Field& f) { return is_run(f) && !f.bytes.empty(); };
             return count(b, filled) == count(a, filled) + 1;
         }},
        {Change::join, "two graphs in one",
         [](const Fields& a, const Fields& b, const Bytes&) { return b.size() == a.size() - 1; }},
        {Change::join, "two runs in one",
         [](const Fields& a, const Fields& b, const Bytes&) {
             return count(b, is_run) == count(a, is_run) - 1;
         }},
        {Change::repack, "dims as a run",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) {
                        return f.number == 1 && f.kind == Kind::bytes && f.bytes == Bytes{2, 3};
                    }) > 0;
         }},
        {Change::repack, "a run as single values",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) {
                        return f.number == 5 && f.kind == Kind::varint && f.value == 2;
                    }) > 0;
         }},
        {Change::wrap_in_group, "one more group",
         [](const Fields& a, const Fields& b, const Bytes&) {
             return count(b, is_group) == count(a, is_group) + 1 && count(b) == count(a) + 1;
         }},
        {Change::unwrap, "no group",
         [](const Fields& a, const Fields& b, const Bytes&) {
             return count(b, is_group) == 0 && count(b) == count(a) - 1;
         }},
        {Change::deepen, "a hundred levels of messages",
         [](const Fields&, const Fields& b, const Bytes&) {
             return depth_of(b) > 100 &&
                    count(b, [](const Field& f) { return f.table != nullptr; }) > 100;
         }},
        {Change::deepen, "a hundred levels of groups",
         [](const Fields&, const Fields& b, const Bytes&) {
             return depth_of(b) > 100 && count(b, is_group) > 100;
         }},
        {Change::change_wire_type, "a graph that is a number",
         [](const Fields&, const Fields& b, const Bytes&) {
             return std::any_of(b.begin(), b.end(), [](const Field& f) {
                 return f.number == 7 && f.kind == Kind::varint;
             });
         }},
        {Change::change_wire_type, "wire type 6 or 7",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) {
                        return f.kind == Kind::raw && (f.bytes[0] & 7) >= 6;
                    }) > 0;
         }},
        {Change::change_number, "the same fields, one with another number",
         [](const Fields& a, const Fields& b, const Bytes&) {
             return count(b) == count(a) && !same_multiset(a, b);
         }},
        {Change::make_overlong, "an over-long varint",
         [](const Fields& a, const Fields& b, const Bytes&) {
             return count(b, is_overlong) == count(a, is_overlong) + 1;
         }},
        {Change::make_overlong, "a varint of eleven bytes",
         [](const Fields&, const Fields&, const Bytes& bytes) {
             const Bytes eleven = repeat(9, {0x80});
             return std::search(bytes.begin(), bytes.end(), eleven.begin(), eleven.end()) !=
                    bytes.end();
         }},
        {Change::set_boundary, "2^63",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) { return f.value == 1ULL << 63; }) > 0;
         }},
        {Change::set_boundary, "a varint with bits above the 64th",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) { return f.kind == Kind::raw; }) > 0;
         }},
        {Change::miscount, "a length past the end",
         [](const Fields&, const Fields& b, const Bytes&) {
             return count(b, [](const Field& f) { return f.length_error != 0; }) > 0;
         }},
        {Change::miscount, "a length that ends too early",
         [](const Fields&, const Fields& b, const Bytes& bytes) {
             return bytes.size() == sample().size() && bytes != sample() &&
                    count(b, [](const Field& f) { return f.length_error != 0; }) == 0;
         }},
        {Change::cut, "fewer bytes",
         [](const Fields&, const Fields&, const Bytes& bytes) {
             return bytes.size() < sample().size();
         }},
        {Change::swap, "a tensor where a graph was",
         [](const Fields&, const Fields& b, const Bytes& bytes) {
             return bytes != sample() && std::any_of(b.begin(), b.end(), [](const Field& f) {
                        return f.number == 5 && f.has_length();
                    });
         }},
        {Change::graft, "a graph within a graph",
         [](const Fields& a, const Fields& b, const Bytes&) { return count(b) > count(a) + 5; }},
        {Change::grow, "more than 32 KiB by fields",
         [](const Fields& a, const Fields& b, const Bytes& bytes) {
             return bytes.size() > (32 << 10) && count(b) > count(a) + 100;
         }},
        {Change::grow, "more than 32 KiB by content",
         [](const Fields& a, const Fields& b, const Bytes& bytes) {
             return bytes.size() > (32 << 10) && count(b) <= count(a);
         }},
        {Change::change_bytes, "one byte less",
         [](const Fields&, const Fields&, const Bytes& bytes) {
             return bytes.size() == sample().size() - 1;
         }},
        {Change::change_bytes, "another byte",
         [](const Fields&, const Fields&, const Bytes& bytes) {
             return bytes.size() == sample().size() && bytes != sample();
         }},
    };
    return all;
}

}  // namespace

TEST_CASE("mutator: each change does what its name says") {
    const Bytes bytes = sample();
    const Fields before = tree(bytes);
    std::set<Change> tested;
    for (const Property& property : properties()) {
        bool seen = false;
        for (std::uint32_t seed = 0; seed < 3'000 && !seen; ++seed) {
            const Bytes mutant = fuzz::make_change(property.change, bytes, seed, kRoom);
            seen = property.holds(before, tree(mutant), mutant);
        }
        CHECK_MESSAGE(seen, std::string(property.what));
        tested.insert(property.change);
    }
    CHECK(tested.size() == fuzz::kChangeCount);
}

TEST_CASE("mutator: every change is drawn, one to four at a time") {
    std::set<Change> drawn;
    std::set<std::size_t> counts;
    for (std::uint32_t seed = 0; seed < 2'000; ++seed) {
        const auto changes = fuzz::changes_of(seed);
        drawn.insert(changes.begin(), changes.end());
        counts.insert(changes.size());
    }
    CHECK(drawn.size() == fuzz::kChangeCount);
    CHECK(counts == std::set<std::size_t>{1, 2, 3, 4});
}

TEST_CASE("mutator: the same seed gives the same mutant, other seeds give others") {
    constexpr std::uint32_t kSeeds = kSanitized ? 100 : 500;
    const Bytes bytes = varied_model();
    std::set<Bytes> different;
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
        const Bytes mutant = fuzz::mutate(bytes, seed, kRoom);
        CHECK(mutant == fuzz::mutate(bytes, seed, kRoom));
        different.insert(mutant);
    }
    CHECK(different.size() > kSeeds * 9 / 10);
}

TEST_CASE("mutator: a change that finds no place inserts a field") {
    for (std::size_t change = 0; change < fuzz::kChangeCount; ++change) {
        bool longer = false;
        for (std::uint32_t seed = 0; seed < 20; ++seed) {
            longer |= !fuzz::make_change(static_cast<Change>(change), {}, seed, 4096).empty();
        }
        CHECK(longer);
    }
}

TEST_CASE("mutator: no mutant is larger than allowed") {
    const Bytes bytes = sample();
    for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{20}, bytes.size(),
                                   bytes.size() + 3, std::size_t{4096}, std::size_t{40'000}}) {
        for (std::uint32_t seed = 0; seed < 60; ++seed) {
            REQUIRE(fuzz::mutate(bytes, seed, most).size() <= most);
            for (std::size_t change = 0; change < fuzz::kChangeCount; ++change) {
                const auto mutant =
                    fuzz::make_change(static_cast<Change>(change), bytes, seed, most);
                REQUIRE(mutant.size() <= most);
            }
        }
    }
}

TEST_CASE("mutator: accepts any bytes and any message type") {
    std::mt19937_64 random(9);
    std::vector<const wire::MessageTable*> roots{nullptr};
    for (const wire::MessageTable& table : onnx::kSchema.messages) roots.push_back(&table);
    for (std::uint32_t seed = 0; seed < (kSanitized ? 1'000 : 5'000); ++seed) {
        Bytes bytes(random() % 60);
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
        const auto mutant = fuzz::mutate(bytes, seed, 512, roots[seed % roots.size()]);
        REQUIRE(mutant.size() <= 512);
    }
    for (std::uint32_t seed = 0; seed < (kSanitized ? 10 : 40);
         ++seed) {  // nested as deeply as the bytes allow
        CHECK(fuzz::mutate(Bytes(30'000, 0x0b), seed, 40'000).size() <= 40'000);
        CHECK(fuzz::mutate(Bytes(30'000, 0x3a), seed, 40'000).size() <= 40'000);
    }
}

TEST_CASE("mutator: most mutants of a valid message are still trees of fields") {
    constexpr int kMutants = kSanitized ? 250 : 1'000;
    const Bytes bytes = varied_model();
    int whole = 0;
    for (int seed = 0; seed < kMutants; ++seed) {
        const auto fields = tree(fuzz::mutate(bytes, static_cast<std::uint32_t>(seed), kRoom));
        whole += count(fields, [](const Field& f) { return f.kind == Kind::raw; }) == 0 &&
                 count(fields, [](const Field& f) { return f.length_error != 0; }) == 0;
    }
    CHECK(whole > kMutants / 2);
}

}  // namespace onnxmap::test
