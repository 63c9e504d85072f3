#include "model/rename.hpp"

#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "model/captured_values.hpp"
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
        if (after_.add(names_[pair].after).is_new) {
            first_of_.push_back(pair);
        } else {
            found_[pair].is_taken = true;
        }
    }
    find_all();
    for (std::uint32_t after = 0; after < after_.size(); ++after) {
        found_[first_of_[after]].is_around = graph.is_made_around(after_.name(after));
    }
}

void Renaming::note(std::string_view name, const onnx::Message& message,
                    const wire::FieldRow& field, std::uint32_t index) {
    if (const auto pair = before_.find(name)) places_.push_back({message, &field, index, *pair});
}

// Notes the field `name` of each message of a list.
void Renaming::note_each(const onnx::Message& message, const wire::FieldRow& list,
                         const wire::FieldRow& name) {
    message.for_each_value(list, [&](const wire::Field& element) {
        const onnx::Message inner = message.inner(list, element);
        note(inner.text(name), inner, name);
    });
}

void Renaming::find_all() {
    const auto fields = document_.index(graph_);
    const auto followed = document_.followed_uses(graph_);
    for (std::uint32_t pair = 0; pair < names_.size(); ++pair) {
        if (!names_[pair].before.empty()) find_before(pair, *fields, *followed);
    }
    for (std::uint32_t after = 0; after < after_.size(); ++after) {
        if (!after_.name(after).empty()) find_after(after, *fields, *followed);
    }
    fields->for_each(kSparse, [&](const wire::Field& element) {
        const auto values = graph_.inner(kSparse, element).child(field<"SparseTensorProto.values">);
        if (values) note_sparse(*values);
    });
    fields->for_each(kAnnotations, [&](const wire::Field& element) {
        note_annotation(graph_.inner(kAnnotations, element));
    });
    find_in_trainings();
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
            note_value_info(value);
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
    found.is_hidden = followed.has(name, Mention::Role::made_inside);
    if (before_.find(name)) return;  // it goes
    found.is_taken = found.is_taken || has(kInputs) || has(kInitializers) ||
                     followed.has(name, Mention::Role::output);
    found.is_captured = has(kOutputs) || followed.has(name, Mention::Role::use);
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

void Renaming::find_in_trainings() {
    CapturedUses uses([&](std::string_view name, const onnx::Message& user,
                          std::uint32_t index) { note_use(name, user, index); },
                      [&](std::string_view name) {
                          if (const auto after = after_.find(name))
                              found_[first_of_[*after]].is_hidden = true;
                      },
                      [&](std::string_view name, const onnx::Message& holder,
                          const wire::FieldRow& row) { note(name, holder, row); });
    const std::uint32_t depth = document_.limits().depth;
    for (const onnx::Message& training : training_info_of(document_, graph_)) {
        find_in_training(training, depth, uses,
                         [&](const onnx::Message& entry, const wire::FieldRow& row) {
                             note(entry.text(row), entry, row);
                         });
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
        if (before_.find(name)) note_shards(name, user);
    } else if (before_.find(name)) {
        const wire::FieldRow& outputs = field<"GraphProto.output">;
        note_value_info(user.inner(outputs, document_.index(user)->at(outputs, index)));
    }
}

void Renaming::note_outputs(std::string_view name, const onnx::Message& node) {
    std::uint32_t index = 0;
    Node(node).for_each_output([&](std::string_view output) {
        if (output == name) note(name, node, field<"NodeProto.output">, index);
        ++index;
    });
    note_shards(name, node);
}

void Renaming::note_shards(std::string_view name, const onnx::Message& node) {
    const wire::FieldRow& configurations = field<"NodeProto.device_configurations">;
    const wire::FieldRow& specs = field<"NodeDeviceConfigurationProto.sharding_spec">;
    const wire::FieldRow& sharded = field<"ShardingSpecProto.tensor_name">;
    node.for_each_value(configurations, [&](const wire::Field& each) {
        const onnx::Message configuration = node.inner(configurations, each);
        configuration.for_each_value(specs, [&](const wire::Field& element) {
            const onnx::Message spec = configuration.inner(specs, element);
            if (spec.text(sharded) == name) note(name, spec, sharded);
        });
    });
}

void Renaming::note_value_info(const onnx::Message& value) {
    const wire::FieldRow& name = field<"ValueInfoProto.name">;
    note(value.text(name), value, name);
}

void Renaming::note_annotation(const onnx::Message& annotation) {
    const wire::FieldRow& name = field<"TensorAnnotation.tensor_name">;
    note(annotation.text(name), annotation, name);
    note_each(annotation, field<"TensorAnnotation.quant_parameter_tensor_names">,
              field<"StringStringEntryProto.value">);
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
    for (std::size_t pair = 0; pair < names_.size(); ++pair) {
        const std::string& after = names_[pair].after;
        if (after.empty()) throw std::invalid_argument("a value needs a name");
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
    for (const Place& place : places_) {
        const onnx::Message message = place.message.current();
        const NewValue text = text_value(*place.field, names_[place.pair].after);
        if (place.field->repeated()) {
            splice_values(document_, message, *place.field, place.index, 1, {&text, 1});
        } else {
            set_value(document_, message, *place.field, text);
        }
    }
}

}  // namespace onnxmap::model
