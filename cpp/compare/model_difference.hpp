// The differences between two models, found in two steps: a walk over both, and a comparison of
// their large tensors.
//
// What is no difference: the order of initializers, of metadata and of other lists whose elements
// have names, except nodes, inputs and outputs; and the form in which a tensor is stored: its
// location, the entries of external_data, segments, the field that has its values, and the metadata
// of a view; whether a field is absent or has its default; and the names of ONNX's own domain.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "compare/differences.hpp"
#include "compare/model_comparison.hpp"
#include "model/document.hpp"

namespace onnxmap::compare {

class ModelDifference {
  public:
    using DocumentPtr = std::shared_ptr<const model::Document>;

    /// Walks over both models. Throws Error `file.changed`, `limit.overlap`, FileError and
    /// os::Stopped.
    ModelDifference(DocumentPtr a, DocumentPtr b, const Options& options = {});

    /// How many bytes of each model finish() compares.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

    /// Compares the large tensors, looks for renamed ones, and returns everything that differs.
    /// Adds to `done` the bytes that are compared. Call it once. Throws what the constructor
    /// throws.
    [[nodiscard]] Differences finish(std::atomic<std::uint64_t>& done);

  private:
    DocumentPtr a_;
    DocumentPtr b_;
    TwoDocuments documents_;
    Differences found_;
    ModelComparison walk_;
    std::uint64_t nbytes_ = 0;
};

}  // namespace onnxmap::compare
