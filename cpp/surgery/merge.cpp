#include "surgery/merge.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "model/copied_external_values.hpp"
#include "model/equality.hpp"
#include "model/function_names.hpp"
#include "model/graph.hpp"
#include "model/message_walk.hpp"
#include "model/name_table.hpp"
#include "onnx/operators.hpp"
#include "surgery/assembly.hpp"
#include "surgery/called_functions.hpp"
#include "surgery/connected_types.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/merge_names.hpp"
#include "surgery/merge_part.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kInputs = field<"GraphProto.input">;
constexpr const wire::FieldRow& kOutputs = field<"GraphProto.output">;
constexpr const wire::FieldRow& kValueInfos = field<"GraphProto.value_info">;
constexpr const wire::FieldRow& kFunctions = field<"ModelProto.functions">;
constexpr const wire::FieldRow& kFunctionName = field<"FunctionProto.name">;
constexpr const wire::FieldRow& kOperator = field<"NodeProto.op_type">;
constexpr const wire::FieldRow& kImports = field<"ModelProto.opset_import">;
constexpr const wire::FieldRow& kMetadata = field<"ModelProto.metadata_props">;
constexpr const wire::FieldRow& kGraphMetadata = field<"GraphProto.metadata_props">;
constexpr const wire::FieldRow& kDevices = field<"ModelProto.configuration">;

[[noreturn]] void contradict(const std::string& reason) { throw std::invalid_argument(reason); }

class Merging {
  public:
    Merging(const model::Document& a, const model::Document& b, const MergeOptions& options)
        : a_(a),
          b_(b),
          options_(options),
          functions_(options.prefix),
          renamed_(options, functions_) {}

    void run(const model::Document& made) {
        check_training();
        check_connections();
        check_names();
        check_imports();
        check_functions();
        check_entries();
        add_root(made);
        add_graph(made);
    }

  private:
    void check_training() const {
        if (b_.root.has(field<"ModelProto.training_info">)) {
            contradict(
                "the second model has training information, which is about that model alone: its "
                "steps would run the first one as well; clear training_info before");
        }
    }

    void check_connections() const {
        model::NameSet inputs;
        for (const auto& [output, input] : options_.connect) {
            const auto from = a_.outputs.find(output);
            const auto to = b_.inputs.find(input);
            if (from == a_.outputs.end())
                throw UnknownNames("the first model has no output " + in_quotes(output));
            if (to == b_.inputs.end())
                throw UnknownNames("the second model has no input " + in_quotes(input));
            if (!inputs.insert(input).second) contradict(in_quotes(input) + " is connected twice");
            check_types(a_.document, from->second, b_.document, to->second);
            if (a_.trained.contains(output)) {
                contradict("the training of the first model assigns its output " +
                           in_quotes(output) +
                           ", which would no longer be an output: clear training_info before");
            }
            check_not_inside(input);
        }
        for (const std::string& name : options_.share) {
            const auto one = a_.inputs.find(name);
            const auto other = b_.inputs.find(name);
            if (one == a_.inputs.end() || other == b_.inputs.end())
                throw UnknownNames("not both models have an input " + in_quotes(name));
            if (!inputs.insert(name).second)
                contradict(in_quotes(name) + " is shared twice, or connected and shared");
            check_types(a_.document, one->second, b_.document, other->second);
            check_not_inside(name);
        }
    }

    void check_not_inside(std::string_view input) const {
        if (b_.made_inside.contains(input))
            contradict("a subgraph has a value " + in_quotes(input) + " of its own");
    }

