// Compares the pieces of edited messages with a plain list of fields.
#include "onnx/pieces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "caught.hpp"
#include "onnx/schema.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

using onnx::EncodedField;
using onnx::field;
using onnx::message;
using onnx::Pieces;
using List = std::shared_ptr<const Pieces>;

const wire::MessageTable& kGraph = message<"GraphProto">;
const wire::FieldRow& kNode = field<"GraphProto.node">;
const wire::FieldRow& kInput = field<"GraphProto.input">;
const wire::FieldRow& kName = field<"GraphProto.name">;

// Fields that tell each other apart, in memory that stays.
class Fields {
  public:
    EncodedField make(const wire::FieldRow& row) {
        store_.push_back(blob(row.number, std::to_string(store_.size())));
        return {store_.back(), &row};
    }
    EncodedField unknown() {
        store_.push_back(scalar(900, store_.size()));
        return {store_.back(), nullptr};
    }
    EncodedField held(const wire::FieldRow& row, std::size_t nbytes) {
        const auto content =
            std::make_shared<Bytes>(nbytes, static_cast<std::uint8_t>(store_.size()));
        store_.push_back(join(tag(row.number, WireType::length_delimited), varint(nbytes)));
        return {store_.back(), &row, onnx::HeldContent{*content, content}};
    }
    std::vector<EncodedField> many(const wire::FieldRow& row, std::size_t count) {
        std::vector<EncodedField> made;
        for (std::size_t i = 0; i < count; ++i) made.push_back(make(row));
        return made;
    }

  private:
    std::deque<Bytes> store_;
};

List list_of(const std::vector<EncodedField>& fields) {
    Pieces::Builder builder(kGraph, nullptr);
    builder.add(fields);
    return std::move(builder).finish();
}

std::vector<const std::uint8_t*> begins(const Pieces& pieces) {
    std::vector<const std::uint8_t*> found;
    Pieces::Walk walk(pieces);
    wire::Field each;
    while (walk.next(each)) found.push_back(each.begin);
    return found;
}

std::vector<const std::uint8_t*> begins(const std::vector<EncodedField>& fields) {
    std::vector<const std::uint8_t*> found;
    for (const EncodedField& each : fields) found.push_back(each.bytes.data());
    return found;
}

// The chunks are not public. Each is a range of memory that is asked for once.
void check_same(const Pieces& pieces, const std::vector<EncodedField>& expected) {
    REQUIRE(begins(pieces) == begins(expected));
    std::uint64_t nbytes = 0;
    for (const EncodedField& each : expected) {
        nbytes += each.bytes.size() + (each.content ? each.content->bytes.size() : 0);
    }
    CHECK(pieces.nbytes() == nbytes);
    for (const wire::FieldRow* row : {&kNode, &kInput, &kName}) {
        std::vector<EncodedField> of_row;
        std::ranges::copy_if(expected, std::back_inserter(of_row),
                             [&](const EncodedField& each) { return each.row == row; });
        REQUIRE(pieces.count(*row) == of_row.size());
        std::optional<Pieces::Place> next = pieces.find_from(*row, {});
        for (std::size_t i = 0; i < of_row.size(); ++i) {
            const Pieces::Place place = pieces.find(*row, i);
            REQUIRE(next == place);
            REQUIRE(pieces.encoded_at(place).bytes.data() == of_row[i].bytes.data());
            REQUIRE(pieces.encoded_at(place).row == row);
            REQUIRE(pieces.field_at(place).begin == of_row[i].bytes.data());
            if (of_row[i].content) {
                REQUIRE(pieces.field_at(place).bytes.data() == of_row[i].content->bytes.data());
                REQUIRE(pieces.encoded_at(place).content->owner == of_row[i].content->owner);
            }
            next = pieces.find_from(*row, {place.chunk, place.index + 1});
        }
        CHECK_FALSE(next);
        CHECK(code_of([&] { return pieces.find(*row, of_row.size()); }) == "edit.concurrent");
        const auto last = pieces.find_last(*row);
        REQUIRE(last.has_value() == !of_row.empty());
        if (last) CHECK(*last == pieces.find(*row, of_row.size() - 1));
    }
}

void insert_at(std::vector<EncodedField>& fields, std::size_t at,
               const std::vector<EncodedField>& added) {
    fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), added.begin(), added.end());
}

}  // namespace

