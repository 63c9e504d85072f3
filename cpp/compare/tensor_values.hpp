// Compares the values of two tensors of one shape, in whatever form each is stored. They have one
// type, or two floating-point types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compare/differences.hpp"
#include "compare/stored_bytes.hpp"
#include "model/tensor.hpp"

namespace onnxmap::compare {

/// Two documents, when each was last checked for changes, and how they are compared.
struct TwoDocuments {
    const model::Document& a;
    const model::Document& b;
    source::Timestamp since_a;
    source::Timestamp since_b;
    Options options = {};
};

struct ComparedValues {
    bool same = true;
    std::optional<ElementDifference> elements;  // if they differ and could be read
    std::string failure;                        // why they could not be read; `same` is false
};

/// The stored bytes of two tensors if both have their values in one range, in the same layout.
/// Nothing if values must be decoded, or if one of the tensors has a fault. Throws Error
/// `file.changed`, FileError.
[[nodiscard]] std::optional<BytePair> stored_bytes(const TwoDocuments& documents,
                                                   const model::Tensor& a, const model::Tensor& b);

/// Compares the values. `bytes_differ`: it is known that the stored bytes do. Tensors with a fault
/// are the same only if their messages are equal and hold all values; otherwise it is a `failure`.
/// Values that must be decoded are decoded as a whole. Throws Error `file.changed`, FileError.
[[nodiscard]] ComparedValues compare_values(const TwoDocuments& documents, const model::Tensor& a,
                                            const model::Tensor& b, bool bytes_differ = false);

}  // namespace onnxmap::compare
