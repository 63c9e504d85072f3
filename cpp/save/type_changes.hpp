// Which initializers a save writes in another type. Each gets a new name, and a node Cast gives its
// value the old name and the old type, so nothing else in the model changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/document.hpp"
#include "model/inline_tensors.hpp"
#include "onnx/data_type.hpp"
#include "onnx/message.hpp"
#include "tensor/header.hpp"

namespace onnxmap::save {

/// The types for initializers by their names; null: the type stays.
using TypesOf =
    std::function<std::vector<const onnx::DataTypeInfo*>(std::span<const std::string> names)>;

struct TypeChange {
    std::string old_name;  // without the type that an earlier save added
    std::string name;      // in the new model; the old one if no node Cast follows
    const onnx::DataTypeInfo* from;
    const onnx::DataTypeInfo* to;
    const onnx::DataTypeInfo* of_value;  // with the old name
};

/// The type of a tensor in the new file. Throws Error `tensor.dtype`.
[[nodiscard]] inline const onnx::DataTypeInfo& new_type(const tensor::Header& header,
                                                        const TypeChange* change) {
    return change != nullptr ? *change->to : tensor::element_type(header);
}

struct TypeChanges {
    /// The changed initializers of a graph, by their keys, in file order, and the positions of the
    /// nodes Cast that an earlier save added for them.
    struct OfGraph {
        onnx::Message graph;
        std::vector<const std::uint8_t*> tensors;
        std::set<std::uint64_t> old_casts = {};
    };

    bool has_candidates = false;  // initializers whose type could change
    std::unordered_map<const std::uint8_t*, TypeChange> by_tensor;
    std::vector<OfGraph> graphs;

    [[nodiscard]] const TypeChange* find(const onnx::Message& tensor) const {
        const auto found = by_tensor.find(tensor.key());
        return found == by_tensor.end() ? nullptr : &found->second;
    }
};

/// The changes in a model. Asks `types_of` once for all floating-point initializers of graphs and
/// subgraphs; those that decide a shape, sparse ones, and those in functions and training_info are
/// left out. If an earlier save changed the type, its node Cast goes, and a new one follows only if
/// the new type is not that of the value. Throws Error `save.dtype` if an initializer is also an
/// input of its graph, if its name stands twice, or if training_info uses it; `save.opset` if the
/// model is too old for the nodes Cast.
[[nodiscard]] TypeChanges find_type_changes(const model::Document& document,
                                            const model::InlineTensors& inlines,
                                            const TypesOf& types_of);

/// The same for a file of weights, which has no nodes: of the initializers of the main graph, or of
/// some of them. Names stay.
[[nodiscard]] TypeChanges find_weight_changes(
    const model::Document& document, const TypesOf& types_of,
    const std::optional<std::set<std::string, std::less<>>>& names);

}  // namespace onnxmap::save
