// The exceptions of the core: Error for bad input, FileError for failures of the operating system.
// A mistake in onnxmap itself is an assert. Their texts, and those of findings, are made of parts.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace onnxmap {

/// Text of the input with control characters, backslashes and the quote escaped.
[[nodiscard]] std::string escaped(std::string_view text, char quote);

/// Text of the input for an error text: control characters escaped, cut at 200 characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The names for an error text: in_quotes() of at most ten of them.
[[nodiscard]] std::string listed(std::span<const std::string_view> names);

/// A part of a text: in_quotes() of it.
struct Quoted {
    std::string_view text;
};

/// A part of a text: text as it is, text of the input, or a number. It views the text, and is used
/// in the expression that makes it.
class TextPart {
  public:
    TextPart(std::string_view text) : text_(text) {}
    TextPart(const char* text) : text_(text) {}
    TextPart(const std::string& text) : text_(text) {}
    TextPart(Quoted input) : text_(input.text), kind_(Kind::input) {}
    template <std::integral Number>
        requires(sizeof(Number) > 1 || std::same_as<Number, std::uint8_t>)
    TextPart(Number number)
        : number_(static_cast<std::uint64_t>(number)),
          kind_(number < 0 ? Kind::negative : Kind::number) {}

    void append_to(std::string& text) const;

  private:
    enum class Kind : std::uint8_t { text, input, number, negative };

    std::string_view text_ = {};
    std::uint64_t number_ = 0;
    Kind kind_ = Kind::text;
};

/// `text_from({"element ", i, " of ", Quoted(name)})`
[[nodiscard]] std::string text_from(std::initializer_list<TextPart> parts);

class Failure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// `code` is stable and determines the class in Python (`wire.*` is a ParseError, and so on).
class Error : public Failure {
  public:
    Error(std::string code_, const std::string& message)
        : Failure(message), code(std::move(code_)) {}
    Error(std::string code_, std::initializer_list<TextPart> message)
        : Error(std::move(code_), text_from(message)) {}

    std::string code;
    std::optional<std::uint64_t> offset;  // of the byte where the bad item starts, in the file
    std::string path;                     // like graph.initializer[3].dims
    std::string file;                     // the bad file, if there is one
    std::string tensor;                   // tensor.* and ext.*: the tensor's name
    std::string location;                 // ext.*: as written in the model
    std::string remedy;                   // the arguments that help: a key of errors.REMEDIES
};

/// The same error with another text.
[[nodiscard]] Error with_text(Error error, const std::string& text);

/// A failure of the operating system, with the file that it concerns.
class FileError : public Failure {
  public:
    FileError(int number_, std::string path_)
        : Failure(path_ + ": " + std::generic_category().message(number_)),
          number(number_),
          path(std::move(path_)) {}

    int number;  // errno
    std::string path;
};

/// Throws Error `code` about a file; its text is the quoted path and `reason`.
[[noreturn]] void fail_at(const char* code, const std::string& path, const std::string& reason);

/// Throws Error `file.changed`: the model no longer has what the load pass found.
[[noreturn]] void fail_changed();

/// Throws Error `file.changed` for messages that are nested deeper than the load pass allowed.
[[noreturn]] void fail_too_deep();

/// Throws Error `limit.depth` for messages that edits nested too deeply.
[[noreturn]] void fail_edited_too_deep();

/// Returns call(), or nothing if that throws a Failure.
template <class Call>
[[nodiscard]] auto if_possible(Call&& call) -> std::optional<decltype(call())> {
    try {
        return std::forward<Call>(call)();
    } catch (const Failure&) {
        return std::nullopt;
    }
}

}  // namespace onnxmap
