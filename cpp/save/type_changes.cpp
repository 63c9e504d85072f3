#include "save/type_changes.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/initializer_casts.hpp"
#include "model/message_walk.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"
#include "model/training_uses.hpp"
#include "onnx/schema.hpp"
#include "source/read_guard.hpp"
#include "tensor/float_cast.hpp"
#include "tensor/header.hpp"

namespace onnxmap::save {

using onnx::DataTypeInfo;
using onnx::field;

namespace {

constexpr std::int64_t kFirstCast = 6;  // earlier, its attribute `to` was a text

// An initializer of a type that can be converted.
struct Candidate {
    onnx::Message tensor;
    const DataTypeInfo* type;
    std::size_t graph;
    bool is_fixed;  // its name must stay that of an initializer
};

struct Candidates {
    std::vector<onnx::Message> graphs;
    std::vector<Candidate> tensors;
    std::vector<std::string> names;                                         // of them
    std::unordered_map<const std::uint8_t*, model::InitializerCast> casts;  // by their keys
    model::TextSet names_taken;  // those that a new name could be
};

// Every new name ends with the name of a type: see free_name().
void note_taken(Candidates& found, std::string_view name) {
    if (name.find("float") != std::string_view::npos) found.names_taken.emplace(name);
}

// The names of the values of the main graph that training_info uses.
model::TextSet used_in_training(const model::Document& document) {
    model::TextSet used;
    model::CapturedUses uses(
        [&](std::string_view name, const onnx::Message&, std::uint32_t) { used.emplace(name); });
    const onnx::Message root = document.root();
    root.for_each_child(field<"ModelProto.training_info">, [&](const onnx::Message& value) {
        model::find_in_training(value, document.limits().depth, uses,
                                [&](const onnx::Message& entry, const wire::FieldRow& name) {
                                    used.emplace(entry.text(name));
                                });
    });
    return used;
}

using LeavesOut = std::function<bool(const tensor::Header& tensor)>;

// Adds the initializers of a graph, except some.
void add_candidates(Candidates& found, const onnx::Message& graph, const LeavesOut& leaves_out,
                    const model::TextSet& fixed = {}) {
    model::TextSet made;  // by the inputs and initializers
    model::TextSet fixed_here;
    const std::size_t first = found.tensors.size();
    graph.for_each_field([&](const wire::Field& value, const wire::FieldRow* row) {
        if (row == &field<"GraphProto.input">) {
            const std::string_view name =
                graph.inner(*row, value).text(field<"ValueInfoProto.name">);
            note_taken(found, name);
            if (!made.emplace(name).second) fixed_here.emplace(name);
        } else if (row == &field<"GraphProto.initializer">) {
            const onnx::Message tensor = graph.inner(*row, value);
            const tensor::Header header = tensor::read_header(tensor);
            note_taken(found, header.name);
            if (!made.emplace(header.name).second) fixed_here.emplace(header.name);
            const DataTypeInfo* const type = onnx::find_data_type(header.data_type);
            if (type == nullptr || !tensor::Cast::takes(*type)) return;
            if (header.name.empty() || leaves_out(header)) return;
            found.tensors.push_back({tensor, type, found.graphs.size(), false});
            found.names.emplace_back(header.name);
        }
    });
    for (std::size_t i = first; i < found.tensors.size(); ++i) {
        const std::string& name = found.names[i];
        found.tensors[i].is_fixed = fixed_here.contains(name) || fixed.contains(name);
    }
    found.graphs.push_back(graph);
}

Candidates find_candidates(const model::Document& document, const model::InlineTensors& inlines) {
    Candidates found;
    const model::TextSet fixed = used_in_training(document);
    model::for_each_graph(document, [&](const std::string& path, const onnx::Message& graph) {
        if (!path.starts_with("graph")) return;
        add_candidates(
            found, graph,
            [&](const tensor::Header& tensor) { return inlines.decides_shape(tensor); }, fixed);
        for (auto& each : model::initializer_casts(document, graph)) {
            found.casts.emplace(each.tensor.key(), each);
        }
    });
    model::for_each_node(document, [&](const std::string&, const onnx::Message& message) {
        const model::Node node(message);
        note_taken(found, node.name());
        node.for_each_output([&](std::string_view name) { note_taken(found, name); });
    });
    return found;
}

std::string free_name(Candidates& found, const std::string& name, const DataTypeInfo& type) {
    const std::string base = name + '.' + std::string(type.numpy);
    std::string made = base;
    for (int i = 2; !found.names_taken.insert(made).second; ++i) {
        made = base + '.' + std::to_string(i);
    }
    return made;
}

std::int64_t first_opset(const DataTypeInfo& type) {
    if (type.bits == 8) return 19;
    return type.type == onnx::DataType::BFLOAT16 ? 13 : kFirstCast;
}

// Throws if the model is too old for a Cast between two types.
void check_versions(const onnx::Message& model, std::int64_t opset, const TypeChange& change) {
    for (const DataTypeInfo* type : {change.of_value, change.to}) {
        const std::int64_t since = first_opset(*type);
        if (opset == 0) {
            throw Error("save.opset",
                        "Cast needs an operator set, and the model imports none of "
                        "ONNX; set model.opset_imports[\"\"]");
        }
        if (opset < since) {
            throw Error("save.opset", {"Cast takes ", type->name, " from opset ", since,
                                       " on, and the model imports ", opset, "; convert_version(",
                                       since, ") raises it"});
        }
        const std::int64_t ir = model.int64(field<"ModelProto.ir_version">);
        if (ir < type->ir_version) {
            throw Error("save.opset", {type->name, " needs ir_version ", type->ir_version,
                                       ", and the model has ", ir, "; set model.ir_version"});
        }
    }
}

std::int64_t opset_of(const onnx::Message& model) {
    std::int64_t version = 0;
    model.for_each_child(field<"ModelProto.opset_import">, [&](const onnx::Message& entry) {
        const std::string_view domain = entry.text(field<"OperatorSetIdProto.domain">);
        if (!domain.empty() && domain != "ai.onnx") return;
        version = std::max(version, entry.int64(field<"OperatorSetIdProto.version">));
    });
    return version;
}

[[noreturn]] void refuse_fixed(const std::vector<std::string_view>& names) {
    throw Error(
        "save.dtype",
        {"initializers that are inputs, whose name stands twice, or that training_info uses, "
         "cannot have another type: ",
         listed(names),
         "; drop_initializer_inputs() removes such inputs, or name the types of the others "
         "only"});
}

// The changes of these initializers. `keeps_names`: no node Cast follows.
TypeChanges changes_of(const model::Document& document, Candidates& found, const TypesOf& types_of,
                       bool keeps_names) {
    const std::vector<const DataTypeInfo*> types = types_of(found.names);
    TypeChanges changes;
    changes.has_candidates = !found.tensors.empty();
    std::vector<std::string_view> fixed;
    source::guard_reads(document.source(), [&] {
        const onnx::Message root = document.root();
        const std::int64_t opset = opset_of(root);
        std::size_t graph = found.graphs.size();  // that was added last
        for (std::size_t i = 0; i < found.tensors.size(); ++i) {
            const Candidate& each = found.tensors[i];
            const std::string& name = found.names[i];
            if (types[i] == nullptr || types[i] == each.type) continue;
            if (each.is_fixed && !keeps_names) fixed.push_back(name);
            if (each.graph != std::exchange(graph, each.graph)) {
                changes.graphs.push_back({found.graphs[each.graph], {}});
            }
            TypeChange change{name, name, each.type, types[i], keeps_names ? types[i] : each.type};
            const auto cast = found.casts.find(each.tensor.key());
            if (cast != found.casts.end()) {
                change.old_name = change.name = cast->second.name;
                change.of_value = cast->second.type;
                changes.graphs.back().old_casts.insert(cast->second.position);
            }
            if (change.of_value != change.to) {
                change.name = free_name(found, change.old_name, *change.to);
                check_versions(root, opset, change);
            }
            changes.graphs.back().tensors.push_back(each.tensor.key());
            changes.by_tensor.emplace(each.tensor.key(), std::move(change));
        }
    });
    if (!fixed.empty()) refuse_fixed(fixed);
    return changes;
}

}  // namespace

TypeChanges find_type_changes(const model::Document& document, const model::InlineTensors& inlines,
                              const TypesOf& types_of) {
    Candidates found =
        source::guard_reads(document.source(), [&] { return find_candidates(document, inlines); });
    return changes_of(document, found, types_of, false);
}

TypeChanges find_weight_changes(const model::Document& document, const TypesOf& types_of,
                                const std::optional<std::set<std::string, std::less<>>>& names) {
    Candidates found;
    source::guard_reads(document.source(), [&] {
        const auto graph = document.root().child(field<"ModelProto.graph">);
        if (!graph) return;
        add_candidates(found, *graph, [&](const tensor::Header& tensor) {
            return names && !names->contains(tensor.name);
        });
    });
    return changes_of(document, found, types_of, true);
}

}  // namespace onnxmap::save
