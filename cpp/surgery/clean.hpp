// Edits of a whole model that change no result: another order, fewer tensors, less documentation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

/// Puts the nodes of each graph and function behind those whose values they use; otherwise their
/// order stays. Before the first edit, throws Error `model.cycle`, whose text has the place of a
/// node in a cycle, and `model.duplicate_name` if several nodes make one value.
void sort(const model::Document& document);

/// What strip() removes.
struct Words {
    bool doc_strings = true;
    bool metadata = false;
    bool value_infos = false;
};

/// Removes documentation, metadata and the types of inner values, from all messages.
void strip(const model::Document& document, const Words& words);

/// Lets the tensors and numbers of Constant nodes be initializers of their graphs, from that many
/// bytes on. Those that are outputs stay, those of functions (not of their subgraphs), and those
/// whose name a subgraph also makes. Returns their names. Before the first edit, throws
/// std::invalid_argument if the IR version has no initializers that are no inputs.
std::vector<std::string> lift_constants(const model::Document& document, std::uint64_t min_bytes);

/// Initializers of one graph that are equal in type, shape and bits to another one.
struct Duplicates {
    struct Tensor {
        std::string name;
        std::string first;  // the name of the first equal one
    };
    onnx::Message graph;
    std::vector<Tensor> tensors;
};

/// Those of all graphs, without inputs, outputs, annotated tensors and the variables of training.
/// Reads tensors that may be equal. Throws Error `file.changed`, FileError, os::Stopped.
std::vector<Duplicates> find_duplicates(const model::Document& document);

/// Lets all that uses a duplicate use the first one, and removes it, unless a subgraph would hide
/// the first one. Returns the names that went, with those that took their places.
std::vector<std::pair<std::string, std::string>> merge_duplicates(
    const model::Document& document, const std::vector<Duplicates>& duplicates);

}  // namespace onnxmap::surgery
