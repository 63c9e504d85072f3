// A lenient store reads tensors with the faults that onnx tolerates, and still refuses others.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "one_tensor.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

using Codes = std::vector<std::string>;

Bytes tensor_of(std::uint64_t data_type, std::uint64_t count, const Bytes& fields) {
    return join(scalar(1, count), scalar(2, data_type), blob(8, "t"), fields);
}

// Reads from a lenient store. `tolerated` are the codes that it must report.
Bytes read(const Bytes& bytes, const Codes& tolerated) {
    OneTensor tensor(bytes);
    tensor.lenient();
    const Bytes elements = tensor.read();
    // Finding and reading may both report a code, but no other code may be reported.
    for (const std::string& code : tensor.tolerated) CHECK(code == tolerated.front());
    CHECK(tensor.tolerated.size() >= tolerated.size());
    return elements;
}

std::string lenient_code(const Bytes& bytes) { return OneTensor(bytes).lenient().read_code(); }

const Codes kAmbiguous = {"tensor.ambiguous_data"};
const Codes kSize = {"tensor.data_size"};
const Codes kRange = {"tensor.value_range"};

}  // namespace

TEST_CASE("lenient: if there are data in two places, those that onnx takes are read") {
    const Bytes raw = blob(9, from_hex("0000803f"));
    const Bytes typed = fixed32(4, 0x40000000);
    CHECK(read(tensor_of(1, 1, join(raw, typed)), kAmbiguous) == from_hex("0000803f"));
    CHECK(read(tensor_of(1, 1, join(typed, raw)), kAmbiguous) == from_hex("0000803f"));
    // Of two typed fields, that of the tensor's type.
    CHECK(read(tensor_of(1, 1, join(typed, packed(5, {1}))), kAmbiguous) == from_hex("00000040"));
    CHECK(read(tensor_of(6, 1, join(typed, packed(5, {1}))), kAmbiguous) == from_hex("01000000"));
    // Of a string, never raw_data.
    OneTensor text(tensor_of(8, 1, join(raw, blob(6, "text"))));
    std::string found;
    text.lenient().values().for_each_string(
        [&](std::uint64_t, std::string_view one) { found = one; });
    CHECK(found == "text");
    CHECK(text.tolerated == kAmbiguous);
}

TEST_CASE("lenient: bytes behind the last element of a sub-byte tensor are ignored") {
    const Bytes long_int4 = tensor_of(22, 3, blob(9, from_hex("2143ff")));
    CHECK(OneTensor(long_int4).code() == "tensor.data_size");
    CHECK(read(long_int4, kSize) == from_hex("010203"));
    OneTensor tensor(long_int4);
    CHECK(tensor.lenient().read_packed() == from_hex("2143"));
    CHECK(join(tensor.values().payload()->bytes()) == from_hex("2143"));
    // The shape decides which byte is the last. In float6 its unused bits must be zero.
    CHECK(read(tensor_of(27, 1, blob(9, from_hex("3fff"))), kSize) == Bytes{63});
    CHECK(lenient_code(tensor_of(27, 1, blob(9, from_hex("7f00")))) == "tensor.padding");
    CHECK(read(tensor_of(25, 1, blob(9, from_hex("0300"))), kSize) == Bytes{3});
    // Not for types of whole bytes, and not if there are too few bytes.
    CHECK(lenient_code(tensor_of(2, 1, blob(9, Bytes(2)))) == "tensor.data_size");
    CHECK(lenient_code(tensor_of(22, 3, blob(9, Bytes(1)))) == "tensor.data_size");
}

TEST_CASE("lenient: values out of range are cut to the width of their type") {
    CHECK(read(tensor_of(2, 2, packed(5, {300, 7})), kRange) == Bytes{44, 7});
    CHECK(read(tensor_of(3, 1, scalar(5, 128 + 256)), kRange) == Bytes{128});
    CHECK(read(tensor_of(10, 1, scalar(5, 70000)), kRange) == from_hex("7011"));
    CHECK(read(tensor_of(12, 1, scalar(11, (1ULL << 32) + 5)), kRange) == from_hex("05000000"));
    CHECK(read(tensor_of(27, 2, packed(5, {64 + 3, 5})), kRange) == Bytes{3, 5});
    CHECK(read(tensor_of(22, 2, scalar(5, 0x121)), kRange) == Bytes{1, 2});
}

TEST_CASE("lenient: nothing is reported for a correct tensor") {
    for (const Bytes& bytes : {tensor_of(2, 2, packed(5, {255, 7})), raw_tensor("r", {1, 2}),
                               tensor_of(22, 3, blob(9, from_hex("2143")))}) {
        OneTensor tensor(bytes);
        CHECK(tensor.lenient().read().size() >= 2);
        CHECK(tensor.tolerated.empty());
    }
}

TEST_CASE("lenient: other faults are still refused") {
    const Bytes raw = blob(9, Bytes(4));
    CHECK(lenient_code(tensor_of(1, 1, join(raw, scalar(14, 1)))) == "tensor.ambiguous_data");
    CHECK(lenient_code(tensor_of(1, 1, join(packed(5, {1}), scalar(14, 1)))) ==
          "tensor.ambiguous_data");
    CHECK(lenient_code(tensor_of(1, 1, packed(5, {1}))) == "tensor.wrong_field");
    CHECK(lenient_code(tensor_of(1, 1, join(packed(5, {1}), packed(7, {1})))) ==
          "tensor.wrong_field");
    CHECK(lenient_code(tensor_of(8, 1, raw)) == "tensor.string_raw");
    CHECK(lenient_code(tensor_of(8, 1, join(raw, packed(5, {1})))) == "tensor.string_raw");
    CHECK(lenient_code(tensor_of(27, 1, blob(9, from_hex("40")))) == "tensor.padding");
    CHECK(lenient_code(tensor_of(6, 3, packed(5, {1, 2}))) == "tensor.data_size");
    CHECK(lenient_code(tensor_of(99, 1, raw)) == "tensor.dtype");
}

}  // namespace onnxmap::test
