#include "model/tensor_path.hpp"

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "model/message_walk.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

namespace {

bool holds(ByteView bytes, const std::uint8_t* target) noexcept {
    return bytes.data() <= target && target <= bytes.data() + bytes.size();
}

struct Step {
    onnx::Message child;
    std::optional<std::uint64_t> position;  // among several
};

// The occurrence that contains the target. Occurrences are sorted by address.
std::optional<Step> find_repeated(const FieldIndex& fields, const wire::FieldRow& row,
                                  const std::uint8_t* target) {
    std::uint64_t low = 0;
    for (std::uint64_t high = fields.count(row); low < high;) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (fields.at(row, middle).bytes.data() <= target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return std::nullopt;
    const wire::Field found = fields.at(row, low - 1);
    if (!holds(found.bytes, target)) return std::nullopt;
    return Step{fields.message().inner(row, found), low - 1};
}

// The occurrence of a message that may contain the target.
ByteView child_range(const onnx::Message& message, const std::uint8_t* target) {
    ByteView range = message.loaded();
    message.for_each_loaded([&](ByteView occurrence) {
        if (occurrence.data() <= target) range = occurrence;
    });
    return range;
}

std::optional<Step> find_child(const Document& document, const onnx::Message& message,
                               const wire::FieldRow& row, const std::uint8_t* target) {
    if (row.repeated()) return find_repeated(*document.index(message), row, target);
    auto child = document.child(message, row);
    if (!child) return std::nullopt;
    if (!holds(child_range(*child, target), target)) return std::nullopt;
    return Step{std::move(*child), std::nullopt};
}

// The name of an attribute. Found through the index because thousands of tensors may precede it.
std::string_view name_of(const Document& document, const onnx::Message& message) {
    if (&message.table() != &onnx::message<"AttributeProto">) return {};
    const auto name = document.find(message, onnx::field<"AttributeProto.name">);
    return name ? name->text() : std::string_view{};
}

// The path of a message of an edited document, whose parts are anywhere in memory.
std::string search(const Document& document, const wire::MessageTable& table,
                   const std::uint8_t* key) {
    std::string found;
    const VisitMessage visit = [&](const std::string& path, const onnx::Message& message) {
        if (found.empty() && message.key() == key) found = path;
    };
    try {
        if (&table == &onnx::message<"TensorProto">) {
            for_each_tensor(document, visit);
        } else {
            for_each_sparse_tensor(document, visit);
        }
    } catch (const Error& error) {
        if (error.code != "limit.depth") throw;  // edits nested messages too deeply
    }
    return found;
}

std::string path_of(const Document& document, const wire::MessageTable& table,
                    const std::uint8_t* begin) {
    if (document.edits().any()) {
        return search(document, table, begin);
    }
    std::string path;
    onnx::Message message = document.root();
    while (&message.table() != &table) {
        std::optional<Step> step;
        for (const wire::FieldRow& row : message.table().fields) {
            if (!holds_tensors(row)) continue;
            step = find_child(document, message, row, begin);
            if (!step) continue;
            if (!path.empty()) path += '.';
            path += row.name;
            if (step->position) {
                path += path_key(path, name_of(document, step->child), *step->position);
            }
            break;
        }
        if (!step) return {};  // lost when occurrences of the message were merged
        message = std::move(step->child);
    }
    return path;
}

}  // namespace

std::string tensor_path(const Document& document, const std::uint8_t* begin) {
    return path_of(document, onnx::message<"TensorProto">, begin);
}

std::string sparse_tensor_path(const Document& document, const std::uint8_t* begin) {
    return path_of(document, onnx::message<"SparseTensorProto">, begin);
}

Error with_tensor_path(const Error& error, const Document& document, const std::uint8_t* begin) {
    const bool of_tensor = error.code.starts_with("tensor.") || error.code.starts_with("ext.");
    if (!of_tensor || !error.tensor.empty()) return error;
    const std::string path = tensor_path(document, begin);
    if (path.empty()) return error;
    Error named = with_text(error, "tensor " + path + ": " + error.what());
    named.tensor = path;
    return named;
}

}  // namespace onnxmap::model
