#include "tensor/conversion.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/made_once.hpp"

namespace onnxmap::tensor {

using onnx::DataType;

namespace {

using CodeTable = std::array<std::uint32_t, 256>;

constexpr bool has_table(const onnx::DataTypeInfo& type) noexcept {
    return type.sub_byte() || (type.bits == 8 && type.format.is_float());
}

using CodeTables = std::vector<CodeTable>;  // by the number of the type
constinit std::atomic<CodeTables*> code_tables = nullptr;

/// For each type that has at most 256 codes, the float32 of every code.
const CodeTable& table_of(const onnx::DataTypeInfo& type) {
    const CodeTables& tables = made_once(code_tables, [] {
        auto made = std::make_unique<CodeTables>(onnx::data_types().size() + 1);
        for (const onnx::DataTypeInfo& info : onnx::data_types()) {
            if (!has_table(info)) continue;
            CodeTable& table = made->at(static_cast<std::size_t>(info.type));
            for (std::uint32_t code = 0; code < table.size(); ++code) {
                table.at(code) = onnx::float32_bits(info.format, info.bits, code);
            }
        }
        return made;
    });
    return tables.at(static_cast<std::size_t>(type.type));
}

kernels::Kernel unpack_kernel(const onnx::DataTypeInfo& type) {
    const kernels::KernelSet& set = kernels::kernels();
    switch (type.sub_byte() ? type.bits : 0) {
        case 2: return set.unpack2;
        case 4: return set.unpack4;
        case 6: return set.unpack6;
        default: return nullptr;
    }
}

kernels::Kernel conversion_kernel(DataType from, DataType to) {
    const kernels::KernelSet& set = kernels::kernels();
    if (from == DataType::FLOAT16 && to == DataType::FLOAT) return set.float16_to_float32;
    if (from == DataType::BFLOAT16 && to == DataType::FLOAT) return set.bfloat16_to_float32;
    if (from == DataType::FLOAT && to == DataType::FLOAT16) return set.float32_to_float16;
    if (from == DataType::FLOAT && to == DataType::BFLOAT16) return set.float32_to_bfloat16;
    return nullptr;
}

}  // namespace

Conversion::Conversion(const onnx::DataTypeInfo& type)
    : from_(&type), to_(&type), unpack_(unpack_kernel(type)) {}

const onnx::DataTypeInfo& castable_type(const onnx::DataTypeInfo& type) {
    const onnx::DataTypeInfo& float32 = onnx::data_type(onnx::DataType::FLOAT);
    return type.bits <= 8 && Conversion::find(type, float32) ? float32 : type;
}

Conversion Conversion::none(const onnx::DataTypeInfo& type) { return Conversion(type); }

std::optional<Conversion> Conversion::find(const onnx::DataTypeInfo& from,
                                           const onnx::DataTypeInfo& to) {
    Conversion found(from);
    if (&from == &to) return found;
    found.to_ = &to;
    if (to.type == DataType::FLOAT && has_table(from)) {
        found.table_ = table_of(from).data();
    } else {
        found.kernel_ = conversion_kernel(from.type, to.type);
        if (found.kernel_ == nullptr) return std::nullopt;
    }
    return found;
}

void Conversion::stored(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const {
    if (unpack_ == nullptr) {
        elements(from, count, to);
        return;
    }
    if (table_ == nullptr) {
        unpack_(from, count, to);
        return;
    }
    std::array<std::uint8_t, 4096> codes;  // a whole number of bytes, packed
    while (count > 0) {
        const std::uint64_t here = std::min<std::uint64_t>(count, codes.size());
        unpack_(from, here, codes.data());
        elements(codes.data(), here, to);
        from += here * from_->bits / 8;
        to += here * to_->itemsize();
        count -= here;
    }
}

void Conversion::elements(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const {
    if (table_ != nullptr) {
        kernels::kernels().look_up(from, count, table_, to);
    } else if (kernel_ != nullptr) {
        kernel_(from, count, to);
    } else if (count > 0) {
        std::memcpy(to, from, count * from_->itemsize());
    }
}

}  // namespace onnxmap::tensor
