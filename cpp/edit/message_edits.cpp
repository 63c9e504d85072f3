#include "edit/message_edits.hpp"

#include <numeric>
#include <utility>

#include "model/attribute.hpp"
#include "model/copied_external_values.hpp"
#include "model/edit_tensor.hpp"
#include "model/load.hpp"
#include "source/owned_bytes.hpp"

namespace onnxmap::edit {

namespace {

// The message of a handle, as the original of a copy. The handle must outlive it.
model::Original original_of(const Handle& handle) {
    return below_guard(handle, [&] { return model::Original{*handle.document, handle.message()}; });
}

void add_fields(const Handle& handle, const Handle& original) {
    below_guard(handle, [&] {
        below_guard(original, [&] {
            const onnx::Message from = original.message();
            model::merge_from(*handle.document, to_change(handle), {*original.document, from});
        });
    });
}

// A copy of a message in a document of its own. An edit that takes several steps is made of it:
// what cannot be copied into the document of `to`, or not be read, fails here, before the first
// step. The original may also be a part of what the edit changes.
Handle copied_for(const Handle& to, const Handle& original) {
    const Handle made = new_document(original.made.table(), std::make_shared<source::OwnedBytes>(0),
                                     {}, to.document->limits());
    add_fields(made, original);
    return made;
}

// Whether the first step of an edit makes a message present.
bool is_absent(const Handle& handle) {
    return handle.absent && below_guard(handle, [&] { return handle.message().key() == nullptr; });
}

}  // namespace

Handle new_document(const wire::MessageTable& table, std::shared_ptr<source::Source> source,
                    const tensor::ExternalFolder& folder, const model::Limits& limits) {
    model::LoadOptions options;
    options.external = folder;
    options.limits = limits;
    options.root = &table;
    const DocumentPtr document = model::load_source(std::move(source), options, false);
    return {document, document->root()};
}

Handle new_message(const wire::MessageTable& table, const tensor::ExternalFolder& folder) {
    return new_document(table, std::make_shared<source::OwnedBytes>(0), folder);
}

Handle with_external_values(const Handle& to, const Handle& original) {
    const model::CopiedExternalValues values = below_guard(original, [&] {
        return model::CopiedExternalValues(*to.document, {*original.document, original.message()});
    });
    if (values.empty()) return original;
    Handle copied = new_message(original.made.table());
    add_fields(copied, original);
    values.store_in(*copied.document, copied.message());
    return copied;
}

std::vector<onnx::Message> splice(const Handle& parent, const wire::FieldRow& row,
                                  std::span<const NewElement> added,
                                  std::span<const std::uint64_t> gone) {
    std::vector<NewElement> copied;
    if (is_absent(parent)) {
        for (const NewElement& each : added)
            copied.push_back({each.i, copied_for(parent, each.original)});
        added = copied;
    }
    return below_guard(parent, [&] {
        std::vector<model::Insertion> insertions;
        insertions.reserve(added.size());
        for (const NewElement& each : added)
            insertions.push_back({each.i, original_of(each.original)});
        return model::splice_messages(*parent.document, to_change(parent), row, insertions, gone);
    });
}

void replace_all(const Handle& parent, const wire::FieldRow& row, std::span<const Handle> others) {
    const std::uint64_t count =
        below_guard(parent, [&] { return parent.document->index(parent.message())->count(row); });
    std::vector<NewElement> added;
    added.reserve(others.size());
    for (const Handle& each : others) added.push_back({kAtEnd, each});
    std::vector<std::uint64_t> gone(count);
    std::iota(gone.begin(), gone.end(), 0);
    splice(parent, row, added, gone);
}

void set_message(const Handle& handle, const wire::FieldRow& row, const Handle& original) {
    const Handle copied = is_absent(handle) ? copied_for(handle, original) : original;
    change_message(handle, model::set_message, row, original_of(copied));
}

void copy(const Handle& handle, const Handle& original) {
    if (below_guard(handle, [&] { return is_same(handle, original); })) return;
    const Handle copied = copied_for(handle, original);
    change_message(handle, model::clear_all);
    add_fields(handle, copied);
}

void merge(const Handle& handle, const Handle& original) {
    add_fields(handle, copied_for(handle, original));
}

void set_attribute_value(const Handle& attribute, const Handle& given) {
    const Handle changed =
        new_message(attribute.made.table(), attribute.document->store().external.folder());
    copy(changed, attribute);
    clear(given, onnx::field<"AttributeProto.doc_string">);
    change_message(changed, model::clear_value);
    merge(changed, given);
    copy(attribute, changed);
}

Handle with_values_of(const Handle& tensor, const Handle& values) {
    Handle made = new_message(tensor.made.table());
    copy(made, tensor);
    change_message(made, model::clear_values);
    clear(values, onnx::field<"TensorProto.name">);
    merge(made, values);
    return made;
}

}  // namespace onnxmap::edit
