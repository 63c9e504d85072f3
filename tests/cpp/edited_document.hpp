// A document in memory that a test edits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flat_bytes.hpp"
#include "memory_source.hpp"
#include "model/edit_message.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"
#include "source/owned_bytes.hpp"

namespace onnxmap::test {

struct EditedDocument {
    explicit EditedDocument(const Bytes& bytes,
                            const wire::MessageTable& root = onnx::message<"ModelProto">,
                            model::LoadOptions options = {})
        : source(std::make_shared<MemorySource>(bytes)) {
        options.root = &root;
        document = std::make_shared<model::Document>(source, options);
    }

    [[nodiscard]] const model::Document& operator*() const noexcept { return *document; }
    [[nodiscard]] onnx::Message root() const { return document->root(); }
    [[nodiscard]] onnx::Message child(const wire::FieldRow& row) const {
        return document->child(root(), row).value();
    }
    [[nodiscard]] onnx::Message graph() const { return child(onnx::field<"ModelProto.graph">); }
    /// The i-th message of a repeated field.
    [[nodiscard]] onnx::Message element(const onnx::Message& parent, const wire::FieldRow& row,
                                        std::uint64_t i) const {
        return parent.inner(row, document->index(parent)->at(row, i));
    }
    [[nodiscard]] onnx::Message node(std::uint64_t i) const {
        return element(graph(), onnx::field<"GraphProto.node">, i);
    }

    [[nodiscard]] Bytes flat() const { return flat_bytes(*document, root()); }
    [[nodiscard]] Bytes flat(const onnx::Message& message) const {
        return flat_bytes(*document, message);
    }

    std::shared_ptr<MemorySource> source;
    std::shared_ptr<model::Document> document;
};

/// A new value as a complete field.
[[nodiscard]] inline model::NewValue new_value(const Bytes& field) {
    return {std::string(as_text(field))};
}

/// A new value whose content stays in a source of its own.
[[nodiscard]] inline model::NewValue held_value(const Bytes& content) {
    model::NewValue value;
    value.source = std::make_shared<MemorySource>(content);
    value.content = value.source->bytes();
    return value;
}

/// The texts of a repeated field.
[[nodiscard]] inline std::vector<std::string> texts_in(const onnx::Message& message,
                                                       const wire::FieldRow& row) {
    std::vector<std::string> texts;
    message.for_each_value(row,
                           [&](const wire::Field& value) { texts.emplace_back(value.text()); });
    return texts;
}

/// The numbers of a repeated field.
[[nodiscard]] inline std::vector<std::uint64_t> numbers_in(const onnx::Message& message,
                                                           const wire::FieldRow& row) {
    std::vector<std::uint64_t> numbers;
    message.for_each_value(row, [&](const wire::Field& value) { numbers.push_back(value.value); });
    return numbers;
}

}  // namespace onnxmap::test
