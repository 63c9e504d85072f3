#include "check/told_shape.hpp"

#include <algorithm>

#include "model/dimension.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

void add_dim(Numbers& dims, std::optional<std::int64_t> dim) {
    // A file may have any number of dimensions. Readers stop at this rank, and so does the check.
    if (dims.size() <= tensor::kMaxRank) dims.push_back(dim.value_or(kUnknown));
}

// The elements of a small tensor of INT64, as axes and sizes are; none if they are elsewhere.
void read_elements(const onnx::Message& tensor, const tensor::Header& header, Numbers& elements) {
    if (!header.raw_data) {
        tensor.for_each_value(field<"TensorProto.int64_data">, [&](const wire::Field& value) {
            if (elements.size() <= kMostElements) elements.push_back(value.int64());
        });
    } else if (header.raw_data->size() <= 8 * kMostElements) {
        for (std::size_t i = 0; i + 8 <= header.raw_data->size(); i += 8) {
            elements.push_back(
                static_cast<std::int64_t>(wire::load64(header.raw_data->data() + i)));
        }
    }
}

}  // namespace

Known told_tensor(const onnx::Message& tensor, Numbers& dims, Numbers& elements) {
    const tensor::Header header = tensor::read_header(tensor);
    if (header.rank > tensor::kMaxRank || header.has_segment) return {};
    dims.assign(header.dims().begin(), header.dims().end());
    std::ranges::replace_if(dims, [](std::int64_t dim) { return dim < 0; }, kUnknown);
    const bool is_list = header.data_type == static_cast<std::int32_t>(onnx::DataType::INT64) &&
                         dims.size() <= 1 && !header.external;
    if (is_list) read_elements(tensor, header, elements);
    return {NumberView(dims), is_list ? std::optional<NumberView>(elements) : std::nullopt};
}

ShapeStore::Id told_shape(ShapeStore& store, const onnx::Message& message, bool with_elements) {
    Numbers dims;
    Numbers elements;
    if (&message.table() == &onnx::message<"TensorProto">) {
        Known known = told_tensor(message, dims, elements);
        if (!with_elements) known.elements.reset();
        return store.add(known);
    }
    if (&message.table() == &onnx::message<"SparseTensorProto">) {
        message.for_each_value(field<"SparseTensorProto.dims">,
                               [&](const wire::Field& dim) { add_dim(dims, dim.int64()); });
    } else {
        const auto type = message.child(field<"ValueInfoProto.type">);
        const wire::FieldRow* const kind = type ? type->which("value") : nullptr;
        if (kind != &field<"TypeProto.tensor_type">) return ShapeStore::kNothing;
        const auto tensor = type->child(*kind);
        const auto shape = tensor ? tensor->child(field<"TypeProto.Tensor.shape">) : std::nullopt;
        if (!shape) return ShapeStore::kNothing;
        shape->for_each_child(field<"TensorShapeProto.dim">, [&](const onnx::Message& dim) {
            add_dim(dims, model::read_dimension(dim).value);
        });
    }
    if (dims.size() > tensor::kMaxRank) return ShapeStore::kNothing;
    return store.add({.dims = NumberView(dims)});
}

bool contradict(const Known& a, const Known& b) {
    return a.dims && b.dims && !std::ranges::equal(*a.dims, *b.dims, [](auto left, auto right) {
               return !differ(left, right);
           });
}

}  // namespace onnxmap::check
