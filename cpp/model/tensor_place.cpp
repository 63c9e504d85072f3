#include "model/tensor_place.hpp"

#include <utility>

#include "base/error.hpp"
#include "tensor/payload.hpp"
#include "tensor/typed_values.hpp"

namespace onnxmap::model {

TensorPlace::TensorPlace(const Document& document, onnx::Message tensor)
    : document_(document), tensor_(std::move(tensor)), header_(tensor::read_header(tensor_)) {}

tensor::ExternalEntry TensorPlace::entry() const {
    return tensor::read_external_entry(tensor_, header_.name,
                                       document_.store().max_external_entries);
}

std::optional<tensor::ExternalEntry> TensorPlace::external() const {
    return header_.external ? std::optional(entry()) : std::nullopt;
}

std::optional<std::string> TensorPlace::file() const {
    if (is_in_pieces()) return std::nullopt;
    std::string path = header_.external
                           ? document_.store().external.path_of(entry().location, header_.name)
                           : (bytes_in_model() ? document_.source().path() : "");
    return path.empty() ? std::nullopt : std::optional(std::move(path));
}

std::optional<std::uint64_t> TensorPlace::offset() const {
    if (is_in_pieces()) return std::nullopt;
    if (header_.external) return entry().offset;
    const auto bytes = bytes_in_model();
    return bytes ? std::optional(document_.source().offset_of(*bytes)) : std::nullopt;
}

std::uint64_t TensorPlace::stored_nbytes() const {
    const auto values = header_.has_segment ? values_if_good() : std::nullopt;
    return values ? values->stored_nbytes() : tensor::stored_nbytes(tensor_, header_);
}

std::optional<tensor::Values> TensorPlace::values_if_good() const {
    const tensor::OverlookQuietly quietly;
    try {
        return document_.values(tensor_, header_);
    } catch (const Error&) {
        return std::nullopt;
    }
}

bool TensorPlace::is_in_pieces() const {
    const auto values = header_.has_segment ? values_if_good() : std::nullopt;
    return values && values->in_pieces();
}

std::optional<ByteView> TensorPlace::bytes_in_model() const {
    if (document_.source().path().empty()) return std::nullopt;
    if (header_.raw_data) return header_.raw_data;
    const onnx::DataTypeInfo* type = onnx::find_data_type(header_.data_type);
    if (type == nullptr) return std::nullopt;
    return tensor::single_run(tensor_, *type->storage);
}

}  // namespace onnxmap::model
