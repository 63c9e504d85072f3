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

// A type of message, and each type that can contain such messages, at any depth.
struct Wanted {
    const wire::MessageTable& table;
    onnx::Holders holders;

    [[nodiscard]] bool is(const wire::FieldRow& row) const noexcept {
        return row.is_message() && &onnx::kSchema.message_of(row) == &table;
    }
    // Whether such messages are in a field, or in the messages of it.
    [[nodiscard]] bool may_be_in(const wire::FieldRow& row) const noexcept {
        return is(row) || (row.is_message() && holders[row.type_index]);
    }
};

consteval Wanted wanted(const wire::MessageTable& table) {
    return {table, onnx::find_holders([&](const wire::FieldRow& row) {
                return row.is_message() && row.type_name == table.name;
            })};
}

constexpr Wanted kAnyTensor = wanted(onnx::message<"TensorProto">);
constexpr Wanted kAnySparseTensor = wanted(onnx::message<"SparseTensorProto">);
constexpr Wanted kAnyNode = wanted(onnx::message<"NodeProto">);
constexpr Wanted kAnyGraph = wanted(onnx::message<"GraphProto">);

// The most bytes of a name in a path, and of a path to which a name is added. Every path below a
// message repeats them.
constexpr std::size_t kLongestKey = 200;
constexpr std::size_t kLongPath = 1000;

class Walk {
  public:
    // The load pass counts the messages below the root, this walk counts the root, too.
    Walk(const Wanted& wanted, std::uint32_t max_depth, const VisitListed& visit,
         StructurePages* pages = nullptr)
        : wanted_(wanted), depth_left_(max_depth + 1), visit_(visit), pages_(pages) {}

    void enter(const onnx::Message& message) {
        if (&message.table() == &wanted_.table) visit_(path(), message, list_);
        if (depth_left_ == 0) onnx::fail_too_deep(message);
        --depth_left_;
        std::optional<Rows> present;
        for (const wire::FieldRow& row : message.table().fields) {
            if (wanted_.may_be_in(row)) enter_field(message, row, present);
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
            const bool is_list = wanted_.is(row);
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

    const Wanted& wanted_;
    std::uint32_t depth_left_;
    const VisitListed& visit_;
    StructurePages* pages_;
    std::vector<Step> steps_;  // from the root to the message that was entered last
    std::size_t written_ = 0;  // steps whose text is in path_
    std::string path_;
    std::uint64_t lists_ = 0;
    std::uint64_t list_ = 0;
};

}  // namespace

bool holds_tensors(const wire::FieldRow& row) noexcept { return kAnyTensor.may_be_in(row); }

bool holds_graphs(const wire::FieldRow& row) noexcept { return kAnyGraph.may_be_in(row); }

std::string path_key(std::string_view path, std::string_view name, std::uint64_t position) {
    if (!name.empty() && name.size() <= kLongestKey && path.size() <= kLongPath) {
        const std::string key = escaped(name, '"');
        if (key.size() <= kLongestKey) return "[\"" + key + "\"]";
    }
    return '[' + std::to_string(position) + ']';
}

namespace {

void walk(const Wanted& wanted, const onnx::Message& root, std::uint32_t max_depth,
          const VisitMessage& visit, StructurePages* pages = nullptr) {
    const VisitListed visit_listed = [&](const std::string& path, const onnx::Message& message,
                                         std::uint64_t) { visit(path, message); };
    Walk(wanted, max_depth, visit_listed, pages).enter(root);
}

// `root`: of the document.
void walk(const Wanted& wanted, const Document& document, const onnx::Message& root,
          const VisitMessage& visit) {
    StructurePages pages(document.source(), true);
    walk(wanted, root, document.limits().depth, visit, &pages);
}

}  // namespace

void for_each_tensor(const onnx::Message& root, std::uint32_t max_depth,
                     const VisitMessage& visit) {
    walk(kAnyTensor, root, max_depth, visit);
}

void for_each_tensor(const Document& document, const VisitMessage& visit) {
    walk(kAnyTensor, document, document.root(), visit);
}

void for_each_loaded_tensor(const Document& document, const VisitMessage& visit) {
    const onnx::Message loaded(document.root().table(), document.source().bytes());
    walk(kAnyTensor, document, loaded, visit);
}

void for_each_sparse_tensor(const Document& document, const VisitMessage& visit) {
    walk(kAnySparseTensor, document, document.root(), visit);
}

void for_each_node(const onnx::Message& root, std::uint32_t max_depth, const VisitMessage& visit) {
    walk(kAnyNode, root, max_depth, visit);
}

void for_each_node(const Document& document, const VisitMessage& visit) {
    walk(kAnyNode, document, document.root(), visit);
}

void for_each_graph(const Document& document, const VisitMessage& visit) {
    walk(kAnyGraph, document, document.root(), visit);
}

void for_each_listed_tensor(const onnx::Message& root, std::uint32_t max_depth,
                            const VisitListed& visit) {
    Walk(kAnyTensor, max_depth, visit).enter(root);
}

}  // namespace onnxmap::model
