#include "model/message_walk.hpp"

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "model/document.hpp"
#include "model/structure_pages.hpp"
#include "onnx/holders.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

// Each message type that can contain a message of one type, at any depth.
consteval onnx::Holders holders_of(std::string_view type_name) {
    return onnx::find_holders(
        [=](const wire::FieldRow& row) { return row.is_message() && row.type_name == type_name; });
}

constexpr onnx::Holders kHoldTensors = holders_of("TensorProto");
constexpr onnx::Holders kHoldNodes = holders_of("NodeProto");
constexpr onnx::Holders kHoldGraphs = holders_of("GraphProto");

using Visit = std::function<void(const std::string&, const onnx::Message&, std::uint64_t list)>;

// The most bytes of a name in a path, and of a path to which a name is added. Every path below a
// message repeats them.
constexpr std::size_t kLongestKey = 200;
constexpr std::size_t kLongPath = 1000;

class Walk {
  public:
    // `holders`: of the messages of the type `wanted`. The load pass counts the messages below the
    // root, this walk counts the root, too.
    Walk(const wire::MessageTable& wanted, const onnx::Holders& holders, std::uint32_t max_depth,
         const Visit& visit, StructurePages* pages = nullptr)
        : wanted_(wanted),
          holders_(holders),
          depth_left_(max_depth + 1),
          visit_(visit),
          pages_(pages) {}

    void enter(const onnx::Message& message) {
        if (&message.table() == &wanted_) visit_(path(), message, list_);
        if (depth_left_ == 0) onnx::fail_too_deep(message);
        --depth_left_;
        std::optional<Rows> present;
        for (const wire::FieldRow& row : message.table().fields) {
            if (row.is_message() && (is_wanted(row) || holders_[row.type_index])) {
                enter_field(message, row, present);
            }
        }
        ++depth_left_;
    }

  private:
    using Rows = onnx::Pieces::Rows;
    struct Step {
        const wire::FieldRow* row;
        const onnx::Message* message;
        std::uint64_t position;  // in a repeated field
        std::size_t begin;       // of its text in path_
    };

    [[nodiscard]] bool is_wanted(const wire::FieldRow& row) const noexcept {
        return &onnx::kSchema.message_of(row) == &wanted_;
    }

    // `present`: the fields of the message, known after the first walk over them. Most messages
    // lack most fields, and a second walk over the nodes of a graph takes time for nothing.
    void enter_field(const onnx::Message& parent, const wire::FieldRow& row,
                     std::optional<Rows>& present) {
        if (present && (*present & onnx::Pieces::rows(parent.table(), row)) == 0) return;
        Rows seen = 0;
        const auto for_each_field = [&](auto&& visit) {
            parent.for_each_field([&](const wire::Field& value, const wire::FieldRow* found) {
                if (pages_ != nullptr) pages_->note_read({value.begin, 0});
                if (found == nullptr) return;
                seen |= onnx::Pieces::rows(parent.table(), *found);
                visit(value, *found);
            });
            present = seen;
        };
        if (row.repeated()) {
            std::uint64_t position = 0;
            const bool is_list = is_wanted(row);
            if (is_list) list_ = ++lists_;
            for_each_field([&](const wire::Field& value, const wire::FieldRow& found) {
                if (&found == &row) step_into(row, parent.inner(row, value), position++);
            });
            list_ = 0;
            return;
        }
        if (!present) {
            for_each_field([](const wire::Field&, const wire::FieldRow&) {});
            if ((seen & onnx::Pieces::rows(parent.table(), row)) == 0) return;
        }
        if (const auto child = parent.child(row)) step_into(row, *child, 0);
    }

    void step_into(const wire::FieldRow& row, const onnx::Message& child, std::uint64_t position) {
        steps_.push_back({&row, &child, position, 0});
        enter(child);
        if (written_ == steps_.size()) path_.resize(steps_[--written_].begin);
        steps_.pop_back();
    }

