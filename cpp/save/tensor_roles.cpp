#include "save/tensor_roles.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/copy_message.hpp"
#include "model/message_walk.hpp"
#include "save/external_use.hpp"
#include "source/owned_bytes.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

using onnx::field;

Role role_of(std::string_view path) {
    if (path.ends_with(".t")) return Role::attribute;
    if (!path.ends_with(']')) return Role::other;  // a part of a sparse tensor
    path = path.substr(0, path.rfind('['));
    const std::string_view field = path.substr(path.rfind('.') + 1);
    if (field == "initializer") return Role::initializer;
    return field == "tensors" ? Role::attribute : Role::other;
}

bool was_external(const model::Edits& edits, const onnx::Message& tensor) {
    const onnx::Message first = edits.first_in_place(tensor);
    const bool is_other = first.key() != tensor.key();
    return (is_other || tensor.edited()) &&
           tensor::read_header(onnx::Message(tensor.table(), first.loaded())).external;
}

bool has_new_place(const model::Document& document, const model::Tensor& tensor) {
    const onnx::Message& message = tensor.message();
    if (!tensor.header().external) return false;
    if (document.edits().is_added(message.key())) return true;
    if (!document.edits().any()) return false;
    const model::Tensor loaded(document, onnx::Message(message.table(), message.loaded()));
    const auto place_if_valid = [](const model::Tensor& each) {
        return if_possible([&] { return each.external(); }).value_or(std::nullopt);
    };
    return place_if_valid(loaded) != place_if_valid(tensor);
}

tensor::Payload decoded(tensor::Values values) {
    return source::guard_reads(values.source(), [&] {
        values.check_count();
        auto bytes = std::make_shared<source::OwnedBytes>(
            tensor::packed_nbytes(values.count(), values.type().bits));
        values.read_packed(bytes->writable());
        return tensor::Payload{bytes, 0, bytes->size()};
    });
}

std::optional<tensor::Payload> decoded_if_valid(tensor::Values values) {
    try {
        return decoded(std::move(values));
    } catch (const Error& error) {
        if (!error.code.starts_with("tensor.")) throw;
        return std::nullopt;
    }
}

std::map<std::uint64_t, std::string> take_locations(const model::Document& document) {
    std::map<std::uint64_t, std::string> locations;
    std::vector<onnx::Message> found;
    std::uint64_t position = 0;
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& message) {
        const std::uint64_t here = position++;
        const model::Tensor tensor(document, message);
        const tensor::Header& header = tensor.header();
        if (!header.external || (!header.raw_data && header.typed_fields == 0)) return;
        locations.emplace(here, plain_location(tensor.external()->location));
        found.push_back(message);
    });
    for (const onnx::Message& message : found) {
        const auto rows = onnx::Pieces::rows(message.table(), field<"TensorProto.external_data">) |
                          onnx::Pieces::rows(message.table(), field<"TensorProto.data_location">);
        document.editable().set(message, model::fields_of(message)->replace(rows, std::nullopt, {}),
                                rows);
        static_cast<void>(model::Tensor(document, message.current()).values());
    }
    return locations;
}

}  // namespace onnxmap::save
