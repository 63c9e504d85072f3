#include "compare/model_comparison.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "compare/storage_elements.hpp"
#include "model/message_walk.hpp"
#include "onnx/schema.hpp"
#include "os/parallel.hpp"

namespace onnxmap::compare {

using onnx::field;
using onnx::Message;

namespace {

// The list of differences may take this many bytes, and this multiple of the bytes of both models.
constexpr std::uint64_t kLeastRoom = 48 << 20;
constexpr std::uint64_t kRoomPerByte = 32;

Section section_of(const wire::FieldRow& row) noexcept {
    if (&row == &field<"ModelProto.functions">) return Section::functions;
    if (&row == &field<"GraphProto.node">) return Section::nodes;
    if (&row == &field<"GraphProto.input">) return Section::inputs;
    if (&row == &field<"GraphProto.output">) return Section::outputs;
    return Section::tensors;
}

bool is_table(const Message& message, const wire::MessageTable& table) noexcept {
    return &message.table() == &table;
}

}  // namespace

class ModelComparison::Step {
  public:
    Step(ModelComparison& walk, std::string_view in_a, std::string_view in_b)
        : walk_(walk), size_a_(walk.path_a_.size()), size_b_(walk.path_b_.size()) {
        append(walk.path_a_, in_a);
        append(walk.path_b_, in_b);
    }
    ~Step() {
        walk_.path_a_.resize(size_a_);
        walk_.path_b_.resize(size_b_);
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

  private:
    static void append(std::string& path, std::string_view step) {
        if (!path.empty()) path += '.';
        path += step;
    }

    ModelComparison& walk_;
    std::size_t size_a_;
    std::size_t size_b_;
};

class ModelComparison::InItem {
  public:
    /// `a` or `b` is null if only the other model has the element.
    InItem(ModelComparison& walk, Section section, const Message* a, const Message* b)
        : a_(a), b_(b), walk_(walk), section_before_(walk.section_) {
        walk.section_ = section;
        walk.in_item_ = this;
        walk.item_.reset();
        walk.item_begin_a_ = walk.path_a_.size();
        walk.item_begin_b_ = walk.path_b_.size();
    }
    ~InItem() {
        walk_.section_ = section_before_;
        walk_.in_item_ = nullptr;
        walk_.item_.reset();
        walk_.item_begin_a_ = walk_.item_begin_b_ = 0;
    }
    InItem(const InItem&) = delete;
    InItem& operator=(const InItem&) = delete;

    [[nodiscard]] bool is_in(bool of_a) const noexcept { return (of_a ? a_ : b_) != nullptr; }
    [[nodiscard]] std::string name_in(bool of_a) const {
        const Message* const message = of_a ? a_ : b_;
        if (message == nullptr) return {};
        const wire::FieldRow* const row = message->table().find("name");
        return row == nullptr ? std::string() : std::string(message->text(*row));
    }
    [[nodiscard]] std::string op_type_in(bool of_a) const {
        const Message* const message = of_a ? a_ : b_;
        if (message == nullptr || !is_table(*message, onnx::message<"NodeProto">)) return {};
        return std::string(message->text(field<"NodeProto.op_type">));
    }

