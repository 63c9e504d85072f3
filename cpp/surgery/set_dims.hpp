// New dimensions of the inputs of a model, and of all values that depend on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "surgery/size_places.hpp"

namespace onnxmap::surgery {

struct NewDims {
    std::vector<std::pair<std::string, NewDim>> params;               // by their names
    std::vector<std::pair<std::string, std::vector<NewDim>>> inputs;  // of the main graph
    bool constants = false;  // whether the caller will rewrite constants
};

struct DimReport {
    std::vector<std::string> value_infos;  // the names of values whose stored types are gone
    std::vector<SizePlace> places;         // of constants that hold a number that was changed
};

/// Replaces names of dimensions in all types of the model, and dimensions of inputs. If the
/// dimension of an input was a name, the new one replaces that name everywhere, and a dimension
/// that is an expression of the name becomes unknown. If it was a number, the stored types of
/// values that depend on the input are out of date: their value infos go, also in called functions,
/// and numbers in the shapes of outputs, and of inputs of subgraphs, become unknown.
/// Throws before the first edit: UnknownNames; std::invalid_argument if a dimension would be two
/// things, or if an input has another rank or a default of another shape; what
/// FlowTable::check_makers() throws.
DimReport set_dims(const model::Document& document, const NewDims& dims);

}  // namespace onnxmap::surgery
