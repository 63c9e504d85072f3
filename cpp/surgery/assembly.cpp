#include "surgery/assembly.hpp"

#include <utility>
#include <vector>

#include "model/load.hpp"
#include "source/owned_bytes.hpp"

namespace onnxmap::surgery {

std::shared_ptr<const model::Document> empty_model(const model::Document& like) {
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    options.external = like.store().external.folder();
    options.folder = like.folder();
    options.limits = like.limits();
    options.watch = like.store().watch;
    return model::load_source(std::make_shared<source::OwnedBytes>(0), options, false);
}

void Assembly::add(const model::Original& from, const Keep& keep, const model::Rewrite* rewrite) {
    std::vector<std::uint64_t> positions(table_.fields.size());
    from.message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (row == nullptr) {
            fields_.add(to_.editable().keep(as_text({field.begin, field.end})), row);
            return;
        }
        if (!keep(*row, positions[table_.position_of(*row)]++, field)) return;
        if (row->is_message()) {
            const model::Original inner{from.document, from.message.inner(*row, field)};
            fields_.add(
                onnx::EncodedField{model::copy_message(to_, *row, inner, rewrite).field, row});
        } else {
            fields_.add(model::copy_field(to_, *row, field, from.document));
        }
    });
}

onnx::Message Assembly::finish(const onnx::Message& message) && {
    to_.editable().set(message, std::move(fields_).finish(), ~onnx::Pieces::Rows{0});
    return message.current();
}

}  // namespace onnxmap::surgery
