// Two models as one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

struct MergeOptions {
    /// An output of the first model, and the input of the second whose place it takes.
    std::vector<std::pair<std::string, std::string>> connect;
    /// Before the names of values and nodes of the second model, in subgraphs, too, and of all its
    /// functions if the first has another one of the same name.
    std::string prefix;
    /// Inputs of both models that are one.
    std::vector<std::string> share;
};

/// A model that runs `a`, then `b`. Its inputs and outputs are those of both, without the connected
/// ones. An initializer that both have under one name comes once. Throws UnknownNames, and
/// std::invalid_argument if the models contradict each other: they have other values or nodes of
/// one name, import two versions of a domain, or have different functions, metadata or device
/// configurations of one name; or if a connection has two types, `b` has training information, or
/// the training information of `a` assigns a connected output.
[[nodiscard]] std::shared_ptr<const model::Document> merge(const model::Document& a,
                                                           const model::Document& b,
                                                           const MergeOptions& options);

}  // namespace onnxmap::surgery