    void check_names() {
        const auto taken = [&](const std::string& name, const char* what) {
            contradict("both models have a " + std::string(what) + " " + in_quotes(name) +
                       ": give a prefix for the names of the second");
        };
        for (const std::string_view each : b_.made) {
            const std::string name = renamed_.value(each);
            if (renamed_.is_connected(each)) continue;
            if (!a_.made.contains(name) && !a_.made_inside.contains(name)) continue;
            if (!is_one_initializer(each)) taken(name, "value");
            renamed_.share(each);
        }
        for (const std::string_view each : b_.made_inside) {
            const std::string name = renamed_.value(each);
            if (a_.made.contains(name)) taken(name, "value");
        }
        for (const std::string_view each : b_.nodes) {
            const std::string name = renamed_.node(each);
            if (a_.nodes.contains(name)) taken(name, "node");
        }
    }

    // Whether both models have this initializer, with the same contents: the new one has it once.
    // Nothing may change it for one of them alone.
    bool is_one_initializer(std::string_view name) {
        if (!options_.prefix.empty() || b_.made_inside.contains(name) ||
            a_.inputs.contains(name) != b_.inputs.contains(name) || is_annotated(name) ||
            a_.root.has(field<"ModelProto.training_info">)) {
            return false;
        }
        if (!initializers_) initializers_.emplace(initializers_of(a_), initializers_of(b_));
        const auto one = initializers_->first.find(name);
        const auto other = initializers_->second.find(name);
        return one != initializers_->first.end() && other != initializers_->second.end() &&
               model::equal(a_.document, one->second, b_.document, other->second);
    }

    bool is_annotated(std::string_view name) const {
        bool found = false;
        b_.main.for_each_child(
            field<"GraphProto.quantization_annotation">, [&](const Message& each) {
                found = found || each.text(field<"TensorAnnotation.tensor_name">) == name;
            });
        return found;
    }

    using Initializers = model::NameMap<Message>;
    static Initializers initializers_of(const MergePart& part) {
        return messages_by(field<"TensorProto.name">, part.main, field<"GraphProto.initializer">);
    }

    void check_imports() {
        imported_ = imported_versions(a_.root, kImports);
        for (const auto& [domain, version] : imported_versions(b_.root, kImports)) {
            const auto known = imported_.find(domain);
            if (known == imported_.end() || known->second == version) continue;
            const std::string newer = std::to_string(std::max(known->second, version));
            contradict("the models import versions " + std::to_string(known->second) + " and " +
                       std::to_string(version) + " of the domain " + in_quotes(domain) +
                       (domain.empty() ? ": call convert_version(" + newer + ") on the older before"
                                       : ": their nodes must be written for one version"));
        }
    }

    void check_functions() {
        const auto known = functions_of(a_);
        bool differ = false;
        b_.root.for_each_child(kFunctions, [&](const Message& each) {
            const auto other = known.find(model::function_identity(each));
            is_new_function_.push_back(other == known.end());
            if (other == known.end() || model::equal(a_.document, other->second, b_.document, each))
                return;
            if (options_.prefix.empty()) {
                contradict("the models have different functions " +
                           in_quotes(model::function_key(each)) +
                           ": give a prefix for the names of the second");
            }
            differ = true;
        });
        check_calls(a_, b_, "first");
        differ ? rename_functions() : check_calls(b_, a_, "second");
    }

    // All of the second model, since one that both have may call another one. A call gets the new
    // name by the old one, whatever the domain.
    void rename_functions() {
        model::TextSet own;
        model::TextSet made;
        b_.root.for_each_child(kFunctions, [&](const Message& each) {
            own.insert(model::function_identity(each));
            made.insert(functions_.rename(each.text(kFunctionName)));
        });
        is_new_function_.assign(is_new_function_.size(), true);
        const auto refuse = [](std::string_view name) {
            contradict("a prefix cannot tell the functions " + in_quotes(name) +
                       " of the models apart, since something else has that name: rename one, with "
                       "the nodes that call it");
        };
        model::for_each_node(b_.document, [&](const std::string&, const Message& node) {
            const std::string_view name = node.text(kOperator);
            if (functions_.renames(name) && !own.contains(model::function_identity(node)))
                refuse(name);
        });
        for (const MergePart* part : {&a_, &b_}) {
            model::for_each_node(part->document, [&](const std::string&, const Message& node) {
                if (made.contains(std::string(node.text(kOperator)))) refuse(node.text(kOperator));
            });
            part->root.for_each_child(kFunctions, [&](const Message& each) {
                const std::string_view name = each.text(kFunctionName);
                if (made.contains(std::string(name))) refuse(name);
            });
        }
    }

