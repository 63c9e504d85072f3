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

inline constexpr std::size_t kMessageCount = std::size(rows::kMessages);

consteval std::size_t count_fields() {
    std::size_t count = 0;
    for (const auto& message : rows::kMessages) count += message.fields.size();
    return count;
}

consteval std::uint8_t message_index(std::string_view name) {
    for (std::size_t i = 0; i < kMessageCount; ++i) {
        if (rows::kMessages[i].name == name) return static_cast<std::uint8_t>(i);
    }
    throw "no such message";
}

consteval std::uint8_t enum_index(std::string_view name) {
    for (std::size_t i = 0; i < std::size(rows::kEnums); ++i) {
        if (rows::kEnums[i].name == name) return static_cast<std::uint8_t>(i);
    }
    throw "no such enum";
}

/// All rows, message by message, with the names of types resolved.
consteval auto resolve_fields() {
    std::array<wire::FieldRow, count_fields()> fields{};
    std::size_t next = 0;
    for (const auto& message : rows::kMessages) {
        for (wire::FieldRow row : message.fields) {
            if (row.is_message()) row.type_index = message_index(row.type_name);
            if (row.type == wire::Type::enumeration) row.type_index = enum_index(row.type_name);
            fields[next++] = row;
        }
    }
    return fields;
}

inline constexpr auto kFields = resolve_fields();

consteval auto make_tables() {
    std::array<wire::MessageTable, kMessageCount> tables{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < kMessageCount; ++i) {
        const std::size_t count = rows::kMessages[i].fields.size();
        tables[i].name = rows::kMessages[i].name;
        tables[i].fields = std::span(kFields).subspan(next, count);
        tables[i].position.fill(wire::MessageTable::kNone);
        for (std::size_t k = 0; k < count; ++k) {
            tables[i].position.at(kFields[next + k].number) = static_cast<std::uint8_t>(k);
        }
        next += count;
        for (std::size_t tag = 0; tag < tables[i].quick.size(); ++tag) {
            tables[i].quick.at(tag) = wire::quick_for(tables[i], static_cast<std::uint8_t>(tag));
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

consteval const wire::MessageTable& find_message(std::string_view name) {
    return kTables[message_index(name)];
}

consteval const wire::FieldRow& find_field(std::string_view path) {
    // A loop without a comparison with null, which gcc 12 rejects at compile time under UBSan.
    const std::size_t dot = path.rfind('.');
    for (const wire::FieldRow& row : find_message(path.substr(0, dot)).fields) {
        if (row.name == path.substr(dot + 1)) return row;
    }
    throw "no such field";
}

}  // namespace detail

inline constexpr wire::Schema kSchema{detail::kTables, rows::kEnums};

template <detail::Name name>
inline constexpr const wire::MessageTable& message = detail::find_message(name.view());

template <detail::Name path>
inline constexpr const wire::FieldRow& field = detail::find_field(path.view());

/// The newest IR version. Source: onnx.proto, Version.
[[nodiscard]] constexpr std::int32_t newest_ir_version() noexcept {
    return rows::kVersion[std::size(rows::kVersion) - 1].number;
}

/// The message of that name (`TensorProto.Segment`), or null.
[[nodiscard]] const wire::MessageTable* find_message(std::string_view name) noexcept;

}  // namespace onnxmap::onnx
