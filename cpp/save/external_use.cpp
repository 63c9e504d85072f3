#include "save/external_use.hpp"

#include "base/byte_ranges.hpp"
#include "base/error.hpp"
#include "model/message_walk.hpp"
#include "model/tensor.hpp"

namespace onnxmap::save {

std::map<std::string, UsedBytes> external_use(const model::Document& document) {
    std::map<std::string, UsedBytes> files;
    std::map<std::string, ByteRanges> ranges;
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& message) {
        const model::Tensor tensor(document, message);
        const auto file = tensor.open_external();
        if (!file) return;
        files[file->path].nbytes = file->source->size();
        const auto values = tensor.values_if_valid();
        const tensor::Payload* const payload = values ? values->payload() : nullptr;
        if (payload != nullptr && payload->nbytes > 0) {
            ranges[file->path].add(payload->offset, payload->offset + payload->nbytes);
        }
    });
    for (const auto& [path, used] : ranges) {
        for (const auto& range : used) files[path].used += range.end - range.begin;
    }
    return files;
}

void open_loaded_files(const model::Document& document) {
    model::for_each_loaded_tensor(document, [&](const std::string&, const onnx::Message& message) {
        try {
            static_cast<void>(model::Tensor(document, message).open_external());
        } catch (const Error&) {
            // Reading the tensor raises the error.
        }
    });
}

std::set<std::string> external_locations(const model::Document& document) {
    std::set<std::string> locations;
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& message) {
        try {
            const auto entry = model::Tensor(document, message).external();
            if (entry) locations.emplace(entry->location);
        } catch (const Error& error) {
            // The entries of this tensor lead to no file.
            if (!error.code.starts_with("ext.") && !error.code.starts_with("tensor.")) throw;
        }
    });
    return locations;
}

}  // namespace onnxmap::save