    static model::TextMap<Message> functions_of(const MergePart& part) {
        model::TextMap<Message> found;
        part.root.for_each_child(kFunctions, [&](const Message& each) {
            found.emplace(model::function_identity(each), each);
        });
        return found;
    }

    // A function of one model must not take the place of an operator that the other one uses.
    static void check_calls(const MergePart& with, const MergePart& other, const char* which) {
        auto functions = functions_of(with);
        for (const auto& [identity, _] : functions_of(other)) functions.erase(identity);
        if (functions.empty()) return;
        model::NameSet names;
        for (const auto& [_, each] : functions) names.insert(each.text(kFunctionName));
        model::for_each_node(other.document, [&](const std::string& path, const Message& node) {
            if (!names.contains(node.text(kOperator))) return;
            const auto found = functions.find(model::function_identity(node));
            if (found == functions.end()) return;
            contradict("the " + std::string(which) + " model has a function " +
                       in_quotes(model::function_key(found->second)) + ", but " + path +
                       " of the other model uses the operator of that name: rename the function "
                       "and the nodes that call it");
        });
    }

    // Lists whose entries have keys: an entry of both models must be the same.
    void check_entries() {
        const wire::FieldRow& key_of_entry = field<"StringStringEntryProto.key">;
        const std::array lists{
            std::tuple(&MergePart::root, &kMetadata, &key_of_entry, "metadata_props"),
            std::tuple(&MergePart::root, &kDevices, &field<"DeviceConfigurationProto.name">,
                       "device_configurations"),
            std::tuple(&MergePart::main, &kGraphMetadata, &key_of_entry, "graph.metadata_props")};
        for (const auto& [holder, list, key, what] : lists) {
            const auto known = messages_by(*key, a_.*holder, *list);
            (b_.*holder).for_each_child(*list, [&](const Message& each) {
                const auto other = known.find(each.text(*key));
                is_new_entry_[list].push_back(other == known.end());
                if (other != known.end() &&
                    !model::equal(a_.document, other->second, b_.document, each)) {
                    contradict("the models differ in " + std::string(what) + "[" +
                               in_quotes(other->first) + "]: remove or change one of them");
                }
            });
        }
    }

    void add_root(const model::Document& made) {
        Assembly fields(made, a_.root.table());
        fields.add({a_.document, a_.root}, [](const wire::FieldRow& row, auto, const auto&) {
            return &row != &field<"ModelProto.graph">;
        });
        fields.add(
            {b_.document, b_.root},
            [&](const wire::FieldRow& row, std::uint64_t i, const wire::Field& each) {
                if (&row == &kFunctions) return bool{is_new_function_[i]};
                if (&row == &kImports) {
                    const auto domain = onnx::plain_domain(
                        b_.root.inner(row, each).text(field<"OperatorSetIdProto.domain">));
                    return imported_.emplace(domain, 0).second;
                }
                const auto entries = is_new_entry_.find(&row);
                return entries != is_new_entry_.end() && bool{entries->second[i]};
            },
            functions_.empty() ? nullptr : &functions_);
        const Message root = std::move(fields).finish(made.root());
        const wire::FieldRow& ir_version = field<"ModelProto.ir_version">;
        const std::int64_t newer = b_.root.int64(ir_version);
        if (newer > root.int64(ir_version)) set_number(made, root, ir_version, newer);
    }

