#include "model/tensor_walk.hpp"

#include <array>

#include "base/error.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

// For each message type, whether it can contain a tensor at any depth: a fixed point of the schema.
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

using Visit = std::function<void(const std::string&, const onnx::Message&, std::uint64_t list)>;

// The most bytes of a name in a path, and of a path to which a name is added. Every path below a
// message repeats them.
constexpr std::size_t kLongestKey = 200;
constexpr std::size_t kLongPath = 1000;

class Walk {
  public:
    Walk(std::uint32_t max_depth, const Visit& visit) : depth_left_(max_depth), visit_(visit) {}

    void enter(const onnx::Message& message) {
        if (&message.table() == &onnx::message<"TensorProto">) {
            visit_(path_, message, list_);
            return;
        }
        if (depth_left_ == 0) fail_too_deep();
        --depth_left_;
        for (const wire::FieldRow& row : message.table().fields) {
            if (holds_tensors(row)) enter_field(message, row);
        }
        ++depth_left_;
    }

  private:
    void enter_field(const onnx::Message& parent, const wire::FieldRow& row) {
        const std::size_t base = path_.size();
        if (base > 0) path_ += '.';
        path_ += row.name;
        if (row.repeated()) {
            const std::size_t stem = path_.size();
            std::uint64_t position = 0;
            const bool is_list = row.type_name == "TensorProto";
            if (is_list) list_ = ++lists_;
            parent.for_each_value(row, [&](const wire::Field& value) {
                const onnx::Message child = onnx::message_in(row, value);
                const bool is_attribute = &child.table() == &onnx::message<"AttributeProto">;
                const auto name = is_attribute ? child.text(field<"AttributeProto.name">) : "";
                path_ += path_key(path_, name, position++);
                enter(child);
                path_.resize(stem);
            });
            list_ = 0;
        } else if (const auto child = parent.child(row)) {
            enter(*child);
        }
        path_.resize(base);
    }

    std::uint32_t depth_left_;
    const Visit& visit_;
    std::string path_;
    std::uint64_t lists_ = 0;
    std::uint64_t list_ = 0;
};

}  // namespace

bool holds_tensors(const wire::FieldRow& row) noexcept {
    return row.is_message() && (row.type_name == "TensorProto" || kHolds[row.type_index]);
}

std::string path_key(std::string_view path, std::string_view name, std::uint64_t position) {
    if (!name.empty() && name.size() <= kLongestKey && path.size() <= kLongPath) {
        const std::string key = escaped(name, '"');
        if (key.size() <= kLongestKey) return "[\"" + key + "\"]";
    }
    return '[' + std::to_string(position) + ']';
}

// The load pass counts the messages below the root; this walk counts the root, too.
void for_each_tensor(const onnx::Message& root, std::uint32_t max_depth,
                     const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    const Visit with_path = [&](const std::string& path, const onnx::Message& tensor,
                                std::uint64_t) { visit(path, tensor); };
    Walk(max_depth + 1, with_path).enter(root);
}

void for_each_listed_tensor(
    const onnx::Message& root, std::uint32_t max_depth,
    const std::function<void(std::uint64_t list, const onnx::Message&)>& visit) {
    const Visit with_list = [&](const std::string&, const onnx::Message& tensor,
                                std::uint64_t list) { visit(list, tensor); };
    Walk(max_depth + 1, with_list).enter(root);
}

}  // namespace onnxmap::model