TEST_CASE("pieces: fields are inserted before any field, around the size of a chunk") {
    for (const std::size_t count : {0U, 1U, 2U, 511U, 512U, 513U, 1024U, 1300U}) {
        Fields fields;
        const std::vector<EncodedField> before = fields.many(kNode, count);
        const List list = list_of(before);
        check_same(*list, before);
        for (std::size_t at = 0; at <= count; at += 1 + (at > 3 && at % 512 < 500 ? 39 : 0)) {
            for (const std::size_t more : {1U, 3U, 700U}) {
                const auto added = fields.many(kNode, more);
                std::optional<Pieces::Place> place;
                if (at < count) place = list->find(kNode, at);
                const List after = list->replace(0, place, added);
                std::vector<EncodedField> expected = before;
                insert_at(expected, at, added);
                REQUIRE(begins(*after) == begins(expected));
                REQUIRE(after->count(kNode) == expected.size());
            }
        }
        check_same(*list, before);  // a list never changes
    }
}

TEST_CASE("pieces: fields are removed at any positions") {
    std::mt19937_64 random(1);
    for (const std::size_t count : {1U, 2U, 512U, 513U, 1500U}) {
        for (const unsigned one_of : {1U, 2U, 40U, 600U}) {
            Fields fields;
            std::vector<EncodedField> before;
            std::vector<EncodedField> after;
            std::vector<std::uint64_t> gone;
            std::uint64_t ordinal = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const bool is_node = random() % 4 != 0;
                before.push_back(is_node             ? fields.make(kNode)
                                 : random() % 2 == 0 ? fields.unknown()
                                                     : fields.make(kInput));
                const bool goes = is_node && random() % one_of == 0;
                if (goes) gone.push_back(ordinal);
                if (is_node) ++ordinal;
                if (!goes) after.push_back(before.back());
            }
            const List list = list_of(before);
            check_same(*list->erase(kNode, gone), after);
            check_same(*list->erase(kNode, {}), before);
        }
    }
}

TEST_CASE("pieces: fields are replaced wherever they occur") {
    Fields fields;
    std::vector<EncodedField> before;
    for (int i = 0; i < 1200; ++i) {
        before.push_back(i % 100 == 50 ? fields.make(kName)
                         : i % 7 == 0  ? fields.unknown()
                                       : fields.make(kNode));
    }
    const List list = list_of(before);
    const auto added = fields.many(kName, 2);
    const Pieces::Rows rows = Pieces::rows(kGraph, kName);

    const List at_last = list->replace(rows, list->find_last(kName), added);
    std::vector<EncodedField> expected = before;
    insert_at(expected, 1150, added);
    std::erase_if(expected, [&](const EncodedField& each) {
        return each.row == &kName && each.bytes.data() != added[0].bytes.data() &&
               each.bytes.data() != added[1].bytes.data();
    });
    check_same(*at_last, expected);

    const List both = list->replace(rows | Pieces::rows(kGraph, kNode), std::nullopt, added);
    std::vector<EncodedField> rest;
    std::ranges::copy_if(before, std::back_inserter(rest),
                         [](const EncodedField& each) { return each.row == nullptr; });
    insert_at(rest, rest.size(), added);
    check_same(*both, rest);

    const List none = list_of(fields.many(kName, 3))->replace(rows, std::nullopt, {});
    check_same(*none, {});
    check_same(*none->replace(0, std::nullopt, added), added);
    check_same(*none->replace(rows, Pieces::Place{}, added), added);
}

