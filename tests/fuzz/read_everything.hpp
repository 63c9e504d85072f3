// Reads everything that the core can tell of a message, in every way that there is, and compares
// the ways with one another.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"
#include "model/document.hpp"

namespace onnxmap::fuzz {

/// What may be wrong with a document that was loaded.
enum class Bytes {
    constant,  // nothing about its structure; all ways to read it agree
    lazy,      // typed values, which were not looked at on loading
    changing,  // everything, as long as it is an error
};

/// Loads the source as a message of that type and reads it. Aborts where something is thrown that
/// is no error about the input, or where two ways to read the same differ.
void load_and_read(std::shared_ptr<io::Source> source, const model::LoadOptions& options,
                   bool require_model, Bytes bytes);

/// The same for a document that is one TensorProto. Returns a hash of all values in all types.
[[nodiscard]] std::uint64_t read_tensor(const model::Document& document, Bytes bytes);

/// Ends the process, and says what is not as it must be.
[[noreturn]] void fail(const char* what);

inline void require(bool holds, const char* what) {
    if (!holds) fail(what);
}

/// Has every byte looked at.
void touch(ByteView bytes);

/// A number that every bit of the input has a say in: which of several ways to go.
[[nodiscard]] std::uint64_t hash_of(ByteView bytes) noexcept;

}  // namespace onnxmap::fuzz
