#include "model/rename.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/default_graphs.hpp"
#include "model/edit_message.hpp"
#include "model/list_names.hpp"
#include "model/training_uses.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr const wire::FieldRow& kInputs = field<"GraphProto.input">;
constexpr const wire::FieldRow& kOutputs = field<"GraphProto.output">;
constexpr const wire::FieldRow& kValueInfos = field<"GraphProto.value_info">;
constexpr const wire::FieldRow& kNameOfValue = field<"ValueInfoProto.name">;
constexpr const wire::FieldRow& kInitializers = field<"GraphProto.initializer">;
constexpr const wire::FieldRow& kSparse = field<"GraphProto.sparse_initializer">;
constexpr const wire::FieldRow& kAnnotations = field<"GraphProto.quantization_annotation">;

}  // namespace

Renaming::Renaming(const Graph& graph, std::vector<Names> names)
    : document_(graph.document()), graph_(graph.fields()->message()), names_(std::move(names)) {
    std::erase_if(names_, [](const Names& pair) { return pair.before == pair.after; });
    if (names_.empty()) return;
    found_.resize(names_.size());
    for (std::uint32_t pair = 0; pair < names_.size(); ++pair) {
        before_.add(names_[pair].before);
        filter_.add(names_[pair].before);
        filter_.add(names_[pair].after);
        if (after_.add(names_[pair].after).is_new) {
            first_of_.push_back(pair);
        } else {
            found_[pair].is_doubled = true;
        }
    }
    find_all();
    for (std::uint32_t after = 0; after < after_.size(); ++after) {
        found_[first_of_[after]].is_around = graph.is_made_around(after_.name(after));
    }
}

void Renaming::note(std::string_view name, const onnx::Message& message,
                    const wire::FieldRow& field, std::uint32_t index) {
    if (const auto pair = before_.find(name)) renamed_.push_back({message, &field, index, *pair});
}

// Uses of outer values, which are noted.
CapturedUses Renaming::captured_uses() {
    return CapturedUses([this](std::string_view name, const onnx::Message& user,
                               std::uint32_t index) { note_use(name, user, index); },
                        [this](std::string_view name) {
                            if (const auto after = after_.find(name))
                                found_[first_of_[*after]].is_hidden = true;
                        },
                        [this](std::string_view name, const onnx::Message& holder,
                               const wire::FieldRow& row) { note(name, holder, row); });
}

void Renaming::find_all() {
    const auto fields = document_.index(graph_);
    const auto followed = document_.followed_uses(graph_);
    if (followed->is_worth_reading()) {
        for (std::uint32_t pair = 0; pair < names_.size(); ++pair) {
            if (!names_[pair].before.empty()) find_before(pair, *fields, *followed);
        }
        for (std::uint32_t after = 0; after < after_.size(); ++after) {
            if (!after_.name(after).empty()) find_after(after, *fields, *followed);
        }
    } else {
        find_in_lists(*fields);
    }
    fields->for_each_child(kSparse, [&](const onnx::Message& element) {
        const auto values = element.child(field<"SparseTensorProto.values">);
        if (values) note_sparse(*values);
    });
    const auto note_name = [&](const onnx::Message& holder, const auto& row) { note(holder, row); };
    fields->for_each_child(kAnnotations, [&](const onnx::Message& element) {
        for_each_annotated(element, note_name);
    });
    auto uses = captured_uses();
    find_in_trainings(document_, graph_, uses, note_name);
    note_shards();
}

// The same as find_before() and find_after(), for all names at once. One walk over the lists takes
// a tenth of the time of their indexes.
void Renaming::find_in_lists(const FieldIndex& fields) {
    for (const wire::FieldRow* const list : {&kInputs, &kInitializers}) {
        fields.for_each_child(*list, [&](const onnx::Message& maker) {
            note_made(maker.text(*naming_field(*list)), maker);
        });
    }
    for (const wire::FieldRow* const list : {&kOutputs, &kValueInfos}) {
        fields.for_each_child(*list, [&](const onnx::Message& value) {
            if (list == &kOutputs) note_outer(value.text(*naming_field(*list)));
            note(value, kNameOfValue);
        });
    }
    auto uses = captured_uses();
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    fields.for_each(nodes, [&](const wire::Field& element) {
        const Node node(graph_, nodes, element);
        if (!may_concern(node.message())) return;
        node.for_each_output([&](std::string_view name) { note_made(name, node.message()); });
        uses.find_in_node(node, document_.limits().depth);
    });
}

