#include "model/tensor.hpp"

#include "tensor/payload.hpp"

namespace onnxmap::model {

Tensor::Tensor(const Document& document, onnx::Message message)
    : document_(document), message_(std::move(message)), header_(tensor::read_header(message_)) {}

std::uint64_t Tensor::count() const {
    return naming([&] { return tensor::element_count(header_); });
}

const onnx::DataTypeInfo& Tensor::type() const {
    return *naming([&] { return &tensor::element_type(header_); });
}

void Tensor::check_type() const {
    if (header_.data_type != 0) static_cast<void>(type());
}

tensor::Values Tensor::values(std::optional<source::Timestamp> since) const {
    return naming([&] { return find_values(since.value_or(source::kRecently)); });
}

std::optional<tensor::Values> Tensor::values_if_valid() const {
    const tensor::TolerateQuietly quietly;
    try {
        return find_values(source::kRecently);
    } catch (const Error& error) {
        if (error.code == "file.changed") throw;
        return std::nullopt;
    }
}

tensor::Values Tensor::find_values(source::Timestamp since) const {
    document_.store().check_unchanged(document_.source(), since);
    if (!header_.has_segment) return {message_, header_, document_.store(), since};
    return {message_, header_, document_.store(), since, document_.segments_of(message_)};
}

std::optional<tensor::ExternalEntry> Tensor::external() const {
    return header_.external ? std::optional(entry()) : std::nullopt;
}

std::optional<std::string> Tensor::file() const {
    if (is_in_pieces()) return std::nullopt;
    return naming([&] {
        std::string path = header_.external
                               ? document_.store().external.path_of(entry().location, header_.name)
                               : (path_in_model());
        return path.empty() ? std::nullopt : std::optional(std::move(path));
    });
}

std::optional<ExternalFile> Tensor::open_external() const {
    const auto found = external();
    if (!found) return std::nullopt;
    return naming([&] {
        const tensor::ExternalFiles& files = document_.store().external;
        return std::optional(ExternalFile{files.open(found->location, header_.name),
                                          files.path_of(found->location, header_.name)});
    });
}

std::optional<std::uint64_t> Tensor::offset() const {
    if (is_in_pieces()) return std::nullopt;
    if (header_.external) return entry().offset;
    const auto bytes = bytes_in_model();
    if (!bytes) return std::nullopt;
    const auto source = document_.source_of(*bytes);
    return source->path().empty() ? std::nullopt : std::optional(source->offset_of(*bytes));
}

std::uint64_t Tensor::stored_nbytes() const {
    const auto values = header_.has_segment ? values_if_valid() : std::nullopt;
    return values ? values->stored_nbytes() : tensor::stored_nbytes(message_, header_);
}

tensor::ExternalEntry Tensor::entry() const {
    return naming([&] {
        return tensor::read_external_entry(message_, header_.name,
                                           document_.store().max_external_entries);
    });
}

bool Tensor::is_in_pieces() const {
    const auto values = header_.has_segment ? values_if_valid() : std::nullopt;
    return values && values->in_pieces();
}

std::string Tensor::path_in_model() const {
    const auto bytes = bytes_in_model();
    return bytes ? document_.source_of(*bytes)->path() : std::string();
}

std::optional<ByteView> Tensor::bytes_in_model() const {
    const onnx::DataTypeInfo* type = onnx::find_data_type(header_.data_type);
    if (type == nullptr) return header_.raw_data;
    return tensor::bytes_in_message(message_, header_, *type);
}

}  // namespace onnxmap::model
