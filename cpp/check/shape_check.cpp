#include "check/shape_check.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

// Source: the operators of version 7 and later that say "multidirectional broadcasting".
constexpr std::string_view kBroadcasting[] = {
    "Add",        "And",         "BitShift", "BitwiseAnd", "BitwiseOr",
    "BitwiseXor", "Div",         "Equal",    "Greater",    "GreaterOrEqual",
    "Less",       "LessOrEqual", "Max",      "Mean",       "Min",
    "Mod",        "Mul",         "Or",       "Pow",        "Sub",
    "Sum",        "Where",       "Xor"};
constexpr std::int64_t kFirstThatBroadcasts = 7;

bool broadcasts(const onnx::Operator& op) {
    return op.since() >= kFirstThatBroadcasts &&
           std::ranges::find(kBroadcasting, op.name()) != std::end(kBroadcasting);
}

bool differ(std::int64_t a, std::int64_t b) noexcept { return a >= 0 && b >= 0 && a != b; }

std::int64_t int_attribute(const onnx::Message& node, std::string_view name, std::int64_t missing) {
    const wire::FieldRow& row = field<"NodeProto.attribute">;
    std::int64_t found = missing;
    node.for_each_value(row, [&](const wire::Field& value) {
        const onnx::Message attribute = node.inner(row, value);
        if (attribute.text(field<"AttributeProto.name">) != name) return;
        if (attribute.has(field<"AttributeProto.ref_attr_name">)) found = -1;  // the caller's
        if (const auto number = attribute.find(field<"AttributeProto.i">)) found = number->int64();
    });
    return found;
}

WrongShape wrong(std::size_t slot, const std::string& what, const Shape& shape,
                 std::string_view other, const Shape& other_shape) {
    return {slot, what + ": its shape is " + shape_text(shape) + ", and that of " +
                      std::string(other) + " " + shape_text(other_shape)};
}

// Whether the dimensions do, but for the last `left_out`.
bool broadcast(const Shape& a, const Shape& b, std::size_t left_out = 0) {
    for (std::size_t i = 1 + left_out; i <= std::min(a.size(), b.size()); ++i) {
        const std::int64_t left = a[a.size() - i];
        const std::int64_t right = b[b.size() - i];
        if (left != 1 && right != 1 && differ(left, right)) return false;
    }
    return true;
}

// There may be any number of inputs, so each is compared with what those before it make.
std::optional<WrongShape> check_broadcast(const InputShapes& in) {
    // The last dimension comes first.
    std::array<std::int64_t, tensor::kMaxRank> made;  // NOLINT: filled up to the rank
    std::size_t rank = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (in[i] == nullptr) continue;
        const Shape& shape = *in[i];
        while (rank < std::min(shape.size(), made.size())) made.at(rank++) = 1;
        for (std::size_t k = 0; k < std::min(shape.size(), rank); ++k) {
            const std::int64_t dim = shape[shape.size() - 1 - k];
            if (dim < 0 || dim == 1) continue;
            if (made.at(k) == 1) made.at(k) = dim;
            if (made.at(k) == dim) continue;
            const auto other = std::ranges::find_if(
                in, [&](auto each) { return each != nullptr && !broadcast(*each, shape); });
            return wrong(i, "the inputs do not broadcast", shape,
                         "input " + std::to_string(other - in.begin()), **other);
        }
    }
    return std::nullopt;
}

std::optional<WrongShape> check_matmul(const InputShapes& in) {
    for (std::size_t i = 0; i < 2; ++i) {
        if (in[i] != nullptr && in[i]->empty()) {
            return WrongShape{i, "it does not take a scalar"};
        }
    }
    if (in[0] == nullptr || in[1] == nullptr) return std::nullopt;
    const Shape& a = *in[0];
    const Shape& b = *in[1];
    const std::int64_t rows = b.size() == 1 ? b[0] : b[b.size() - 2];
    if (differ(a.back(), rows)) return wrong(1, "the inner dimensions differ", b, "input 0", a);
    if (!broadcast(a, b, 2)) return wrong(1, "the outer dimensions differ", b, "input 0", a);
    return std::nullopt;
}

std::optional<WrongShape> check_gemm(const onnx::Operator& op, const onnx::Message& node,
                                     const InputShapes& in) {
    for (std::size_t i = 0; i < 2; ++i) {
        if (in[i] != nullptr && in[i]->size() != 2) {
            return WrongShape{i, "Gemm takes matrices, and the shape is " + shape_text(*in[i])};
        }
    }
    if (in[1] == nullptr) return std::nullopt;
    const std::int64_t turned_a = int_attribute(node, "transA", 0);
    const std::int64_t turned_b = int_attribute(node, "transB", 0);
    if (turned_a < 0 || turned_b < 0) return std::nullopt;
    const Shape& b = *in[1];
    if (in[0] != nullptr) {
        const Shape& a = *in[0];
        if (differ(a[turned_a != 0 ? 0 : 1], b[turned_b != 0 ? 1 : 0])) {
            return wrong(1, "the inner dimensions differ", b, "input 0", a);
        }
    }
    if (in[2] == nullptr || op.since() < kFirstThatBroadcasts) return std::nullopt;
    const Shape& c = *in[2];
    const std::int64_t columns = b[turned_b != 0 ? 0 : 1];
    if (c.size() > 2 || (!c.empty() && c.back() != 1 && differ(c.back(), columns))) {
        return wrong(2, "it does not broadcast to the result", c, "input 1", b);
    }
    return std::nullopt;
}

