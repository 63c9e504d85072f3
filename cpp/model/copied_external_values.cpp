#include "model/copied_external_values.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "model/edit_tensor.hpp"
#include "model/message_walk.hpp"
#include "model/tensor.hpp"
#include "onnx/schema.hpp"
#include "source/owned_bytes.hpp"
#include "tensor/payload.hpp"
#include "tensor/segments.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

NewValue values_of(const Document& document, const onnx::Message& message) {
    const Tensor named(document, message);
    return named.naming([&] {
        tensor::Header header = named.header();
        const tensor::Store& store = document.store();
        const std::uint64_t all = tensor::check_storage(header, store);
        const std::uint64_t count =
            header.has_segment ? std::min(all, tensor::segment_count(message)) : all;
        const auto found =
            tensor::find_payload(message, header, count, store, source::kRecently).value();
        NewValue values;
        if (found.source->data() != nullptr) {
            values.source = found.source;
            values.content = {found.source->data() + found.offset, found.nbytes};
        } else {  // it is read, not mapped
            const auto copy = std::make_shared<source::OwnedBytes>(found.nbytes);
            found.source->read(found.offset, copy->writable());
            values.source = copy;
            values.content = copy->bytes();
        }
        return values;
    });
}

}  // namespace

CopiedExternalValues::CopiedExternalValues(const Document& to, const Original& original) {
    const std::string& root = original.document.store().external.root();
    if (root.empty() || root == to.store().external.root()) return;
    std::uint64_t position = 0;
    for_each_tensor(original.message, original.document.limits().depth,
                    [&](const std::string&, const onnx::Message& tensor) {
                        if (tensor::read_header(tensor).external) {
                            external_.push_back({position, values_of(original.document, tensor)});
                        }
                        ++position;
                    });
}

void CopiedExternalValues::store_in(const Document& document, const onnx::Message& copy) const {
    if (external_.empty()) return;
    std::vector<onnx::Message> tensors;
    std::uint64_t position = 0;
    for_each_tensor(copy, document.limits().depth,
                    [&](const std::string&, const onnx::Message& tensor) {
                        const bool is_next = tensors.size() < external_.size() &&
                                             external_[tensors.size()].position == position++;
                        if (is_next) tensors.push_back(tensor);
                    });
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        clear(document, tensors[i].current(), field<"TensorProto.external_data">);
        clear(document, tensors[i].current(), field<"TensorProto.data_location">);
        set_raw_data(document, tensors[i].current(), external_[i].values);
    }
}

}  // namespace onnxmap::model
