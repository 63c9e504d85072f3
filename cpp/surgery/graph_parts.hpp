// Parts of graphs and functions that several edits find or change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "model/node_values.hpp"
#include "model/rename.hpp"
#include "onnx/message.hpp"

namespace onnxmap::surgery {

using model::is_function;

/// Whether a text of a message in `holder` is the name of a value of a graph or function.
[[nodiscard]] bool names_value(const wire::FieldRow& holder, const wire::FieldRow& row) noexcept;

/// Whether type and rank of a value of the graph are known: its ValueInfo has them, or it is an
/// initializer.
[[nodiscard]] bool is_described(const model::NodeValues& graph, std::string_view value);

/// How to say it, for errors.
inline constexpr const char* kToState =
    "state it with graph.value_infos.append(onnxmap.make_tensor_value_info(name, dtype, shape))";

/// Adds a value of `graph` to a list of values of the graph `to`, in any document, with the type
/// that is known of it.
void add_value(const model::Document& document, const onnx::Message& to, const wire::FieldRow& list,
               const model::Graph& graph, std::string_view value);

/// Calls visit(graph, place) for each graph of an attribute: `place` is where it is, behind the
/// path of the attribute.
template <class Visit>
void for_each_graph_of(const model::Attribute& attribute, Visit&& visit) {
    const bool is_list = attribute.value_field() == &onnx::field<"AttributeProto.graphs">;
    std::uint64_t i = 0;
    attribute.for_each_graph([&](const onnx::Message& graph) {
        visit(graph, is_list ? ".graphs[" + std::to_string(i++) + "]" : std::string(".g"));
    });
}

/// The attribute with the value of a Constant node; nothing for other nodes.
[[nodiscard]] std::optional<model::Attribute> value_of_constant(const model::Node& node);

/// What a graph says of the type of a value: a TypeProto, or its initializer.
struct KnownType {
    std::optional<onnx::Message> type;
    std::optional<onnx::Message> tensor;
};
[[nodiscard]] KnownType known_type(const model::NodeValues& graph, std::string_view value);

/// Gives a ValueInfoProto of the same document the type that is known; none if none is.
void set_type(const model::Document& document, const onnx::Message& info, const KnownType& known);

/// Before this version of the IR, each initializer is the default of an input.
/// Source: onnx.proto, Version: IR_VERSION_2019_1_22.
inline constexpr std::int64_t kFirstWithFreeInitializers = 4;

/// Takes the length of a path from what is left for all paths of a report. Throws Error
/// `limit.text_bytes` if that is less. Paths repeat the names around them: a small file must not
/// make much text of them.
void take_text(std::uint64_t& left, std::string_view path);

/// The version of each domain that a model or function imports in a list; of several, the newest.
using Versions = std::map<std::string_view, std::int64_t>;
[[nodiscard]] Versions imported_versions(const onnx::Message& importer, const wire::FieldRow& list);

/// Sets a field that is a varint.
void set_number(const model::Document& document, const onnx::Message& message,
                const wire::FieldRow& row, std::int64_t number);

/// New names of values by their old ones.
using NewNames = model::NameMap<std::string_view>;

/// Lets the sharding specs of a node use new names.
void rename_shards(const model::Document& document, const onnx::Message& node,
                   const NewNames& names);

/// A user of the value `before` that is to use `after`: an input of a node, with its sharding
/// specs, or an output of a graph or function.
struct NewUse {
    model::UserOfValue user;
    std::string_view before;
    std::string_view after;
};

/// Lets all users use the other values. One edit is for uses in a row of one node: a node may have
/// very many inputs.
void use_instead(const model::Document& document, std::span<const NewUse> uses);

/// The list of inner values of a graph or function.
[[nodiscard]] inline const wire::FieldRow& value_infos_of(const onnx::Message& body) noexcept {
    return is_function(body) ? onnx::field<"FunctionProto.value_info">
                             : onnx::field<"GraphProto.value_info">;
}

/// Removes the messages of a list for which is_gone(message) says so, in one edit.
template <class IsGone>
void erase_if(const model::Document& document, const onnx::Message& holder,
              const wire::FieldRow& list, IsGone&& is_gone) {
    const onnx::Message now = holder.current();
    std::vector<std::uint64_t> gone;
    std::uint64_t position = 0;
    document.index(now)->for_each_child(list, [&](const onnx::Message& each) {
        if (is_gone(each)) gone.push_back(position);
        ++position;
    });
    if (!gone.empty()) model::erase(document, now, list, gone);
}

/// The ValueInfoProto of the i-th output of a graph.
[[nodiscard]] onnx::Message output_at(const model::Document& document, const onnx::Message& graph,
                                      std::uint64_t i);

}  // namespace onnxmap::surgery