    // The text of the steps. Few messages are wanted, so a step is written when it is first needed.
    const std::string& path() {
        for (; written_ < steps_.size(); ++written_) {
            Step& step = steps_[written_];
            step.begin = path_.size();
            if (!path_.empty()) path_ += '.';
            path_ += step.row->name;
            if (!step.row->repeated()) continue;
            const bool is_attribute = &step.message->table() == &onnx::message<"AttributeProto">;
            const auto name = is_attribute ? step.message->text(field<"AttributeProto.name">) : "";
            path_ += path_key(path_, name, step.position);
        }
        return path_;
    }

    const wire::MessageTable& wanted_;
    const onnx::Holders& holders_;
    std::uint32_t depth_left_;
    const Visit& visit_;
    StructurePages* pages_;
    std::vector<Step> steps_;  // from the root to the message that was entered last
    std::size_t written_ = 0;  // steps whose text is in path_
    std::string path_;
    std::uint64_t lists_ = 0;
    std::uint64_t list_ = 0;
};

}  // namespace

bool holds_tensors(const wire::FieldRow& row) noexcept {
    return row.is_message() && (row.type_name == "TensorProto" || kHoldTensors[row.type_index]);
}

bool holds_graphs(const wire::FieldRow& row) noexcept {
    return row.is_message() && (row.type_name == "GraphProto" || kHoldGraphs[row.type_index]);
}

std::string path_key(std::string_view path, std::string_view name, std::uint64_t position) {
    if (!name.empty() && name.size() <= kLongestKey && path.size() <= kLongPath) {
        const std::string key = escaped(name, '"');
        if (key.size() <= kLongestKey) return "[\"" + key + "\"]";
    }
    return '[' + std::to_string(position) + ']';
}

void for_each_tensor(const onnx::Message& root, std::uint32_t max_depth,
                     const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    const Visit with_path = [&](const std::string& path, const onnx::Message& tensor,
                                std::uint64_t) { visit(path, tensor); };
    Walk(onnx::message<"TensorProto">, kHoldTensors, max_depth, with_path).enter(root);
}

namespace {

void for_each_tensor_below(
    const Document& document, const onnx::Message& root,
    const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    const Visit with_path = [&](const std::string& path, const onnx::Message& tensor,
                                std::uint64_t) { visit(path, tensor); };
    StructurePages pages(document.source(), true);
    Walk(onnx::message<"TensorProto">, kHoldTensors, document.limits().depth, with_path, &pages)
        .enter(root);
}

}  // namespace

void for_each_tensor(const Document& document,
                     const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    for_each_tensor_below(document, document.root(), visit);
}

void for_each_loaded_tensor(
    const Document& document,
    const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    const onnx::Message loaded(document.root().table(), document.source().bytes());
    for_each_tensor_below(document, loaded, visit);
}

void for_each_node(const onnx::Message& root, std::uint32_t max_depth,
                   const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    const Visit with_path = [&](const std::string& path, const onnx::Message& node, std::uint64_t) {
        visit(path, node);
    };
    Walk(onnx::message<"NodeProto">, kHoldNodes, max_depth, with_path).enter(root);
}

void for_each_node(const Document& document,
                   const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    const Visit with_path = [&](const std::string& path, const onnx::Message& node, std::uint64_t) {
        visit(path, node);
    };
    StructurePages pages(document.source(), true);
    Walk(onnx::message<"NodeProto">, kHoldNodes, document.limits().depth, with_path, &pages)
        .enter(document.root());
}

void for_each_graph(const Document& document,
                    const std::function<void(const std::string&, const onnx::Message&)>& visit) {
    const Visit with_path = [&](const std::string& path, const onnx::Message& graph,
                                std::uint64_t) { visit(path, graph); };
    StructurePages pages(document.source(), true);
    Walk(onnx::message<"GraphProto">, kHoldGraphs, document.limits().depth, with_path, &pages)
        .enter(document.root());
}

void for_each_listed_tensor(
    const onnx::Message& root, std::uint32_t max_depth,
    const std::function<void(std::uint64_t list, const onnx::Message&)>& visit) {
    const Visit with_list = [&](const std::string&, const onnx::Message& tensor,
                                std::uint64_t list) { visit(list, tensor); };
    Walk(onnx::message<"TensorProto">, kHoldTensors, max_depth, with_list).enter(root);
}

}  // namespace onnxmap::model
