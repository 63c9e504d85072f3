// How large a model becomes when functions are inlined: found before anything is copied, since a
// file of a megabyte can ask for a gigabyte.
#pragma once

#include <cstdint>

#include "onnx/message.hpp"

namespace onnxmap::surgery {

/// What takes the place of a call, without what the call gives.
struct InlinedSize {
    std::uint64_t nbytes = 0;
    std::uint64_t nodes = 0;       // each gets the metadata of the call
    std::uint64_t names = 0;       // of values: each may become a name in the call
    std::uint64_t references = 0;  // each may become an attribute of the call

    /// The most bytes that a call of the function makes.
    [[nodiscard]] std::uint64_t nbytes_of(const onnx::Message& call,
                                          const onnx::Message& function) const;

    /// Adds what a node of the function makes that calls another one.
    void add_call(const onnx::Message& call, const onnx::Message& called, const InlinedSize& size,
                  std::uint32_t max_depth);
};

/// The size of a function, its subgraphs included, without what it calls. Throws Error
/// `limit.depth`.
[[nodiscard]] InlinedSize size_of(const onnx::Message& function, std::uint32_t max_depth);

}  // namespace onnxmap::surgery
