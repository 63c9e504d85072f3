// Parts of graphs and functions that several edits find or change.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/edit_message.hpp"
#include "model/graph.hpp"
#include "model/node_values.hpp"
#include "onnx/message.hpp"

namespace onnxmap::surgery {

[[nodiscard]] inline bool is_function(const onnx::Message& body) noexcept {
    return &body.table() == &onnx::message<"FunctionProto">;
}

/// Whether type and rank of a value of the graph are known: its ValueInfo has them, or it is an
/// initializer.
[[nodiscard]] bool is_described(const model::Graph& graph, std::string_view value);

/// Adds a value of `graph` to a list of values of the graph `to`, in any document, with the type
/// that is known of it.
void add_value(const model::Document& document, const onnx::Message& to, const wire::FieldRow& list,
               const model::Graph& graph, std::string_view value);

/// Sets a field that is a varint.
void set_number(const model::Document& document, const onnx::Message& message,
                const wire::FieldRow& row, std::int64_t number);

/// Replaces one text of a repeated field.
void set_text(const model::Document& document, const onnx::Message& message,
              const wire::FieldRow& row, std::uint32_t index, std::string_view text);

/// Lets the sharding specs of a node name `after` where they name `before`.
void rename_shards(const model::Document& document, const onnx::Message& node,
                   std::string_view before, std::string_view after);

/// Lets a user of the value `before` use `after`: an input of a node, with its sharding specs, or
/// an output of a graph or function.
void use_instead(const model::Document& document, const model::UserOfValue& user,
                 std::string_view before, std::string_view after);

/// The ValueInfoProto of the i-th output of a graph.
[[nodiscard]] onnx::Message output_at(const model::Document& document, const onnx::Message& graph,
                                      std::uint64_t i);

/// Whether a value is an output of the graph or function.
[[nodiscard]] bool has_output(const model::NodeValues& body, std::string_view value);

/// Removes what a graph or function says of a value in its list of inner values.
void forget_value_info(const model::Document& document, const onnx::Message& body,
                       std::string_view value);

/// Removes the annotations of a value as well.
void forget_value(const model::Document& document, const onnx::Message& body,
                  std::string_view value);

}  // namespace onnxmap::surgery
