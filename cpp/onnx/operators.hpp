// The operators that ONNX describes: the table of operators.def, and the types of their parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace onnxmap::onnx {

/// The type of a value, as the signatures of operators tell types apart: a tensor, a sequence of
/// tensors, an optional of one of the two, or a sparse tensor, each with an element type; or
/// something else.
class ValueType {
  public:
    enum class Kind : std::uint8_t {
        tensor,
        sequence,
        optional,
        optional_sequence,
        other,
        sparse_tensor,  // which no operator takes
    };

    /// Unknown.
    constexpr ValueType() noexcept = default;
    /// `data_type`: of the elements; if ONNX has no such type, or for 0, the type is unknown.
    constexpr ValueType(Kind kind, std::int64_t data_type) noexcept
        : code_(data_type > 0 && data_type < kNumbers
                    ? static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) * kNumbers +
                                                static_cast<std::uint8_t>(data_type))
                    : std::uint8_t{0}) {}
    /// A map, or a sequence of maps.
    static constexpr ValueType other() noexcept { return {Kind::other, 1}; }

    static constexpr ValueType from_code(std::uint8_t code) noexcept {
        ValueType type;
        type.code_ = code;
        return type;
    }

    /// A number for each type; 0: unknown.
    [[nodiscard]] constexpr std::uint8_t code() const noexcept { return code_; }
    [[nodiscard]] constexpr bool is_known() const noexcept { return code_ != 0; }
    [[nodiscard]] constexpr Kind kind() const noexcept {
        return static_cast<Kind>(code_ / kNumbers);
    }
    [[nodiscard]] constexpr std::int32_t data_type() const noexcept { return code_ % kNumbers; }
    friend constexpr bool operator==(ValueType, ValueType) noexcept = default;
    /// In words: "FLOAT", "a sequence of FLOAT".
    [[nodiscard]] std::string text() const;

    static constexpr std::uint8_t kNumbers = 32;  // of element types: 0 to 31

  private:
    std::uint8_t code_ = 0;
};

/// Types that a parameter may have.
struct TypeSet {
    std::array<std::uint32_t, 4> data_types;  // of each kind, a bit for each number
    bool others;

    [[nodiscard]] constexpr bool has(ValueType type) const noexcept {
        if (type.kind() == ValueType::Kind::other) return others;
        if (type.kind() == ValueType::Kind::sparse_tensor) return false;
        return (data_types[static_cast<std::size_t>(type.kind())] >> type.data_type() & 1U) != 0;
    }
    /// The one type of the set; unknown if there are others.
    [[nodiscard]] ValueType only() const noexcept;
};

/// What the signature says of an input or output.
struct Parameter {
    char letter = 0;  // equal ones have one type; 0: there is no such parameter
    bool required = false;
    bool own_type = false;  // one of any number of parameters, each with a type of its own
};

class Operator {
  public:
    static constexpr std::uint8_t kUnlimited = 255;

    struct Row {
        std::uint16_t text;  // where its texts begin: name, inputs, outputs, attributes
        std::uint16_t attributes_size;
        std::uint8_t name_size, inputs_size, outputs_size;
        std::uint8_t since;
        std::uint8_t domain;  // the position in operator_domains()
        bool deprecated;
        std::uint8_t least_inputs, most_inputs, least_outputs, most_outputs;
        std::array<std::uint8_t, 5> types;  // of each letter, the position in the table of sets
    };

    explicit constexpr Operator(const Row& row) noexcept : row_(&row) {}

    /// The position in operator_rows().
    [[nodiscard]] std::uint32_t position() const noexcept;
    [[nodiscard]] std::string_view name() const noexcept;
    /// The position of its domain in operator_domains().
    [[nodiscard]] std::size_t domain() const noexcept { return row_->domain; }
    [[nodiscard]] std::int64_t since() const noexcept { return row_->since; }
    [[nodiscard]] bool deprecated() const noexcept { return row_->deprecated; }
    [[nodiscard]] std::size_t least_inputs() const noexcept { return row_->least_inputs; }
    [[nodiscard]] std::size_t most_inputs() const noexcept { return row_->most_inputs; }
    [[nodiscard]] std::size_t least_outputs() const noexcept { return row_->least_outputs; }
    [[nodiscard]] std::size_t most_outputs() const noexcept { return row_->most_outputs; }
    [[nodiscard]] Parameter input(std::size_t position) const noexcept;
    [[nodiscard]] Parameter output(std::size_t position) const noexcept;
    [[nodiscard]] const TypeSet& types(char letter) const noexcept;

    struct Attribute {
        std::string_view name;
        std::int32_t type;  // AttributeProto.AttributeType
        bool required;
    };
    /// The attribute of that name.
    [[nodiscard]] std::optional<Attribute> attribute(std::string_view name) const noexcept;
    /// Whether one is required.
    [[nodiscard]] bool needs_attributes() const noexcept {
        return attributes().find('!') != std::string_view::npos;
    }
    /// Calls visit(attribute) for each.
    template <class Visit>
    void for_each_attribute(Visit&& visit) const {
        std::string_view rest = attributes();
        while (!rest.empty()) visit(next_attribute(rest));
    }

  private:
    [[nodiscard]] std::string_view inputs() const noexcept;
    [[nodiscard]] std::string_view outputs() const noexcept;
    [[nodiscard]] std::string_view attributes() const noexcept;
    static Attribute next_attribute(std::string_view& rest) noexcept;

    const Row* row_;
};

inline constexpr std::string_view kStandardDomain = "ai.onnx";

/// The name of a domain, of which the default one has two: "" and "ai.onnx".
/// Source: IR.md, "Operator Sets".
[[nodiscard]] constexpr std::string_view plain_domain(std::string_view domain) noexcept {
    return domain == kStandardDomain ? std::string_view{} : domain;
}

struct OperatorDomain {
    std::string_view name;  // "" is ai.onnx
    std::int64_t newest;    // the newest version that the table has
};

inline constexpr std::size_t kOperatorDomains = 4;

/// The domains whose operators ONNX describes.
[[nodiscard]] std::span<const OperatorDomain, kOperatorDomains> operator_domains() noexcept;

/// All rows: by domain and name, the newest first.
[[nodiscard]] std::span<const Operator::Row> operator_rows() noexcept;

/// Calls visit(operator) for each operator of a domain as its set of that version has it.
template <class Visit>
void for_each_operator(std::size_t domain, std::int64_t version, Visit&& visit) {
    std::string_view last;
    for (const Operator::Row& row : operator_rows()) {
        if (row.domain != domain || row.since > version) continue;
        const Operator found(row);
        if (found.name() == last) continue;  // an older version
        last = found.name();
        visit(found);
    }
}

}  // namespace onnxmap::onnx
