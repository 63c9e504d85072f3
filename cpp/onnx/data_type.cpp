#include "onnx/data_type.hpp"

#include <algorithm>

#include "onnx/schema.hpp"

namespace onnxmap::onnx {

namespace {

consteval CodeFormat format(Numbers numbers, std::uint8_t exponent_bits = 0,
                            std::uint8_t mantissa_bits = 0) {
    return {numbers, exponent_bits, mantissa_bits};
}

using enum Numbers;

constexpr DataTypeInfo kDataTypes[] = {
#define DATA_TYPE(name, number, bits, storage, packing, numpy, st, buffer, dlpack, numbers, ir) \
    {DataType::name,     #name,          bits, &field<"TensorProto." #storage>,                 \
     Packing::packing,   numpy,          st,   buffer,                                          \
     DlpackCode::dlpack, format numbers, ir},
#include "onnx/data_type.def"
#undef DATA_TYPE
};

static_assert(std::ranges::all_of(kDataTypes,
                                  [](const DataTypeInfo& info) {
                                      return static_cast<int>(info.type) == &info - kDataTypes + 1;
                                  }),
              "data_type.def is sorted by number, without a gap");
static_assert(std::ranges::all_of(kDataTypes,
                                  [](const DataTypeInfo& info) {
                                      const auto bits = info.bits;
                                      if (info.packing == Packing::whole) return bits % 8 == 0;
                                      return bits == 2 || bits == 4 || bits == 6;
                                  }),
              "a new sub-byte width needs an unpacking function of its own");

}  // namespace

std::span<const DataTypeInfo> data_types() noexcept { return kDataTypes; }

const DataTypeInfo* find_data_type(std::int32_t number) noexcept {
    if (number < 1 || number > static_cast<std::int32_t>(std::size(kDataTypes))) return nullptr;
    return &kDataTypes[number - 1];
}

const DataTypeInfo& data_type(DataType type) noexcept {
    return kDataTypes[static_cast<std::int32_t>(type) - 1];
}

}  // namespace onnxmap::onnx
