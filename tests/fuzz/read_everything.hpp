// Reads everything that the core can tell about a message in every way, and compares the ways.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"
#include "model/document.hpp"

namespace onnxmap::fuzz {

/// What may be wrong with a document that was loaded.
enum class InputBytes {
    constant,  // nothing about its structure; all ways to read it agree
    lazy,      // typed values, which were not looked at on loading
    changing,  // everything, as long as it is an error
};

/// Loads the source as a message of that type and reads it. Aborts if an exception is not an error
/// about the input, or if two ways to read the same thing differ.
void load_and_read(std::shared_ptr<source::Source> source, const model::LoadOptions& options,
                   bool require_model, InputBytes bytes);

/// The same for a document that was loaded and edited.
void read_document(const model::Document& document);

/// The same for a document that is one TensorProto. Returns a hash of all values in all types.
[[nodiscard]] std::uint64_t read_tensor(const model::Document& document, InputBytes bytes);

/// Ends the process with a message that says what is wrong.
[[noreturn]] void fail(const char* what);

inline void require(bool holds, const char* what) {
    if (!holds) fail(what);
}

/// Reads every byte.
void touch(ByteView bytes);

/// A hash of the input, to choose one of several ways.
[[nodiscard]] std::uint64_t hash_of(ByteView bytes) noexcept;

}  // namespace onnxmap::fuzz
