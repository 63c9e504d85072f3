#include "onnx/text_format.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/utf8.hpp"
#include "onnx/text_output.hpp"

namespace onnxmap::onnx {

namespace {

// The number in the lower of two precisions that reads back as the same number.
template <class Real>
std::string number_text(Real value, int precision, int exact_precision) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 40> text{};
    const auto print = [&](int digits) {
        std::snprintf(text.data(), text.size(), "%.*g", digits, static_cast<double>(value));
    };
    print(precision);
    const Real back = sizeof(Real) == 4 ? static_cast<Real>(std::strtof(text.data(), nullptr))
                                        : static_cast<Real>(std::strtod(text.data(), nullptr));
    if (back != value) print(exact_precision);
    return text.data();
}

class TextPrinter : public TextOutput {
  public:
    TextPrinter(const TextOptions& options, const WriteText& write)
        : TextOutput(options, write, "its text has more than ") {}

    void print(const Message& message) {
        for (std::uint32_t number = 1; number <= wire::MessageTable::kMaxNumber; ++number) {
            const wire::FieldRow* found = message.table().find(number);
            // Retired fields are unknown to today's proto, and the text format omits unknown
            // fields.
            if (found == nullptr || found->retired) continue;
            const wire::FieldRow& row = *found;
            if (row.repeated()) {
                print_repeated(message, row);
            } else if (row.is_message()) {
                if (const auto child = message.child(row)) print_message(row, *child);
            } else if (const auto value = message.find(row)) {
                print_value(row, *value);
            }
        }
        if (!options_.unknown_fields) return;
        message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
            if (row == nullptr || row->retired) print_unknown(field);
        });
    }

  private:
    void print_unknown(const wire::Field& field) {
        text_.append(2 * depth_, ' ');
        text_ += std::to_string(field.number);
        if (field.type == wire::WireType::start_group) {
            text_ += " {\n";
            ++depth_;
            wire::Reader reader(field.bytes);
            wire::Field inner;
            while (reader.next(inner)) print_unknown(inner);
            --depth_;
            text_.append(2 * depth_, ' ');
            text_ += "}\n";
        } else {
            text_ += ": ";
            print_unknown_value(field);
            text_ += '\n';
        }
        flush_if_full();
    }

    void print_unknown_value(const wire::Field& field) {
        std::array<char, 20> hexadecimal{};
        switch (field.type) {
            case wire::WireType::length_delimited: print_text(field.text(), true); return;
            case wire::WireType::varint: text_ += std::to_string(field.value); return;
            default: break;
        }
        const int digits = field.type == wire::WireType::fixed32 ? 8 : 16;
        std::snprintf(hexadecimal.data(), hexadecimal.size(), "0x%0*llx", digits,
                      static_cast<unsigned long long>(field.value));
        text_ += hexadecimal.data();
    }

    void begin(const wire::FieldRow& row) {
        text_.append(2 * depth_, ' ');
        text_ += row.name;
    }

    void print_message(const wire::FieldRow& row, const Message& child) {
        begin(row);
        text_ += " {\n";
        if (++depth_ > options_.max_depth) fail_too_deep(child);
        print(child);
        --depth_;
        text_.append(2 * depth_, ' ');
        text_ += "}\n";
        flush_if_full();
    }

    void print_repeated(const Message& message, const wire::FieldRow& row) {
        std::uint64_t count = 0;
        for_each_value(message, row, [&](const wire::Field& value) {
            if (row.is_message()) {
                print_message(row, message.inner(row, value));
            } else if (++count <= options_.longest || row.is_text()) {
                print_value(row, value);
            }
        });
        if (!row.is_message() && !row.is_text() && count > options_.longest) {
            text_.append(2 * depth_, ' ');
            text_ += "# " + std::string(row.name) + ": " + std::to_string(count) + " values, " +
                     std::to_string(options_.longest) + " shown\n";
        }
    }

    void print_value(const wire::FieldRow& row, const wire::Field& value) {
        begin(row);
        text_ += ": ";
        switch (row.type) {
            case wire::Type::int64: text_ += std::to_string(value.int64()); break;
            case wire::Type::int32: text_ += std::to_string(value.int32()); break;
            case wire::Type::uint64: text_ += std::to_string(value.value); break;
            case wire::Type::float32:
                text_ += number_text(value.float32(), std::numeric_limits<float>::digits10,
                                     std::numeric_limits<float>::max_digits10);
                break;
            case wire::Type::float64:
                text_ += number_text(value.float64(), std::numeric_limits<double>::digits10,
                                     std::numeric_limits<double>::max_digits10);
                break;
            case wire::Type::enumeration: print_member(row, value.int32()); break;
            default: print_text(value.text(), row.type == wire::Type::bytes);
        }
        text_ += '\n';
        flush_if_full();
    }

    // A mapped file that changes meanwhile may have a number without a name.
    void print_member(const wire::FieldRow& row, std::int32_t number) {
        const auto* const member = kSchema.enum_of(row).find(number);
        text_ += member == nullptr ? std::to_string(number) : std::string(member->name);
    }

    void print_text(std::string_view value, bool raw) {
        const std::string_view shown =
            as_text(resident(as_bytes(value.substr(0, options_.longest))));
        text_ += '"';
        for (std::size_t i = 0; i < shown.size();) {
            const auto c = static_cast<unsigned char>(shown[i]);
            const std::size_t length = raw || c < 0x80 ? 1 : utf8_length(shown.substr(i));
            if (length > 1) {
                text_ += shown.substr(i, length);
            } else {
                print_escaped(c);
            }
            i += length > 1 ? length : 1;
            flush_if_full();
        }
        text_ += '"';
        if (shown.size() < value.size()) {
            text_ += "  # " + std::to_string(value.size()) + " bytes, " +
                     std::to_string(shown.size()) + " shown";
        }
    }

    void print_escaped(unsigned char c) {
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\'' && c != '\\') {
            text_ += static_cast<char>(c);
            return;
        }
        if (print_escape(static_cast<char>(c), "\n\r\t\"'\\", "nrt\"'\\")) return;
        text_ += '\\';
        text_ += static_cast<char>('0' + (c >> 6));
        text_ += static_cast<char>('0' + ((c >> 3) & 7));
        text_ += static_cast<char>('0' + (c & 7));
    }

    std::size_t depth_ = 0;
};

}  // namespace

void write_text(const Message& message, const TextOptions& options, const WriteText& write) {
    TextPrinter printer(options, write);
    printer.print(message);
    printer.flush();
}

}  // namespace onnxmap::onnx
