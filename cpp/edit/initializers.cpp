#include "edit/initializers.hpp"

#include <algorithm>

#include "edit/message_edits.hpp"
#include "model/tensor.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::edit {

using onnx::field;

Initializer initializer_at(const Handle& graph, const model::Initializers& list,
                           std::uint32_t position) {
    Initializer found{{graph.document, list.at(position)}, {position}};
    const model::Tensor tensor(*graph.document, found.tensor.made);
    if (!tensor.header().has_segment) return found;
    std::uint64_t next = 0;
    list.for_each_name([&](std::string_view each) {
        const std::uint64_t here = next++;
        if (here > position && each == tensor.header().name) found.positions.push_back(here);
    });
    return found;
}

bool is_alike(const Handle& a, const Handle& b) {
    const auto header_of = [](const Handle& tensor) {
        return below_guard(tensor, [&] { return tensor::read_header(tensor.message()); });
    };
    const tensor::Header one = header_of(a);
    const tensor::Header other = header_of(b);
    return one.data_type == other.data_type && std::ranges::equal(one.dims(), other.dims());
}

void put_initializer(const Handle& graph, std::string_view name, const Handle& made,
                     const std::optional<Initializer>& before) {
    const wire::FieldRow& row = field<"GraphProto.initializer">;
    if (before) {
        const NewElement values{before->positions.front(), with_values_of(before->tensor, made)};
        splice(graph, row, {&values, 1}, before->positions);
        return;
    }
    const wire::FieldRow& name_row = field<"TensorProto.name">;
    change_message(made, model::set_value, name_row, model::text_value(name_row, name));
    const NewElement added{kAtEnd, made};
    splice(graph, row, {&added, 1});
}

}  // namespace onnxmap::edit
