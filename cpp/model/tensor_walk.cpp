#include "model/tensor_walk.hpp"

#include <array>

#include "base/error.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::message;

namespace {

// Whether a message of each type can hold a tensor, at any depth: a fixed point of the schema.
consteval auto find_holders() {
    std::array<bool, onnx::detail::kMessageCount> holds{};
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < holds.size(); ++i) {
            for (const wire::FieldRow& row : onnx::detail::kTables[i].fields) {
                if (!row.is_message() || holds[i]) continue;
                if (row.type_name == "TensorProto" || holds[row.type_index]) {
                    holds[i] = changed = true;
                }
            }
        }
    }
    return holds;
}

constexpr auto kHolds = find_holders();

using Visit = std::function<void(const std::string&, const onnx::Message&)>;

void walk(const onnx::Message& parent, std::string& path, const Visit& visit);

void enter(const onnx::Message& child, std::string& path, const Visit& visit) {
    if (&child.table() == &message<"TensorProto">) {
        visit(path, child);
    } else {
        walk(child, path, visit);
    }
}

// Attributes are known by name, everything else by position.
void append_key(const onnx::Message& child, std::uint64_t position, std::string& path) {
    if (&child.table() == &message<"AttributeProto">) {
        path += "[\"" + escaped(child.text(field<"AttributeProto.name">), '"') + "\"]";
    } else {
        path += '[' + std::to_string(position) + ']';
    }
}

// Recursion is bounded: the load pass has refused what is nested deeper than the limit.
void walk(const onnx::Message& parent, std::string& path, const Visit& visit) {
    const std::size_t base = path.size();
    for (const wire::FieldRow& row : parent.table().fields) {
        if (!row.is_message()) continue;
        if (row.type_name != "TensorProto" && !kHolds[row.type_index]) continue;
        if (base > 0) path += '.';
        path += row.name;
        if (row.repeated()) {
            const std::size_t stem = path.size();
            std::uint64_t position = 0;
            parent.for_each_value(row, [&](const wire::Field& value) {
                const onnx::Message child(onnx::kSchema.message_of(row), value.bytes);
                append_key(child, position++, path);
                enter(child, path, visit);
                path.resize(stem);
            });
        } else if (const auto child = parent.child(row)) {
            enter(*child, path, visit);
        }
        path.resize(base);
    }
}

}  // namespace

void for_each_tensor(const onnx::Message& root, const Visit& visit) {
    std::string path;
    enter(root, path, visit);
}

}  // namespace onnxmap::model
