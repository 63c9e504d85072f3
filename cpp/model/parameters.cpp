#include "model/parameters.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "model/node.hpp"
#include "onnx/operators.hpp"
#include "tensor/header.hpp"
#include "tensor/segments.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::Message;

namespace {

// Of a TensorProto, or the values of a SparseTensorProto; 0 for other messages.
std::uint64_t size_of_tensor(const Message& message) {
    if (&message.table() == &onnx::message<"SparseTensorProto">) {
        const auto values = message.child(field<"SparseTensorProto.values">);
        return values ? size_of_tensor(*values) : 0;
    }
    if (&message.table() != &onnx::message<"TensorProto">) return 0;
    const tensor::Header header = tensor::read_header(message);
    if (header.has_segment) return tensor::segment_count(message);
    return if_possible([&] { return tensor::element_count(header); }).value_or(0);
}

class Count {
  public:
    explicit Count(std::uint32_t max_depth) : depth_left_(max_depth) {}
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

    // A graph or function.
    void add(const Message& body) {
        if (depth_left_-- == 0) onnx::fail_too_deep(body);
        body.for_each_field([&](const wire::Field& value, const wire::FieldRow* row) {
            if (row == nullptr || !row->is_message()) return;
            const Message inner = body.inner(*row, value);
            if (is_node(inner)) {
                add_node(Node(inner));
            } else {
                sum_ = add_sat(sum_, size_of_tensor(inner));
            }
        });
        ++depth_left_;
    }

  private:
    void add_node(const Node& node) {
        const bool is_constant =
            node.op_type() == "Constant" && onnx::plain_domain(node.domain()).empty();
        node.message().for_each_child(field<"NodeProto.attribute">, [&](const Message& value) {
            const Attribute attribute(value);
            if (is_constant) {
                add_value(attribute);
            } else if (attribute.may_hold_graph()) {
                attribute.for_each_graph([&](const Message& graph) { add(graph); });
            }
        });
    }

    // A tensor, a number, a string or a list.
    void add_value(const Attribute& attribute) {
        const wire::FieldRow* const row = attribute.value_field();
        if (row == nullptr) return;
        const Message& holder = attribute.message();
        holder.for_each_value(*row, [&](const wire::Field& value) {
            const bool is_number = !row->is_message();
            sum_ = add_sat(sum_, is_number ? 1 : size_of_tensor(holder.inner(*row, value)));
        });
    }

    std::uint64_t sum_ = 0;
    std::uint32_t depth_left_;
};

}  // namespace

std::uint64_t count_parameters(const Document& document) {
    Count count(document.limits().depth);
    const Message root = document.root();
    if (const auto graph = root.child(field<"ModelProto.graph">)) count.add(*graph);
    const wire::FieldRow& row = field<"ModelProto.functions">;
    root.for_each_child(row, [&](const Message& value) { count.add(value); });
    return count.sum();
}

}  // namespace onnxmap::model