// Whether a node may have one of the names, or a subgraph.
bool Renaming::may_concern(const onnx::Message& node) const {
    onnx::Message::Walk walk(node);
    for (wire::Field found; walk.next(found);) {
        if (found.type != wire::WireType::length_delimited) continue;
        switch (found.number) {
            case field<"NodeProto.input">.number:
            case field<"NodeProto.output">.number:
                if (filter_.may_have(found.text())) return true;
                break;
            case field<"NodeProto.attribute">.number:
                if (Attribute(node.inner(field<"NodeProto.attribute">, found)).may_hold_graph())
                    return true;
                break;
            default: break;
        }
    }
    return false;
}

// Notes what makes a value: an input, a dense initializer or a node.
void Renaming::note_made(std::string_view name, const onnx::Message& maker) {
    if (name.empty()) return;
    const auto pair = before_.find(name);
    const auto after = after_.find(name);
    if (after && !pair) found_[first_of_[*after]].is_taken = true;
    if (!pair) return;
    Found& found = found_[*pair];
    if (&maker.table() == &onnx::message<"TensorProto">) {
        ++found.count;
        found.segments += tensor::is_segment(maker) ? 1 : 0;
        note(name, maker, field<"TensorProto.name">);
        return;
    }
    found.is_made = true;
    if (!is_node(maker)) {
        note(maker, kNameOfValue);
        return;
    }
    if (std::exchange(found.is_output, true))
        throw duplicate_name("node output", name, "look for it in node_outputs()");
    note_outputs(name, maker);
}

// The messages of a list of the graph that have a name.
template <class Visit>
void Renaming::for_each_named(const FieldIndex& fields, const wire::FieldRow& list,
                              std::string_view name, Visit&& visit) const {
    const NamedList named(document_, fields, list, *naming_field(list));
    for (const std::uint64_t position : named.positions(name)) {
        visit(graph_.inner(list, fields.at(list, position)));
    }
}

// All that is to be renamed, but for sparse tensors, annotations and trainings.
void Renaming::find_before(std::uint32_t pair, const FieldIndex& fields, FollowedUses& followed) {
    const std::string_view name = names_[pair].before;
    for_each_named(fields, kInitializers, name, [&](const onnx::Message& tensor) {
        ++found_[pair].count;
        found_[pair].segments += tensor::is_segment(tensor) ? 1 : 0;
        note(name, tensor, field<"TensorProto.name">);
    });
    for (const wire::FieldRow* const list : {&kInputs, &kOutputs, &kValueInfos}) {
        for_each_named(fields, *list, name, [&](const auto& value) {
            note(value, kNameOfValue);
            if (list == &kInputs) found_[pair].is_made = true;
        });
    }
    if (const auto maker = followed.producer(name)) {
        note_outputs(name, *maker);
        found_[pair].is_made = true;
    }
    for (const UserOfValue& user : followed.uses(name, fields)) {
        note_use(name, user.message, user.index);
    }
    for (const onnx::Message& holder : followed.annotations(name)) {
        const bool is_entry = &holder.table() == &onnx::message<"StringStringEntryProto">;
        note(name, holder,
             is_entry ? field<"StringStringEntryProto.value">
                      : field<"TensorAnnotation.tensor_name">);
    }
}

// What speaks against a new name, but for sparse tensors and trainings.
void Renaming::find_after(std::uint32_t after, const FieldIndex& fields, FollowedUses& followed) {
    const std::string_view name = after_.name(after);
    Found& found = found_[first_of_[after]];
    const auto has = [&](const wire::FieldRow& list) {
        return NamedList(document_, fields, list, *naming_field(list)).count(name) != 0;
    };
    found.is_hidden = followed.is_made_inside(name);
    if (before_.find(name)) return;  // it goes
    found.is_taken = found.is_taken || has(kInputs) || has(kInitializers) || followed.is_made(name);
    found.is_captured = has(kOutputs) || followed.is_used(name);
}

void Renaming::note_sparse(const onnx::Message& values) {
    const std::string_view name = values.text(field<"TensorProto.name">);
    if (const auto after = after_.find(name); after && !before_.find(name)) {
        found_[first_of_[*after]].is_taken = true;
    }
    if (const auto pair = name.empty() ? std::nullopt : before_.find(name)) {
        found_[*pair].is_sparse = true;
        note(name, values, field<"TensorProto.name">);
    }
}

