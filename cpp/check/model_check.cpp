#include "check/model_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "check/function_check.hpp"
#include "check/graph_check.hpp"
#include "check/metadata_check.hpp"
#include "check/string_check.hpp"
#include "check/tensor_check.hpp"
#include "check/training_check.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

constexpr std::int64_t kFirstWithImports = 3;  // Source: onnx.proto, Version

void check_versions(Checking& checking, const onnx::Message& model, const FieldPath& root) {
    const wire::FieldRow& row = field<"ModelProto.ir_version">;
    checking.ir_version = model.int64(row);
    if (checking.ir_version < 1 || checking.ir_version > onnx::kNewestIrVersion) {
        checking.found(Rule::model_ir_version, FieldPath{&root, &row}, [&] {
            return model.has(row) ? "there is no IR version " + std::to_string(checking.ir_version)
                                  : std::string("the model has no ir_version");
        });
    }
    // One finding says so, not one for each rule of later versions.
    if (checking.ir_version < 1) checking.ir_version = onnx::kNewestIrVersion;
    const std::int64_t version = model.int64(field<"ModelProto.model_version">);
    if (version < 0) {
        checking.found(Rule::model_model_version,
                       FieldPath{&root, &field<"ModelProto.model_version">},
                       {"model_version is ", version});
    }
}

void check_imports(Checking& checking, const onnx::Message& model, const FieldPath& root) {
    const wire::FieldRow& row = field<"ModelProto.opset_import">;
    note_imports(checking, model, row, root, checking.imports);
    const bool has_imports = model.has(row);
    const bool needs_imports = checking.ir_version >= kFirstWithImports;
    if (!has_imports && needs_imports) {
        checking.found(Rule::model_opset_import, root, "the model imports no operator sets");
    } else if (has_imports && !needs_imports) {
        checking.found(Rule::model_opset_import_early, FieldPath{&root, &row, 0},
                       {"a model of IR version ", checking.ir_version, " imports operator sets"});
    }
    // A model of the first versions has the operators of the first set. In a later one, one finding
    // says that the import is missing, not one for each node.
    if (!has_imports) checking.imports.add("", 1);
    checking.knows_versions = has_imports || !needs_imports;
}

void check_fields(Checking& checking, const onnx::Message& model, const FieldPath& root) {
    constexpr std::pair<const wire::FieldRow*, std::int64_t> kSince[] = {
        {&field<"ModelProto.training_info">, 7},
        {&field<"ModelProto.functions">, 8},
        {&field<"ModelProto.configuration">, 11},
    };
    for (const auto& [row, since] : kSince) {
        if (!model.has(*row)) continue;
        check_field_version(checking.ir_version, checking.findings, *row, since, root);
    }
}

void check_unused_imports(Checking& checking, const onnx::Message& model, const FieldPath& root) {
    const auto& counts = checking.findings.counts();
    const auto found = [&](Rule rule) { return counts[static_cast<std::size_t>(rule)] > 0; };
    // Which nodes such a finding is about, nobody has noted.
    if (found(Rule::operator_unknown) || found(Rule::operator_deprecated)) return;
    if (checking.operators_of(checking.imports) == nullptr) return;
    const wire::FieldRow& row = field<"ModelProto.opset_import">;
    for_each_child(model, row, root, [&](const onnx::Message& value, const FieldPath& at) {
        const auto domain = value.text(field<"OperatorSetIdProto.domain">);
        if (plain_domain(domain).empty() || checking.uses_domain(domain)) return;
        checking.found(Rule::model_opset_import_unused, at,
                       {"no node has an operator of the domain ", Quoted(domain)});
    });
}

void note_devices(Checking& checking, const onnx::Message& model, const FieldPath& root) {
    const wire::FieldRow& row = field<"ModelProto.configuration">;
    for_each_child(model, row, root, [&](const onnx::Message& value, const FieldPath& path) {
        const auto name = value.text(field<"DeviceConfigurationProto.name">);
        if (name.empty()) {
            checking.found(Rule::model_device_name, path, "the configuration has no name");
        } else if (!checking.devices.add(name).is_new) {
            checking.found(Rule::model_device_name, path,
                           {"another configuration before it has the name ", Quoted(name)});
        }
    });
}

// Whose the model is, and which tool made it.
void check_origin(Checking& checking, const onnx::Message& model, const FieldPath& root) {
    const wire::FieldRow& row = field<"ModelProto.domain">;
    const auto domain = model.text(row);
    if (domain.empty()) {
        checking.found(Rule::model_no_domain, root, "the model has no domain");
    }
    check_reverse_dns(checking.findings, Rule::model_domain, domain, FieldPath{&root, &row});
    for (const wire::FieldRow* const each :
         {&field<"ModelProto.producer_name">, &field<"ModelProto.producer_version">}) {
        if (!model.text(*each).empty()) continue;
        checking.found(Rule::model_producer, root, {"the model has no ", each->name});
    }
}

}  // namespace

void check_model(Checking& checking, const onnx::Message& model, const FieldPath& root) {
    const wire::FieldRow& functions = field<"ModelProto.functions">;
    check_versions(checking, model, root);
    check_texts(checking.findings, model, root);
    check_fields(checking, model, root);
    check_imports(checking, model, root);
    check_origin(checking, model, root);
    check_metadata(checking.findings, model, field<"ModelProto.metadata_props">, root);
    check_predefined_metadata(checking.findings, model, root);
    note_devices(checking, model, root);
    checking.has_training = model.has(field<"ModelProto.training_info">);
    note_functions(checking, model, functions, root);

    const auto graph = checking.document.child(model, field<"ModelProto.graph">);
    const FieldPath path{&root, &field<"ModelProto.graph">};
    // What the graph defines is noted until all is checked.
    std::optional<GraphCheck> main;
    if (graph) {
        main.emplace(checking, *graph, path, GraphKind::main,
                     Owner{checking.imports, checking.operators_of(checking.imports)});
        main->run();
        check_training(checking, model, *checking.document.index(*graph), root);
    } else {
        checking.found(Rule::model_graph, root, "the model has no graph");
    }
    check_functions(checking, model, functions, root);
    checking.report_not_described(root);
    check_unused_imports(checking, model, root);
    check_external_ranges(checking);
}

}  // namespace onnxmap::check