  private:
    const Message* a_;
    const Message* b_;
    ModelComparison& walk_;
    Section section_before_;
};

void ModelComparison::make_item() {
    if (item_) return;
    Item item{.section = section_,
              .in_a = in_item_->is_in(true) ? path_a_.substr(0, item_begin_a_) : std::string(),
              .in_b = in_item_->is_in(false) ? path_b_.substr(0, item_begin_b_) : std::string(),
              .name = in_item_->name_in(true),
              .name_in_b = in_item_->name_in(false),
              .op_type = in_item_->op_type_in(true),
              .op_type_in_b = in_item_->op_type_in(false)};
    const std::uint64_t nbytes = item.in_a.size() + item.in_b.size() + item.name.size() +
                                 item.name_in_b.size() + item.op_type.size() +
                                 item.op_type_in_b.size();
    if (!has_room(nbytes)) return;
    item_ = found_.items.size();
    found_.items.push_back(std::move(item));
}

ModelComparison::ModelComparison(const TwoDocuments& documents, Differences& found)
    : documents_(documents),
      found_(found),
      read_a_(documents.a),
      read_b_(documents.b),
      room_(kLeastRoom +
            kRoomPerByte * (documents.a.root().nbytes() + documents.b.root().nbytes())),
      depth_left_(std::max(documents.a.limits().depth, documents.b.limits().depth) + 1) {}

void ModelComparison::run() {
    if (documents_.options.casts) note_casts();
    compare_sections(documents_.a.root(), documents_.b.root(), false);
}

void ModelComparison::compare_sections(const Message& a, const Message& b, bool in_main_graph) {
    for (const Row& each : a.table().fields) {
        const bool is_metadata = !each.is_message() || each.name == "metadata_props";
        section_ = is_metadata ? Section::metadata : Section::other;
        if (&each == &field<"ModelProto.opset_import">) section_ = Section::opset_imports;
        in_main_graph_ = in_main_graph || &each == &field<"ModelProto.graph">;
        compare_field(each, a, b);
    }
    in_main_graph_ = in_main_graph;
    section_ = Section::other;
    compare_unknown_fields(a, b);
}

void ModelComparison::compare_messages(const Message& a, const Message& b) {
    os::leave_if_stopped();
    if (depth_left_ == 0) onnx::fail_too_deep(a);
    --depth_left_;
    if (is_table(a, onnx::message<"TensorProto">)) {
        compare_tensors(a, b);
    } else {
        const auto present = rows_of(a) | rows_of(b);
        for (const Row& each : a.table().fields) {
            if ((present & onnx::Pieces::rows(a.table(), each)) != 0) compare_field(each, a, b);
        }
        compare_unknown_fields(a, b);
    }
    ++depth_left_;
}

bool ModelComparison::is_ignored(const Row& row) const noexcept {
    const Options& options = documents_.options;
    const auto is_one_of = [&](std::initializer_list<const Row*> rows) {
        return std::ranges::find(rows, &row) != rows.end();
    };
    if (options.ignores_docs && row.name == "doc_string") return true;
    if (options.ignores_names && is_one_of({&field<"NodeProto.name">, &field<"GraphProto.name">})) {
        return true;
    }
    return options.ignores_metadata &&
           (row.name == "metadata_props" ||
            is_one_of({&field<"ModelProto.producer_name">, &field<"ModelProto.producer_version">,
                       &field<"ModelProto.domain">, &field<"ModelProto.model_version">}));
}

void ModelComparison::compare_field(const Row& row, const Message& a, const Message& b) {
    if (is_ignored(row)) return;
    if (row.is_message()) {
        if (row.repeated()) {
            compare_lists(row, a, b);
        } else {
            compare_single_messages(row, a, b);
        }
        return;
    }
    const DocumentMessage in_a{documents_.a, a};
    const DocumentMessage in_b{documents_.b, b};
    if (row.repeated() ? same_list(in_a, in_b, row) : same_single(in_a, in_b, row)) return;
    const Step step(*this, row.name, row.name);
    Value of_a = value_of(in_a, row);
    Value of_b = value_of(in_b, row);
    const bool is_new = std::holds_alternative<std::monostate>(of_a);
    const bool is_gone = std::holds_alternative<std::monostate>(of_b);
    add(is_new    ? Kind::added
        : is_gone ? Kind::removed
                  : Kind::changed,
        std::move(of_a), std::move(of_b));
}

void ModelComparison::compare_single_messages(const Row& row, const Message& a, const Message& b) {
    const auto in_a = documents_.a.child(a, row);
    const auto in_b = documents_.b.child(b, row);
    if (!in_a && !in_b) return;
    const Step step(*this, row.name, row.name);
    if (!in_a || !in_b) {
        add(in_a ? Kind::removed : Kind::added);
    } else if (&row == &field<"ModelProto.graph">) {
        compare_sections(*in_a, *in_b, true);
    } else {
        compare_messages(*in_a, *in_b);
    }
}

void ModelComparison::compare_lists(const Row& row, const Message& a, const Message& b) {
    Elements of_a(a, row);
    Elements of_b(b, row);
    if (of_a.count() == 0 && of_b.count() == 0) return;
    if (&onnx::kSchema.message_of(row) == &onnx::message<"NodeProto">) {
        drop_casts(of_a);
        drop_casts(of_b);
        compare_nodes(row, of_a, of_b);
        return;
    }
    drop_what_is_storage(documents_.a, row, of_a);
    drop_what_is_storage(documents_.b, row, of_b);
    Matching matching(of_a.count(), of_b.count());
    bool ordered = false;
    if (has_key(row)) {
        // Elements without a name are matched with one another, in order.
        std::string key;
        const auto key_in = [&](const Elements& elements) {
            return [&](std::uint32_t i) -> std::string_view {
                key = '=' + key_in_list(row, elements.at(i));
                return key;
            };
        };
        matching.pair_by(key_in(of_a), key_in(of_b));
        ordered = &row == &field<"GraphProto.input"> || &row == &field<"GraphProto.output">;
    } else {
        for (std::uint32_t i = 0; i < std::min(of_a.count(), of_b.count()); ++i) {
            matching.pair(i, i);
        }
    }
    compare_pairs(row, of_a, of_b, matching, ordered);
}

void ModelComparison::compare_nodes(const Row& row, const Elements& a, const Elements& b) {
    const bool by_name = !documents_.options.ignores_names;
    const NodeMatching found = match_nodes(documents_.a, a, documents_.b, b, depth_left_, by_name);
    compare_pairs(row, a, b, found.matching, true, &found);
}

void ModelComparison::compare_pairs(const Row& row, const Elements& a, const Elements& b,
                                    const Matching& matching, bool ordered,
                                    const NodeMatching* known) {
    const std::vector<bool> moved = ordered ? matching.moved() : std::vector<bool>(a.count());
    const wire::MessageTable& table = onnx::kSchema.message_of(row);
    const bool has_name = has_key(row) && &table != &onnx::message<"NodeProto"> &&
                          &table != &onnx::message<"TensorProto">;
    const Row* naming = has_name ? table.find("name") : nullptr;
    if (has_name && naming == nullptr) naming = &table.fields.front();
    // Names that are unusually long are replaced by positions: see path_key().
    const auto step_to = [&](const Elements& elements, std::uint32_t i, const std::string& path) {
        const Message element = elements.at(i);
        const std::string_view name =
            naming != nullptr && naming->is_text() ? element.text(*naming) : std::string_view();
        return std::string(row.name) + model::path_key(path, name, elements.position(i));
    };
    for (std::uint32_t i = 0; i < a.count(); ++i) {
        os::leave_if_stopped();
        const std::uint32_t j = matching.of_a(i);
        const bool same_end =
            known != nullptr && (i < known->same_first || i >= a.count() - known->same_last);
        if (same_end && !moved[i]) continue;
        const Message in_a = a.at(i);
        if (j == Matching::kNone) {
            const Step step(*this, step_to(a, i, path_a_), {});
            report_unmatched(row, in_a, true);
            continue;
        }
        const Message in_b = b.at(j);
        if (!moved[i] && is_identical({documents_.a, in_a}, {documents_.b, in_b}, depth_left_)) {
            continue;
        }
        const Step step(*this, step_to(a, i, path_a_), step_to(b, j, path_b_));
        compare_pair(row, in_a, in_b, moved[i]);
    }
    for (std::uint32_t j = 0; j < b.count(); ++j) {
        if (matching.of_b(j) != Matching::kNone) continue;
        const Step step(*this, {}, step_to(b, j, path_b_));
        report_unmatched(row, b.at(j), false);
    }
}

bool ModelComparison::opens_items(const Row& row) const noexcept {
    if (in_item_ != nullptr) return false;
    if (&row == &field<"ModelProto.functions">) return true;
    return in_main_graph_ &&
           (&row == &field<"GraphProto.node"> || &row == &field<"GraphProto.input"> ||
            &row == &field<"GraphProto.output"> || &row == &field<"GraphProto.initializer">);
}

void ModelComparison::compare_pair(const Row& row, const Message& a, const Message& b, bool moved) {
    if (opens_items(row)) {
        const InItem item(*this, section_of(row), &a, &b);
        if (moved) report_moved();
        compare_messages(a, b);
        return;
    }
    if (moved) add(Kind::moved);
    const DocumentMessage in_a{documents_.a, a};
    const DocumentMessage in_b{documents_.b, b};
    const bool entry = is_table(a, onnx::message<"StringStringEntryProto">) ||
                       is_table(a, onnx::message<"OperatorSetIdProto">);
    if (entry) {
        const Row& value = a.table().fields[1];
        if (!same_single(in_a, in_b, value)) {
            add(Kind::changed, summary_of(in_a), summary_of(in_b));
            compare_unknown_fields(a, b);
            return;
        }
    }
    compare_messages(a, b);
}

void ModelComparison::compare_unknown_fields(const Message& a, const Message& b) {
    if (same_unknown_fields({documents_.a, a}, {documents_.b, b})) return;
    const Step step(*this, "unknown_fields", "unknown_fields");
    add(Kind::changed);
}

void ModelComparison::report_unmatched(const Row& row, const Message& element, bool in_a) {
    if (opens_items(row)) {
        const InItem item(*this, section_of(row), in_a ? &element : nullptr,
                          in_a ? nullptr : &element);
        make_item();
        if (!item_) ++found_.left_out;
        if (item_ && section_ == Section::tensors) report_unmatched_tensor(element, in_a);
    } else {
        Value summary = summary_of({in_a ? documents_.a : documents_.b, element});
        if (in_a) {
            add(Kind::removed, std::move(summary));
        } else {
            add(Kind::added, {}, std::move(summary));
        }
    }
}

void ModelComparison::report_renamed(const UnmatchedTensor& a, const UnmatchedTensor& b) {
    Item& item = found_.items[a.item];
    Item& other = found_.items[b.item];
    item.tensor->b = std::move(other.tensor->b);
    item.tensor->renamed = true;
    item.in_b = std::move(other.in_b);
    item.name_in_b = std::move(other.name_in_b);
    other.in_a = other.in_b = item.in_a;  // no longer a difference
    other.tensor.reset();
    path_a_ = item.in_a;
    path_b_ = item.in_b;
    {
        const InItem in_item(*this, Section::tensors, &a.message, &b.message);
        item_ = a.item;
        compare_tensor_fields(a.message, b.message);
    }
    path_a_.clear();
    path_b_.clear();
}

}  // namespace onnxmap::compare