void Renaming::note_outer(std::string_view name) {
    if (const auto after = after_.find(name); after && !before_.find(name)) {
        found_[first_of_[*after]].is_captured = true;
    }
}

void Renaming::note_use(std::string_view name, const onnx::Message& user, std::uint32_t index) {
    note_outer(name);
    if (is_node(user)) {
        note(name, user, field<"NodeProto.input">, index);
    } else if (before_.find(name)) {
        const wire::FieldRow& outputs = field<"GraphProto.output">;
        note(user.inner(outputs, document_.index(user)->at(outputs, index)), kNameOfValue);
    }
}

void Renaming::note_outputs(std::string_view name, const onnx::Message& node) {
    std::uint32_t index = 0;
    Node(node).for_each_output([&](std::string_view output) {
        if (output == name) note(name, node, field<"NodeProto.output">, index);
        ++index;
    });
}

// Puts the places of each field of a message together, and notes the sharding specs of the nodes
// among them: each node is read once, however often it mentions a value.
void Renaming::note_shards() {
    const auto less = std::less<>();
    const auto is_before = [&](const Renamed& a, const Renamed& b) {
        if (a.message.key() != b.message.key()) return less(a.message.key(), b.message.key());
        return less(a.field, b.field);
    };
    std::ranges::stable_sort(renamed_, is_before);
    const std::size_t count = renamed_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const onnx::Message node = renamed_[i].message;
        if (!is_node(node) || (i > 0 && renamed_[i - 1].message.key() == node.key())) continue;
        for_each_shard(node,
                       [&](const onnx::Message& spec, const auto& name) { note(spec, name); });
    }
}

std::optional<std::string_view> Renaming::first_unknown(Of values) const {
    for (std::size_t pair = 0; pair < names_.size(); ++pair) {
        const Found& found = found_[pair];
        const bool is_dense = found.count > 0 && is_one_tensor(found.count, found.segments);
        const bool is_value = values == Of::all_values && found.is_made;
        if (!is_dense && !found.is_sparse && !is_value) return names_[pair].before;
    }
    return std::nullopt;
}

void Renaming::check() const {
    check_editable(document_, graph_);
    check_no_default_graphs(document_, graph_, kRemoveDefault);
    for (std::size_t pair = 0; pair < names_.size(); ++pair) {
        const std::string& after = names_[pair].after;
        if (after.empty()) throw std::invalid_argument("a value needs a name");
        if (found_[pair].is_doubled)
            throw std::invalid_argument("two values would get the name " + in_quotes(after));
        if (found_[pair].is_taken) {
            throw std::invalid_argument("the graph has a value of the name " + in_quotes(after) +
                                        " already");
        }
    }
    for (std::size_t pair = 0; pair < names_.size(); ++pair) {
        const std::string after = in_quotes(names_[pair].after);
        if (found_[pair].is_hidden) {
            throw std::invalid_argument("a subgraph has a value of its own of the name " + after +
                                        ", which would hide it");
        }
        if (found_[pair].is_captured) {
            throw std::invalid_argument("the graph uses a value " + after +
                                        " from outside, which it would hide");
        }
        if (found_[pair].is_around) {
            throw std::invalid_argument("a graph around this one has a value of the name " + after +
                                        ", which it would hide");
        }
    }
}

void Renaming::apply() const {
    if (names_.empty()) return;
    check();
    std::vector<NewText> texts;
    for (auto each = renamed_.begin(); each != renamed_.end();) {
        const auto& [message, row, index, pair] = *each;
        texts.clear();
        for (; each != renamed_.end() && each->field == row && each->message.is(message); ++each)
            texts.push_back({each->index, names_[each->pair].after});
        set_texts(document_, message.current(), *row, texts);
    }
}

void set_texts(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
               std::span<const NewText> texts) {
    if (texts.empty()) return;
    if (!row.repeated()) {
        set_value(document, message, row, text_value(row, texts.back().text));
        return;
    }
    const auto [first, last] = std::ranges::minmax_element(texts, {}, &NewText::index);
    std::vector<NewValue> values;
    std::uint32_t index = 0;
    message.for_each_value(row, [&](const wire::Field& each) {
        if (index >= first->index && index <= last->index)
            values.push_back(text_value(row, each.text()));
        ++index;
    });
    for (const auto& [i, text] : texts) values[i - first->index] = text_value(row, text);
    splice_values(document, message, row, first->index, values.size(), values);
}

}  // namespace onnxmap::model
