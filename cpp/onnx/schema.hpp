// The schema of ONNX as tables, and a compile-time name for each field:
// `field<"NodeProto.op_type">` is the row, and a misspelt name does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "onnx/schema_rows.hpp"
#include "wire/message_table.hpp"

namespace onnxmap::onnx {

namespace detail {

inline constexpr std::size_t kMessageCount =
    std::ranges::count(rows::kRows, 0U, &wire::FieldRow::number);

consteval std::uint8_t message_index(std::string_view name) {
    std::uint8_t index = 0;
    for (const wire::FieldRow& row : rows::kRows) {
        if (row.number != 0) continue;
        if (row.name == name) return index;
        ++index;
    }
    throw "no such message";
}

consteval std::uint8_t enum_index(std::string_view name) {
    for (std::size_t i = 0; i < std::size(rows::kEnums); ++i) {
        if (rows::kEnums[i].name == name) return static_cast<std::uint8_t>(i);
    }
    throw "no such enum";
}

/// All rows, with the names of types resolved.
inline constexpr auto kFields = []() consteval {
    auto fields = std::to_array(rows::kRows);
    for (wire::FieldRow& row : fields) {
        if (row.is_message()) row.type_index = message_index(row.type_name);
        if (row.type == wire::Type::enumeration) row.type_index = enum_index(row.type_name);
    }
    return fields;
}();

consteval auto make_tables() {
    std::array<wire::MessageTable, kMessageCount> tables{};
    std::size_t next = 0;
    for (wire::MessageTable& table : tables) {
        table.name = kFields[next++].name;
        table.position.fill(wire::MessageTable::kNone);
        const std::size_t begin = next;
        for (; next < kFields.size() && kFields[next].number != 0; ++next) {
            table.position.at(kFields[next].number) = static_cast<std::uint8_t>(next - begin);
        }
        table.fields = std::span(kFields).subspan(begin, next - begin);
        for (std::size_t tag = 0; tag < table.quick.size(); ++tag) {
            table.quick.at(tag) = wire::quick_for(table, static_cast<std::uint8_t>(tag));
        }
    }
    return tables;
}

inline constexpr auto kTables = make_tables();

/// A string literal as a template argument.
template <std::size_t N>
struct Name {
    consteval Name(const char (&text)[N]) { std::copy_n(text, N, chars); }  // NOLINT: implicit
    [[nodiscard]] consteval std::string_view view() const { return {chars, N - 1}; }
    char chars[N];
};

consteval const wire::MessageTable& table_named(std::string_view name) {
    return kTables[message_index(name)];
}

consteval const wire::FieldRow& find_field(std::string_view path) {
    // A loop without a comparison with null, which gcc 12 rejects at compile time under UBSan.
    const std::size_t dot = path.rfind('.');
    for (const wire::FieldRow& row : table_named(path.substr(0, dot)).fields) {
        if (row.name == path.substr(dot + 1)) return row;
    }
    throw "no such field";
}

}  // namespace detail

inline constexpr wire::Schema kSchema{detail::kTables, rows::kEnums};

template <detail::Name name>
inline constexpr const wire::MessageTable& message = detail::table_named(name.view());

template <detail::Name path>
inline constexpr const wire::FieldRow& field = detail::find_field(path.view());

/// The newest IR version. Source: onnx.proto, Version.
inline constexpr std::int32_t kNewestIrVersion =
    rows::kVersion[std::size(rows::kVersion) - 1].number;

/// The message of that name (`TensorProto.Segment`), or null.
[[nodiscard]] inline const wire::MessageTable* find_message(std::string_view name) noexcept {
    for (const wire::MessageTable& table : kSchema.messages) {
        if (table.name == name) return &table;
    }
    return nullptr;
}

}  // namespace onnxmap::onnx