    void add_graph(const model::Document& made) {
        model::NameSet connected;
        for (const auto& [output, input] : options_.connect) connected.insert(output);
        model::TextSet returned;
        for (const auto& [name, value] : a_.outputs) {
            if (!connected.contains(name)) returned.emplace(name);
        }
        const auto value_of = [](const Message& graph, const wire::FieldRow& row,
                                 const wire::Field& each) {
            return graph.inner(row, each).text(MergePart::kName);
        };
        const Message graph = model::make_present(made, made.root(), field<"ModelProto.graph">);
        Assembly fields(made, graph.table());
        fields.add({a_.document, a_.main},
                   [&](const wire::FieldRow& row, auto, const wire::Field& each) {
                       // What is connected is described anew.
                       return (&row != &kOutputs && &row != &kValueInfos) ||
                              !connected.contains(value_of(a_.main, row, each));
                   });
        fields.add(
            {b_.document, b_.main},
            [&](const wire::FieldRow& row, std::uint64_t i, const wire::Field& each) {
                if (&row == &kGraphMetadata) return bool{is_new_entry_[&row][i]};
                // The first model describes what is connected; a default is not used.
                if (&row == &kInputs || &row == &kValueInfos) {
                    return !renamed_.is_connected(value_of(b_.main, row, each));
                }
                if (&row == &kOutputs) {
                    // Both may return a value that is one now, and the second one several times.
                    const std::string_view before = value_of(b_.main, row, each);
                    return !renamed_.is_connected(before) ||
                           returned.insert(renamed_.value(before)).second;
                }
                if (&row == &field<"GraphProto.quantization_annotation">) {
                    return !renamed_.is_connected(
                        b_.main.inner(row, each).text(field<"TensorAnnotation.tensor_name">));
                }
                if (&row == &field<"GraphProto.node">) return true;
                bool is_default = false;
                model::for_each_made_by(b_.main, each, &row, [&](std::string_view name, auto&&) {
                    is_default = is_default || renamed_.is_connected(name);
                });
                if (is_default) return false;
                return &row != &field<"GraphProto.name"> && &row != &field<"GraphProto.doc_string">;
            },
            &renamed_);
        const Message merged = std::move(fields).finish(graph);
        const wire::FieldRow& name = field<"GraphProto.name">;
        const std::string both =
            std::string(a_.main.text(name)) + "_" + std::string(b_.main.text(name));
        model::set_value(made, merged, name, model::text_value(name, both));
        describe_connected(made, merged, connected);
    }

    // What was an output is a value between nodes now, unless the second model returns it.
    void describe_connected(const model::Document& made, const Message& merged,
                            const model::NameSet& connected) const {
        model::TextSet still;
        for (const auto& [name, value] : b_.outputs) still.insert(renamed_.value(name));
        for (const std::string_view name : connected) {
            if (still.contains(std::string(name)) || a_.inputs.contains(name)) continue;
            model::insert(made, merged.current(), kValueInfos, UINT64_MAX,
                          model::Original{a_.document, a_.outputs.at(name)});
        }
    }

    MergePart a_;
    MergePart b_;
    const MergeOptions& options_;
    RenamedFunctions functions_;
    Renamed renamed_;
    std::optional<std::pair<Initializers, Initializers>> initializers_;
    Versions imported_;
    std::vector<bool> is_new_function_;
    std::map<const wire::FieldRow*, std::vector<bool>> is_new_entry_;
};

}  // namespace

std::shared_ptr<const model::Document> merge(const model::Document& a, const model::Document& b,
                                             const MergeOptions& options) {
    auto made = empty_model(a);
    // External data of another folder: the copies refer to the values instead.
    const model::CopiedExternalValues values(*made, {b, b.root()});
    if (values.empty()) {
        Merging(a, b, options).run(*made);
        return made;
    }
    const auto brought = empty_model(a);
    model::merge_from(*brought, brought->root(), {b, b.root()});
    values.store_in(*brought, brought->root());
    Merging(a, *brought, options).run(*made);
    return made;
}

}  // namespace onnxmap::surgery
