// Initializers that are equal become one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

/// The name of an initializer, and that of the first one that is equal.
using Merged = std::pair<std::string, std::string>;

/// Initializers of one graph that are equal in type, shape and bits to another one.
struct Duplicates {
    onnx::Message graph;
    std::vector<Merged> tensors;
};

/// Those of all graphs, without inputs, outputs, annotated tensors and the variables of training.
/// Reads tensors that may be equal. Throws Error `file.changed`, FileError, os::Stopped.
std::vector<Duplicates> find_duplicates(const model::Document& document);

/// Lets all that uses a duplicate use the first one, and removes it, unless a subgraph would hide
/// the first one. Returns those that went.
std::vector<Merged> merge_duplicates(const model::Document& document,
                                     const std::vector<Duplicates>& duplicates);

}  // namespace onnxmap::surgery
