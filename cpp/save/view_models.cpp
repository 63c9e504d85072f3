#include "save/view_models.hpp"

#include "model/view_keys.hpp"
#include "onnx/schema.hpp"
#include "save/check_loaded.hpp"
#include "save/external_use.hpp"

namespace onnxmap::save {

namespace {

std::string key_of(std::string_view name) { return std::string(model::kViewKeys).append(name); }

}  // namespace

std::string viewed_file(const model::Document& model) {
    if (!model.is_model()) return {};
    const wire::FieldRow& row = onnx::field<"ModelProto.metadata_props">;
    const onnx::Message root = model.root();
    std::string file;
    model.index(root)->for_each_child(row, [&](const onnx::Message& entry) {
        if (entry.text(onnx::field<"StringStringEntryProto.key">) == key_of("file")) {
            file = plain_location(entry.text(onnx::field<"StringStringEntryProto.value">));
        }
    });
    return file;
}

TensorEdits::Metadata view_metadata(const model::Document& model, const std::string& location) {
    const os::FileIdentity identity =
        check_referred(model.source(), model.store().external.folder().model_path).value();
    return {{key_of("file"), location},
            {key_of("size"), std::to_string(identity.size)},
            {key_of("modified_ns"), std::to_string(identity.modified_ns)}};
}

}  // namespace onnxmap::save
