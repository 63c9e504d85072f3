#include "onnx/operators.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "onnx/data_type.hpp"

namespace onnxmap::onnx {

namespace {

enum State : std::uint8_t { current, deprecated };

constexpr TypeSet kTypes[] = {
#define TYPES(tensor, sequence, optional, optional_sequence, others) \
    {{tensor, sequence, optional, optional_sequence}, others},
#define OPERATOR(...)
#include "onnx/operators.def"
#undef OPERATOR
#undef TYPES
};
static_assert(std::size(kTypes) <= UINT8_MAX);

// One text: pointers to each part would take three times as much of the extension.
constexpr char kText[] =
#define TYPES(...)
#define OPERATOR(name, domain, since, state, least_in, most_in, least_out, most_out, inputs, \
                 outputs, types, attributes)                                                 \
    name inputs outputs attributes
#include "onnx/operators.def"
#undef OPERATOR
    ;
static_assert(sizeof(kText) <= UINT16_MAX);

constexpr OperatorDomain kDomainNames[kOperatorDomains] = {
    {"", 0}, {"ai.onnx.ml", 0}, {"ai.onnx.preview", 0}, {"ai.onnx.preview.training", 0}};

consteval std::uint8_t domain_of(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kDomainNames); ++i) {
        if (kDomainNames[i].name == name) return static_cast<std::uint8_t>(i);
    }
    throw "a domain of operators.def is missing above";
}

constexpr auto kRows = [] {
    Operator::Row rows[] = {
#define UNPACK(...) {__VA_ARGS__}
#define OPERATOR(name, domain, since, state, least_in, most_in, least_out, most_out, inputs, \
                 outputs, types, attributes)                                                 \
    {0,                                                                                      \
     sizeof(attributes) - 1,                                                                 \
     sizeof(name) - 1,                                                                       \
     sizeof(inputs) - 1,                                                                     \
     sizeof(outputs) - 1,                                                                    \
     since,                                                                                  \
     domain_of(domain),                                                                      \
     (state) == deprecated,                                                                  \
     least_in,                                                                               \
     most_in,                                                                                \
     least_out,                                                                              \
     most_out,                                                                               \
     {UNPACK types}},
#include "onnx/operators.def"
#undef OPERATOR
#undef TYPES
#undef UNPACK
    };
    std::uint16_t at = 0;
    std::array<Operator::Row, std::size(rows)> placed{};
    for (std::size_t i = 0; i < placed.size(); ++i) {
        placed[i] = rows[i];
        placed[i].text = at;
        at = static_cast<std::uint16_t>(at + rows[i].name_size + rows[i].inputs_size +
                                        rows[i].outputs_size + rows[i].attributes_size);
    }
    return placed;
}();

constexpr auto kDomains = [] {
    std::array<OperatorDomain, std::size(kDomainNames)> domains{};
    std::ranges::copy(kDomainNames, domains.begin());
    for (const Operator::Row& row : kRows) {
        std::int64_t& newest = domains.at(row.domain).newest;
        newest = std::max<std::int64_t>(newest, row.since);
    }
    return domains;
}();

// Source: onnx.proto, AttributeProto.AttributeType.
constexpr std::string_view kAttributeTypes = " fistgFISTGpPyY";

std::string_view part_of_text(std::size_t begin, std::size_t size) noexcept {
    return std::string_view(kText, sizeof(kText) - 1).substr(begin, size);
}

Parameter parameter(std::string_view letters, std::size_t position) noexcept {
    bool own_type = false;
    if (letters.ends_with('*') || letters.ends_with('+')) {
        own_type = letters.ends_with('+') && position + 2 >= letters.size();
        position = std::min(position, letters.size() - 2);
        letters.remove_suffix(1);
        if (position + 1 == letters.size()) {
            return {static_cast<char>(letters[position] & ~0x20), false, own_type};
        }
    }
    if (position >= letters.size()) return {};
    const char letter = letters[position];
    const bool is_optional = letter >= 'a';
    return {static_cast<char>(letter & ~0x20), !is_optional, own_type};
}

}  // namespace

std::string ValueType::text() const {
    static constexpr std::string_view kKinds[] = {
        "",      "a sequence of ",     "an optional ", "an optional sequence of ",
        "a map", "a sparse tensor of "};
    if (!is_known()) return "unknown";
    std::string text(kKinds[static_cast<std::size_t>(kind())]);
    if (kind() == Kind::other) return text;
    const DataTypeInfo* const info = find_data_type(data_type());
    return text += info == nullptr ? std::to_string(data_type()) : std::string(info->name);
}

ValueType TypeSet::only() const noexcept {
    int count = others ? 2 : 0;  // of which map, nobody knows
    ValueType found;
    for (std::size_t kind = 0; kind < data_types.size(); ++kind) {
        if (data_types[kind] == 0) continue;
        count += std::popcount(data_types[kind]);
        found = {static_cast<ValueType::Kind>(kind), std::countr_zero(data_types[kind])};
    }
    return count == 1 ? found : ValueType();
}

std::uint32_t Operator::position() const noexcept {
    return static_cast<std::uint32_t>(row_ - kRows.data());
}

std::string_view Operator::name() const noexcept {
    return part_of_text(row_->text, row_->name_size);
}

std::string_view Operator::inputs() const noexcept {
    return part_of_text(row_->text + row_->name_size, row_->inputs_size);
}

std::string_view Operator::outputs() const noexcept {
    return part_of_text(row_->text + row_->name_size + row_->inputs_size, row_->outputs_size);
}

std::string_view Operator::attributes() const noexcept {
    return part_of_text(row_->text + row_->name_size + row_->inputs_size + row_->outputs_size,
                        row_->attributes_size);
}

Parameter Operator::input(std::size_t position) const noexcept {
    return parameter(inputs(), position);
}

Parameter Operator::output(std::size_t position) const noexcept {
    return parameter(outputs(), position);
}

const TypeSet& Operator::types(char letter) const noexcept {
    return kTypes[row_->types.at(static_cast<std::size_t>(letter - 'A'))];
}

Operator::Attribute Operator::next_attribute(std::string_view& rest) noexcept {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const std::size_t colon = word.rfind(':');
    return {word.substr(0, colon), static_cast<std::int32_t>(kAttributeTypes.find(word[colon + 1])),
            word.back() == '!'};
}

std::optional<Operator::Attribute> Operator::attribute(std::string_view name) const noexcept {
    std::string_view rest = attributes();
    while (!rest.empty()) {
        const Attribute each = next_attribute(rest);
        if (each.name == name) return each;
    }
    return std::nullopt;
}

std::span<const OperatorDomain, kOperatorDomains> operator_domains() noexcept { return kDomains; }

std::span<const Operator::Row> operator_rows() noexcept { return kRows; }

}  // namespace onnxmap::onnx
