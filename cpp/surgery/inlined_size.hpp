// How large and how deep a model becomes when functions are inlined: found before anything is
// copied, since a file of a megabyte can ask for a gigabyte.
#pragma once

#include <cstdint>

#include "onnx/message.hpp"

namespace onnxmap::surgery {

/// What takes the place of a call, without what the call gives. Numbers may be too large, but never
/// too small.
struct InlinedSize {
    std::uint64_t nbytes = 0;
    std::uint64_t nodes = 0;       // each gets the metadata of the call
    std::uint64_t names = 0;       // of values: each may become a name in the call
    std::uint64_t references = 0;  // each may become an attribute of the call
    std::uint32_t depth = 0;       // of the deepest message; that of the function is 0

    // Of the function alone:
    std::uint64_t inputs = 0;
    std::uint64_t outputs = 0;
    std::uint64_t default_nbytes = 0;  // of the largest default of an attribute
    std::uint32_t default_depth = 0;   // of the deepest one

    /// The most bytes that a call of the function makes.
    [[nodiscard]] std::uint64_t nbytes_of(const onnx::Message& call) const;

    /// The depth of the deepest message that a call at the depth `at` makes. Throws Error
    /// `limit.depth`.
    [[nodiscard]] std::uint32_t depth_of(const onnx::Message& call, std::uint32_t at,
                                         std::uint32_t max_depth) const;

    /// Adds what a node of the function, at the depth `at`, makes that calls another one. Throws
    /// Error `limit.depth`.
    void add_call(const onnx::Message& call, std::uint32_t at, const InlinedSize& called,
                  std::uint32_t max_depth);
};

/// The size of a function, its subgraphs included, without what it calls. Throws Error
/// `limit.depth`.
[[nodiscard]] InlinedSize size_of(const onnx::Message& function, std::uint32_t max_depth);

}  // namespace onnxmap::surgery
