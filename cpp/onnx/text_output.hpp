// The text of a message, which is collected and passed on in parts. The text format and JSON print
// to it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "onnx/text_format.hpp"

namespace onnxmap::onnx {

class TextOutput {
  public:
    /// `excess`: the beginning of the error text if there are more than `options.max_bytes`.
    TextOutput(const TextOptions& options, const WriteText& write, const char* excess)
        : options_(options), write_(write), excess_(excess) {}

    /// Passes on what was printed so far. Throws Error `limit.text_bytes`.
    void flush() {
        nbytes_ += text_.size();
        if (nbytes_ > options_.max_bytes) {
            throw Error("limit.text_bytes", {excess_, options_.max_bytes,
                                             " bytes; raise the limit with "
                                             "limits=Limits(text_bytes=...)"});
        }
        write_(text_);
        text_.clear();
    }

  protected:
    void flush_if_full() {
        constexpr std::size_t kAtOnce = 64 << 10;
        if (text_.size() >= kAtOnce) flush();
    }

    [[nodiscard]] ByteView resident(ByteView bytes) const {
        return options_.resident ? options_.resident(bytes) : bytes;
    }

    /// Calls visit(value) for each value of a repeated field, whose packed runs become resident.
    template <class Visit>
    void for_each_value(const Message& message, const wire::FieldRow& row, Visit&& visit) const {
        message.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
            if (known != &row) return;
            wire::Field field = found;
            if (field.type != row.wire_type()) field.bytes = resident(found.bytes);
            Message::unpack(row, field, visit);
        });
    }

    /// Prints a backslash and the letter that stands for a character: the one at the same place.
    /// Returns false if the character is not one of `escaped`.
    bool print_escape(char character, std::string_view escaped, std::string_view letters) {
        const std::size_t place = escaped.find(character);
        if (place == std::string_view::npos) return false;
        text_ += '\\';
        text_ += letters[place];
        return true;
    }

    const TextOptions& options_;
    std::string text_;
    std::uint64_t nbytes_ = 0;  // passed on so far

  private:
    const WriteText& write_;
    std::string excess_;
};

}  // namespace onnxmap::onnx
