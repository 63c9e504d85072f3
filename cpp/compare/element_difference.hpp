// How much the elements of two arrays of one type differ.
//
// An element is changed if its bits differ: a NaN equals the NaN of the same bits, and 0.0 differs
// from -0.0, by 0. If numbers need not be the same exactly, it is changed if they are too far
// apart, and every NaN equals every other. Elements that are NaN on one side only have no distance.
// The relative difference is |a - b| / max(|a|, |b|), as for Python's math.isclose: it does not
// depend on which array comes first, and is at most 2 for finite numbers. It is infinite if one of
// them is infinite.
#pragma once

#include <cstdint>
#include <vector>

#include "compare/differences.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::compare {

/// Adds what was found among other elements of the same two arrays. The order of the calls does not
/// matter: of equal differences, the element with the lowest index counts.
void merge(ElementDifference& into, const ElementDifference& found);

class ElementComparison {
  public:
    /// `count`: elements of the whole tensor. The type is not STRING.
    ElementComparison(const onnx::DataTypeInfo& type, std::uint64_t count, const Options& options);

    /// Compares `count` elements, each of the type's itemsize; the first has the index `begin`.
    [[nodiscard]] ElementDifference compare(const std::uint8_t* a, const std::uint8_t* b,
                                            std::uint64_t begin, std::uint64_t count) const;

  private:
    const onnx::DataTypeInfo& type_;
    Options options_;
    std::vector<float> table_;  // by code, if it is worth its memory
};

}  // namespace onnxmap::compare
