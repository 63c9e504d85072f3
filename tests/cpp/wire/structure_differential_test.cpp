// Compares the structure pass with the naive parser for every prefix, every flipped bit and random
// mutants of sample models. The bytes come from memory and from the most unhelpful feeds.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "feeds.hpp"
#include "placed_bytes.hpp"
#include "sample_models.hpp"
#include "sanitized.hpp"
#include "structure_of.hpp"

namespace onnxmap::test {

namespace {

const wire::MessageTable& model_table() { return onnx::message<"ModelProto">; }

std::vector<Bytes> samples() {
    const Bytes long_runs =
        blob(7, blob(5, join(blob(7, repeat(30, varint(300))), blob(9, Bytes(40, 7)),
                             blob(5, repeat(4, varint(UINT64_MAX))), blob(8, "name"))));
    return {tiny_model(), varied_model(), join(tiny_model(), tiny_model()), long_runs,
            nested({7, 1, 5, 6, 1, 5, 6, 1, 5, 5}, scalar(1, 5))};
}

std::string in_hex(ByteView bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

// Whether the index agrees with the list: how often each field occurs, and where some do.
bool same_occurrences(const wire::Occurrences& index, const wire::MessageTable& table,
                      const std::vector<Occurrence>& list) {
    for (std::size_t position = 0; position < table.fields.size(); ++position) {
        const auto& entry = index.at(position);
        std::uint64_t count = 0;
        std::size_t checkpoint = 0;
        for (const Occurrence& one : list) {
            if (one.row != &table.fields[position]) continue;
            if (checkpoint < entry.checkpoints.size() &&
                entry.checkpoints[checkpoint].ordinal == count) {
                if (entry.checkpoints[checkpoint++].offset != one.offset) return false;
            }
            ++count;
        }
        if (entry.count != count) return false;
        if (checkpoint != entry.checkpoints.size()) return false;
    }
    return true;
}

// What differs between the pass through this feed and the reference; empty if they agree.
std::string difference(ByteFeed& feed, const ReferenceParser& reference,
                       const wire::PassOptions& options) {
    try {
        const wire::Structure structure = model_structure(feed, options);
        if (reference.verdict != Verdict{}) return "accepted; reference " + reference.verdict.code;
        if (!same_occurrences(structure.fields, model_table(), reference.fields)) {
            return "occurrences of the root differ";
        }
        if (!same_occurrences(structure.child, onnx::message<"GraphProto">, reference.child)) {
            return "occurrences of the graph differ";
        }
        return "";
    } catch (const Error& error) {
        const Verdict verdict{error.code, error.offset.value_or(UINT64_MAX)};
        if (verdict == reference.verdict) return "";
        return verdict.code + " at " + std::to_string(verdict.offset) + "; reference " +
               reference.verdict.code + " at " + std::to_string(reference.verdict.offset);
    }
}

class Comparison {
  public:
    explicit Comparison(const wire::PassOptions& options) : options_(options) {}

    void compare(const Bytes& bytes) {
        const ReferenceParser reference(bytes, onnx::kSchema, model_table(), options_);
        accepted += reference.verdict == Verdict{};
        ++compared;
        const HeapCopy exact(bytes);
        MemoryFeed memory(exact.view());
        check(memory, reference, bytes, "memory");
        LeastFeed least(bytes);
        check(least, reference, bytes, "least");
        ScribblingFeed scribbling(bytes, compared);
        check(scribbling, reference, bytes, "scribbling");
        MemoryFeed guarded(pages_.place(bytes));
        check(guarded, reference, bytes, "page end");
    }

    std::size_t accepted = 0;
    std::size_t compared = 0;

  private:
    void check(ByteFeed& feed, const ReferenceParser& reference, const Bytes& bytes,
               const char* how) {
        const std::string found = difference(feed, reference, options_);
        REQUIRE_MESSAGE(found.empty(), how << ": " << found << ", for " << in_hex(bytes));
    }

    const wire::PassOptions options_;
    GuardedPages pages_{64 << 10};
};

void flip(Bytes& bytes, std::size_t bit) {
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << bit % 8));
}

Bytes mutated(const Bytes& sample, std::mt19937_64& random) {
    static const std::vector<Bytes> kTricks = {
        {0x80},
        {0xff},
        {0x00},
        {0x0b},
        {0x0c},
        {0x3a},
        {0x7f},
        repeat(10, {0x80}),
        varint(1ULL << 63),
        varint(1ULL << 35),
        varint(3, 6),
        {0x3a, 0x00},
        {0x0e},
        {0x07},
    };
    Bytes bytes = sample;
    for (std::uint64_t edits = 1 + random() % 3; edits > 0 && !bytes.empty(); --edits) {
        const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
        const auto place = bytes.begin() + at;
        const auto length = std::min<std::ptrdiff_t>(1 + static_cast<std::ptrdiff_t>(random() % 12),
                                                     bytes.end() - place);
        switch (random() % 5) {
            case 0: flip(bytes, random() % (8 * bytes.size())); break;
            case 1: bytes.erase(place, place + length); break;
            case 2: {
                const Bytes part(place, place + length);
                const auto to = static_cast<std::ptrdiff_t>(random() % bytes.size());
                bytes.insert(bytes.begin() + to, part.begin(), part.end());
                break;
            }
            case 3: {
                const Bytes& trick = kTricks[random() % kTricks.size()];
                bytes.insert(place, trick.begin(), trick.end());
                break;
            }
            default: *place = static_cast<std::uint8_t>(random());
        }
    }
    return bytes;
}

}  // namespace

TEST_CASE("structure: every prefix agrees with the naive parser") {
    Comparison comparison(model_options());
    for (const Bytes& sample : samples()) {
        for (std::size_t size = 0; size <= sample.size(); ++size) {
            comparison.compare(
                {sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(size)});
        }
    }
    CHECK(comparison.accepted >= samples().size());
}

TEST_CASE("structure: every flipped bit agrees with the naive parser") {
    Comparison comparison(model_options());
    for (const Bytes& sample : samples()) {
        for (std::size_t bit = 0; bit < 8 * sample.size(); ++bit) {
            Bytes bytes = sample;
            flip(bytes, bit);
            comparison.compare(bytes);
        }
    }
    CHECK(comparison.accepted > comparison.compared / 10);
    CHECK(comparison.accepted < comparison.compared);
}

TEST_CASE("structure: random mutants agree with the naive parser") {
    auto strict = model_options();
    strict.max_depth = 5;
    strict.max_payload_messages = 4;
    auto lazy = model_options();
    lazy.scan_packed = false;
    std::mt19937_64 random(5);
    for (const auto& options : {model_options(), strict, lazy}) {
        Comparison comparison(options);
        for (const Bytes& sample : samples()) {
            for (int round = 0; round < (kSanitized ? 200 : 800); ++round) {
                comparison.compare(mutated(sample, random));
            }
        }
        CHECK(comparison.accepted > comparison.compared / 100);
    }
}

}  // namespace onnxmap::test