std::optional<WrongShape> check_conv(const onnx::Message& node, const InputShapes& in) {
    if (in[1] == nullptr) return std::nullopt;
    const Shape& w = *in[1];
    if (w.size() < 3) {
        return WrongShape{
            1, "Conv takes weights of at least 3 dimensions, and the shape is " + shape_text(w)};
    }
    if (in[0] != nullptr) {
        const Shape& x = *in[0];
        if (x.size() != w.size()) {
            return wrong(1, "it has another number of dimensions than input 0", w, "input 0", x);
        }
        const std::int64_t groups = int_attribute(node, "group", 1);
        if (groups > 0 && x[1] >= 0 && w[1] >= 0 && (x[1] % groups != 0 || x[1] / groups != w[1])) {
            return wrong(1,
                         "the channels differ for " + std::to_string(groups) + " group" +
                             (groups == 1 ? "" : "s"),
                         w, "input 0", x);
        }
    }
    if (in[2] == nullptr) return std::nullopt;
    const Shape& bias = *in[2];
    if (bias.size() != 1 || differ(bias[0], w[0])) {
        return wrong(2, "a bias has one value for each filter", bias, "input 1", w);
    }
    return std::nullopt;
}

Shape shape_of_type(const onnx::Message& shape) {
    const wire::FieldRow& row = field<"TensorShapeProto.dim">;
    Shape dims;
    shape.for_each_value(row, [&](const wire::Field& value) {
        if (dims.size() > tensor::kMaxRank) return;
        const auto dim =
            shape.inner(row, value).find(field<"TensorShapeProto.Dimension.dim_value">);
        dims.push_back(dim ? std::max<std::int64_t>(dim->int64(), -1) : -1);
    });
    return dims;
}

// A file may have any number of dimensions: readers have no more than these, and so has the time of
// a check.
std::optional<Shape> usual(const Shape& shape) {
    return shape.size() <= tensor::kMaxRank ? std::optional(shape) : std::nullopt;
}

}  // namespace

std::optional<Shape> told_shape(const onnx::Message& message) {
    if (&message.table() == &onnx::message<"TensorProto">) {
        const tensor::Header header = tensor::read_header(message);
        if (header.rank > tensor::kMaxRank || header.has_segment) return std::nullopt;
        return Shape(header.dims().begin(), header.dims().end());
    }
    if (&message.table() == &onnx::message<"SparseTensorProto">) {
        Shape dims;
        message.for_each_value(field<"SparseTensorProto.dims">, [&](const wire::Field& dim) {
            if (dims.size() <= tensor::kMaxRank) dims.push_back(dim.int64());
        });
        return usual(dims);
    }
    const auto type = message.child(field<"ValueInfoProto.type">);
    const wire::FieldRow* const kind = type ? type->which("value") : nullptr;
    if (kind != &field<"TypeProto.tensor_type">) return std::nullopt;
    const auto tensor = type->child(*kind);
    const auto shape = tensor ? tensor->child(field<"TypeProto.Tensor.shape">) : std::nullopt;
    return shape ? usual(shape_of_type(*shape)) : std::nullopt;
}

std::string shape_text(const Shape& shape) {
    std::string text = "[";
    for (const std::int64_t dim : shape) {
        if (text.size() > 1) text += ", ";
        text += dim < 0 ? "?" : std::to_string(dim);
    }
    return text += ']';
}

bool contradict(const Shape& a, const Shape& b) {
    return !std::ranges::equal(a, b, [](auto left, auto right) { return !differ(left, right); });
}

const Shape* ToldShapes::find(VisibleValues::Id value) {
    if (!is_sorted_) {
        std::ranges::stable_sort(told_, {}, &Told::value);
        is_sorted_ = true;
    }
    const auto found = std::ranges::lower_bound(told_, value, {}, &Told::value);
    if (found == told_.end() || found->value != value) return nullptr;
    if (found->row != nullptr) {
        const wire::Field element = fields_.at(*found->row, found->index);
        found->shape = told_shape(fields_.message().inner(*found->row, element));
        found->row = nullptr;
    }
    return found->shape ? &*found->shape : nullptr;
}

bool has_shape_rule(const onnx::Operator& op) {
    return op.name() == "Conv" || op.name() == "Gemm" || op.name() == "MatMul" || broadcasts(op);
}

std::optional<WrongShape> wrong_shape(const onnx::Operator& op, const onnx::Message& node,
                                      const InputShapes& inputs) {
    if (op.name() == "Conv") return check_conv(node, inputs);
    if (op.name() == "Gemm") return check_gemm(op, node, inputs);
    return op.name() == "MatMul" ? check_matmul(inputs) : check_broadcast(inputs);
}

}  // namespace onnxmap::check