TEST_CASE("pieces: content that a field holds elsewhere keeps its place") {
    Fields fields;
    std::vector<EncodedField> all;
    for (std::size_t i = 0; i < 1100; ++i) {
        all.push_back(i % 3 == 0 ? fields.held(kNode, i) : fields.make(kNode));
    }
    List list = list_of(all);
    check_same(*list, all);
    std::mt19937_64 random(2);
    for (int i = 0; i < 200; ++i) {
        const std::size_t at = random() % all.size();
        if (random() % 2 == 0) {
            const std::vector<EncodedField> one = {fields.held(kNode, random() % 100)};
            list = list->replace(0, list->find(kNode, at), one);
            insert_at(all, at, one);
        } else {
            const std::uint64_t ordinal = at;
            list = list->erase(kNode, {&ordinal, 1});
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
    check_same(*list, all);
    std::uint64_t ranges = 0;
    list->for_each_range([&](ByteView bytes) { ranges += bytes.size(); });
    CHECK(ranges == list->nbytes());
}

TEST_CASE("pieces: content is released with the last list that has it") {
    Fields fields;
    std::weak_ptr<const void> owner;
    List list;
    {
        const std::vector<EncodedField> one = {fields.held(kNode, 5)};
        owner = one[0].content->owner;
        list = list_of(one);
    }
    const List other = list->replace(0, std::nullopt, fields.many(kNode, 1));
    list.reset();
    CHECK_FALSE(owner.expired());
    const std::uint64_t first = 0;
    const List without = other->erase(kNode, {&first, 1});
    CHECK_FALSE(owner.expired());
    CHECK(without->count(kNode) == 1);
    list = other->erase(kNode, {&first, 1});
    const_cast<List&>(other).reset();
    CHECK(owner.expired());
}

TEST_CASE("pieces: the occurrences before the edit stay known") {
    Fields fields;
    const Bytes one = blob(2, "a");
    const Bytes two = blob(2, "b");
    const auto merged = std::make_shared<const Pieces>(std::vector<ByteView>{one, two});
    CHECK_FALSE(merged->edited());
    CHECK(merged->occurrences().size() == 2);
    Pieces::Builder builder(kGraph, merged);
    const List list = std::move(builder).finish();
    CHECK(list->edited());
    CHECK(list->merged() == merged);
    const List longer = list->replace(0, std::nullopt, fields.many(kNode, 600));
    CHECK(longer->merged() == merged);
    const std::uint64_t first = 0;
    CHECK(longer->erase(kNode, {&first, 1})->merged() == merged);
}

TEST_CASE("pieces: bytes that changed are errors") {
    Fields fields;
    Bytes bytes = blob(1, "node");
    const List list = list_of({{bytes, &kNode}});
    CHECK(list->field_at({}).text() == "node");
    bytes[1] = 60;
    CHECK(code_of([&] { return list->field_at({}); }) == "wire.length_overrun");
    CHECK(code_of([&] { return begins(*list); }) == "wire.length_overrun");
}

TEST_CASE("pieces: an edit shares all chunks but one, and there are never many chunks") {
    // A place names a chunk by its number, so the last place tells how many there are.
    const auto chunks = [](const Pieces& pieces) {
        return pieces.count(kNode) == 0 ? 0 : pieces.find_last(kNode)->chunk + 1;
    };
    Fields fields;
    std::mt19937_64 random(3);
    List list = list_of({});
    std::size_t count = 0;
    const EncodedField one = fields.make(kNode);
    const auto insert = [&](std::size_t at) {
        std::optional<Pieces::Place> place;
        if (at < count) place = list->find(kNode, at);
        list = list->replace(0, place, {&one, 1});
        ++count;
    };
    for (int i = 0; i < 10'000; ++i) insert(random() % (count + 1));
    CHECK(list->count(kNode) == 10'000);
    CHECK(chunks(*list) <= 2 * 10'000 / 256 + 1);
    // Erase nearly all, one by one, and then again and again a few that were inserted.
    while (count > 200) {
        const std::uint64_t at = random() % count--;
        list = list->erase(kNode, {&at, 1});
    }
    CHECK(chunks(*list) <= 3);
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 600; ++i) insert(random() % 3);
        std::vector<std::uint64_t> gone;
        for (std::uint64_t i = 1; i < 600; ++i) gone.push_back(i);
        list = list->erase(kNode, gone);
        count -= gone.size();
        CHECK(chunks(*list) <= 2 * count / 256 + 3);
    }
}

TEST_CASE("pieces: the error of an edit by another thread says what to do") {
    const auto error = error_of([]() -> int { onnx::fail_edited_meanwhile(); });
    REQUIRE(error);
    CHECK(std::string(error->what()).find("read it again") != std::string::npos);
    CHECK(std::string(error->what()).find("use a lock") != std::string::npos);
}

TEST_CASE("pieces: an insertion copies one chunk, however long the list is") {
    // Counted by the bytes that a list shares with the one before: what the chunks hold is not
    // public, but the owners of held content are counted.
    Fields fields;
    std::vector<EncodedField> all;
    const auto content = std::make_shared<Bytes>(4, std::uint8_t{1});
    const Bytes head = join(tag(1, WireType::length_delimited), varint(4));
    for (int i = 0; i < 20'000; ++i) {
        all.push_back({head, &kNode, onnx::HeldContent{*content, content}});
    }
    const List list = list_of(all);
    all.clear();
    const long before = content.use_count();
    const List after = list->replace(0, list->find(kNode, 10'000), fields.many(kInput, 1));
    CHECK(content.use_count() - before <= 512);
    CHECK(content.use_count() - before > 0);
}

}  // namespace onnxmap::test
