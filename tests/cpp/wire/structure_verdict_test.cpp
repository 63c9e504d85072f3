// Hand-written cases: what is refused, with code, offset and path, and what must be accepted.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "caught.hpp"
#include "placed_bytes.hpp"
#include "sample_models.hpp"
#include "structure_of.hpp"

namespace onnxmap::test {

namespace {

struct Refused {
    const char* what;
    Bytes bytes;  // of a ModelProto
    const char* code;
    std::uint64_t offset;
    const char* path;
};

void check_refused(const Refused& one) {
    CAPTURE(one.what);
    const HeapCopy copy(one.bytes);
    const auto error = error_of([&] { return model_structure(copy.view()); });
    REQUIRE(error);
    CHECK(error->code == one.code);
    CHECK(error->offset == one.offset);
    CHECK(error->path == one.path);
}

// A field with this tag and length, and this content, which may be too short.
Bytes claims(std::uint64_t number, const Bytes& length, const Bytes& content) {
    return join(tag(number, WireType::length_delimited), length, content);
}

const Bytes kAbc = from_text("abc");

}  // namespace

TEST_CASE("structure: varints and tags that are refused") {
    const Refused cases[] = {
        {"varint of eleven bytes", join(scalar(5, 1), tag(1, WireType::varint), varint(8, 11)),
         "wire.varint_too_long", 2, "ir_version"},
        {"varint of ten bytes and no end", from_hex("08ffffffffffffffffffff"),
         "wire.varint_too_long", 0, "ir_version"},
        {"varint of eleven bytes in an unknown field",
         join(tag(999, WireType::varint), varint(8, 11)), "wire.varint_too_long", 0, "999"},
        {"length of eleven bytes", claims(2, varint(3, 11), kAbc), "wire.varint_too_long", 0,
         "producer_name"},
        {"nothing behind a tag", from_hex("08"), "wire.truncated", 0, "ir_version"},
        {"varint cut", from_hex("0888"), "wire.truncated", 0, "ir_version"},
        {"tag cut", from_hex("080888"), "wire.truncated", 2, ""},
        {"length missing", from_hex("12"), "wire.truncated", 0, "producer_name"},
        {"varint that would end behind its message", from_hex("3a032a018800"), "wire.truncated", 4,
         "graph.initializer[0]"},
        {"tag of six bytes", from_hex("88808080800008"), "wire.tag_too_long", 0, ""},
        {"tag of ten bytes", from_hex("8880808080808080800008"), "wire.tag_too_long", 0, ""},
        {"tag above 2^32", from_hex("888080801008"), "wire.field_number", 0, ""},
        {"tag with bits 32 to 34", from_hex("888080807008"), "wire.field_number", 0, ""},
        {"field number 2^29", from_hex("808080801001"), "wire.field_number", 0, ""},
        {"a last byte 0xff", from_hex("0808ff"), "wire.truncated", 2, ""},
    };
    for (const Refused& one : cases) check_refused(one);
}

TEST_CASE("structure: field number 0 is refused everywhere") {
    for (const unsigned type : {0U, 1U, 2U, 5U}) {
        const Bytes zero = join(varint(type), Bytes(8));
        check_refused({"root", zero, "wire.field_number", 0, ""});
        check_refused({"graph", blob(7, zero), "wire.field_number", 2, "graph"});
        check_refused(
            {"tensor", blob(7, blob(5, zero)), "wire.field_number", 4, "graph.initializer[0]"});
        check_refused({"group", group(999, zero), "wire.field_number", 2, "999"});
    }
}

TEST_CASE("structure: wire types 6 and 7 are refused") {
    for (std::uint8_t number = 0; number < 4; ++number) {
        for (const std::uint8_t type : {std::uint8_t{6}, std::uint8_t{7}}) {
            for (std::uint8_t value = 0; value < 4; ++value) {
                const Bytes bytes = {static_cast<std::uint8_t>(number * 8U + type), value};
                CAPTURE(number);
                CHECK(verdict_of(bytes) == Verdict{"wire.wire_type", 0});
            }
        }
    }
    check_refused({"unknown field", from_hex("be3e01"), "wire.wire_type", 0, "999"});
}

TEST_CASE("structure: groups that do not match") {
    const Bytes open = tag(999, WireType::start_group);
    const Bytes close = tag(999, WireType::end_group);
    const Refused cases[] = {
        {"stray end", close, "wire.end_group", 0, "999"},
        {"stray end behind a field", join(scalar(1, 8), close), "wire.end_group", 2, "999"},
        {"stray end and a second graph", join(blob(7, blob(2, "g")), close, blob(7, blob(2, "h"))),
         "wire.end_group", 5, "999"},
        {"stray end in a graph", blob(7, join(blob(2, "n"), close)), "wire.end_group", 5,
         "graph.999"},
        {"never closed", open, "wire.group_unterminated", 0, "999"},
        {"never closed, with a field", join(open, scalar(1, 5)), "wire.group_unterminated", 0,
         "999"},
        {"never closed in a graph", blob(7, join(blob(2, "n"), open)), "wire.group_unterminated", 5,
         "graph.999"},
        {"inner one never closed", join(open, tag(998, WireType::start_group)),
         "wire.group_unterminated", 2, "999.998"},
        {"closed as another", join(open, tag(998, WireType::end_group)), "wire.group_mismatch", 2,
         "999.998"},
        {"closed as another one level down",
         join(open, tag(998, WireType::start_group), close, close), "wire.group_mismatch", 4,
         "999.998.999"},
        {"ends behind its message", join(claims(7, varint(2), open), close),
         "wire.group_unterminated", 2, "graph.999"},
    };
    for (const Refused& one : cases) check_refused(one);
    // Within an unknown group, field 7 is unknown, too. Its bytes are not judged.
    CHECK(verdict_of(join(open, blob(7, close), close)) == Verdict{});
}

TEST_CASE("structure: lengths that are refused") {
    const Refused cases[] = {
        {"one past the end", claims(2, varint(4), kAbc), "wire.length_overrun", 0, "producer_name"},
        {"one past its message", blob(7, claims(2, varint(3), from_text("ab"))),
         "wire.length_overrun", 2, "graph.name"},
        {"2^31", claims(2, varint(1ULL << 31), kAbc), "wire.length_overrun", 0, "producer_name"},
        {"2^32 + 3", claims(2, varint((1ULL << 32) + 3), kAbc), "wire.length_overrun", 0,
         "producer_name"},
        {"2^35, in six bytes that it needs", claims(2, varint(1ULL << 35), kAbc),
         "wire.length_overrun", 0, "producer_name"},
        {"2^63 - 1", claims(2, varint((1ULL << 63) - 1), kAbc), "wire.length_overrun", 0,
         "producer_name"},
        {"2^63", claims(2, varint(1ULL << 63), kAbc), "wire.length_too_large", 0, "producer_name"},
        {"2^64 - 1", claims(2, varint(UINT64_MAX), kAbc), "wire.length_too_large", 0,
         "producer_name"},
        {"3 in six bytes", claims(2, varint(3, 6), kAbc), "wire.length_too_long", 0,
         "producer_name"},
        {"3 in ten bytes", claims(999, varint(3, 10), kAbc), "wire.length_too_long", 0, "999"},
        {"of a message", claims(7, varint(3), from_hex("12")), "wire.length_overrun", 0, "graph"},
        {"of a packed run", blob(7, blob(5, claims(4, varint(8), Bytes(4)))), "wire.length_overrun",
         4, "graph.initializer[0].float_data"},
    };
    for (const Refused& one : cases) check_refused(one);
    // More bytes follow the message, and are not read as part of it.
    CHECK(verdict_of(from_hex("3a0312036162630801")) == Verdict{"wire.length_overrun", 2});
}

TEST_CASE("structure: packed runs and fixed values that are refused") {
    const auto in_tensor = [](const Bytes& field) { return blob(7, blob(5, field)); };
    const Refused cases[] = {
        {"floats of 7 bytes", in_tensor(blob(4, Bytes(7))), "wire.packed_length", 4,
         "graph.initializer[0].float_data"},
        {"doubles of 12 bytes", in_tensor(blob(10, Bytes(12))), "wire.packed_length", 4,
         "graph.initializer[0].double_data"},
        {"last varint cut by the run", in_tensor(blob(7, from_hex("0580"))), "wire.truncated", 7,
         "graph.initializer[0].int64_data"},
        {"varint of eleven bytes in a run", in_tensor(blob(7, join(Bytes{1}, varint(0, 11)))),
         "wire.varint_too_long", 7, "graph.initializer[0].int64_data"},
        {"fixed32 cut", in_tensor(from_hex("25000000")), "wire.truncated", 4,
         "graph.initializer[0].float_data"},
        {"fixed64 cut", in_tensor(from_hex("5100000000000000")), "wire.truncated", 4,
         "graph.initializer[0].double_data"},
    };
    for (const Refused& one : cases) check_refused(one);
}

TEST_CASE("structure: the error for zero bytes behind the last field explains them") {
    const Bytes good = tiny_model();
    for (const std::size_t zeros : {1U, 2U, 7U, 16U, 4096U}) {
        const auto error = error_of([&] { return model_structure(join(good, Bytes(zeros))); });
        REQUIRE(error);
        CHECK(error->code == "wire.field_number");
        CHECK(error->offset == good.size());
        const std::string text = error->what();
        CHECK(text.find("zero bytes after offset " + std::to_string(good.size())) !=
              std::string::npos);
        CHECK(text.find("incomplete download") != std::string::npos);
    }
    const auto other = error_of([&] { return model_structure(join(good, from_hex("000007"))); });
    REQUIRE(other);
    CHECK(std::string(other->what()).find("zero bytes") == std::string::npos);
}

TEST_CASE("structure: paths have the index of a repeated field") {
    const Bytes bad = from_hex("00");
    const Bytes nodes =
        join(blob(1, node("A")), blob(1, node("B")), blob(5, scalar(1, 1)),
             blob(1, join(blob(5, blob(1, "a")), blob(5, join(blob(1, "b"), bad)))));
    const auto error = error_of([&] { return model_structure(blob(7, nodes)); });
    REQUIRE(error);
    CHECK(error->path == "graph.node[2].attribute[1]");
    CHECK(error->offset == 2 + nodes.size() - 1);
}

TEST_CASE("structure: unusual forms that must be accepted") {
    const char* const accepted[] = {
        "",
        "0808",                                                    // ir_version
        "0888808080808080808000",                                  // varint in ten bytes
        "0880808080808080808002",                                  // bit 64 and above, dropped
        "08ffffffffffffffffff7f",                                  //
        "880008",                                                  // tag in two bytes
        "888080800008",                                            // and in five
        "128300616263",                                            // length in two bytes
        "128380808000616263",                                      // and in five
        "f8ffffff0f01",                                            // the largest field number
        "e0c20901",                                                // 19500, reserved by protobuf
        "b83e050808b53e61626364a93e3132333435363738a23e0378797a",  // unknown, of every wire type
        "3a021801",                                                // unknown in the graph
        "0a0108",                              // a varint field as length-delimited
        "090800000000000000",                  // and as fixed64
        "0d08000000",                          // and as fixed32
        "1041",                                // text as varint
        "3801",                                // a message as varint
        "3b1205676e616d653c",                  // a message as group
        "3a042a024801",                        // bytes as varint
        "bb3ebc3e",                            // empty unknown group
        "0808bb3e0805120178bc3e120170",        // with content
        "bb3eb33e0805b43ebc3e",                // nested
        "3a062a040a020203",                    // dims packed
        "3a0a2a0808020a0203040805",            // and mixed
        "3a042a022200",                        // empty packed run
        "3a0c2a0a250000803f2500000040",        // float_data unpacked
        "3a042a022001",                        // float_data as varint
        "3a0b2a09210000000000000000",          // and as fixed64
        "3a042a027007",                        // an enum value that is not listed
        "1202fffe",                            // text that is not UTF-8
        "3a081201612a034201783a052a03420179",  // graph twice
    };
    for (const char* hex : accepted) {
        CAPTURE(hex);
        const HeapCopy copy(from_hex(hex));
        CHECK(verdict_of(copy.view()) == Verdict{});
    }
    CHECK(verdict_of(varied_model()) == Verdict{});
}

TEST_CASE("structure: without the scan of packed runs, only their content is not judged") {
    const Bytes cut = blob(7, blob(5, blob(7, from_hex("0580"))));
    const Bytes uneven = blob(7, blob(5, blob(4, Bytes(7))));
    auto options = model_options();
    options.scan_packed = false;
    CHECK(verdict_of(cut).code == "wire.truncated");
    CHECK(verdict_of(cut, options) == Verdict{});
    CHECK(verdict_of(uneven, options).code == "wire.packed_length");
}

}  // namespace onnxmap::test
