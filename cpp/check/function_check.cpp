#include "check/function_check.hpp"

#include <string>
#include <utility>
#include <vector>

#include "check/attribute_check.hpp"
#include "check/metadata_check.hpp"
#include "check/node_list_check.hpp"
#include "check/string_check.hpp"
#include "check/type_check.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

// The parameters of one kind have different names.
void add_parameter(Checking& checking, model::NameTable& names, const char* kind,
                   std::string_view name, const FieldPath& path) {
    if (names.add(name).is_new) return;
    checking.found(Rule::function_parameter_repeated, path,
                   {"the function has two ", kind, "s ", Quoted(name)});
}

template <class Visit>
void for_each_name(const onnx::Message& function, const wire::FieldRow& row, const FieldPath& path,
                   Visit&& visit) {
    std::uint64_t i = 0;
    function.for_each_value(
        row, [&](const wire::Field& value) { visit(value.text(), FieldPath{&path, &row, i++}); });
}

// Calls visit(attribute, parts, path) for each attribute that has a default.
template <class Visit>
void for_each_default(const onnx::Message& function, const FieldPath& path, Visit&& visit) {
    const wire::FieldRow& row = field<"FunctionProto.attribute_proto">;
    std::uint64_t i = 0;
    function.for_each_child(row, [&](const onnx::Message& attribute) {
        const AttributeParts parts = parts_of(attribute);
        visit(attribute, parts, FieldPath{&path, &row, i++, parts.name});
    });
}

void note_attributes(Checking& checking, const onnx::Message& function, const FieldPath& path,
                     model::NameTable& attributes) {
    const auto add = [&](std::string_view name, const FieldPath& at) {
        add_parameter(checking, attributes, "attribute", name, at);
    };
    for_each_name(function, field<"FunctionProto.attribute">, path, add);
    for_each_default(function, path,
                     [&](const onnx::Message&, const AttributeParts& parts, const FieldPath& at) {
                         add(parts.name, at);
                         check_attribute(checking.ir_version, checking.findings, parts, at,
                                         nullptr);
                     });
}

// A graph that is a default sees the inputs of the function.
void check_defaults(Checking& checking, const onnx::Message& function, const FieldPath& path,
                    NodeListCheck& body) {
    for_each_default(
        function, path,
        [&](const onnx::Message& attribute, const AttributeParts& parts, const FieldPath& at) {
            if (parts.has_messages) check_attribute_messages(checking, attribute, at, body);
        });
}

// Of operators that ONNX describes, nodes tell whether the two versions differ.
void check_function_imports(Checking& checking, const onnx::Message& function,
                            const FieldPath& path, const KnownOperators* own,
                            const KnownOperators* of_model) {
    const wire::FieldRow& row = field<"FunctionProto.opset_import">;
    for_each_child(function, row, path, [&](const onnx::Message& import, const FieldPath& at) {
        const auto domain = import.text(field<"OperatorSetIdProto.domain">);
        const auto version = import.int64(field<"OperatorSetIdProto.version">);
        const auto in_model = checking.imports.find(domain);
        if (!in_model || *in_model == version) return;
        if (own != nullptr && of_model != nullptr && own->describes(domain) &&
            of_model->describes(domain)) {
            return;
        }
        checking.found(Rule::function_opset_import, at,
                       {"the function imports version ", version, " of ", Quoted(domain),
                        ", and the model version ", *in_model});
    });
}

void check_value_infos(Checking& checking, const onnx::Message& function, const FieldPath& path) {
    const wire::FieldRow& row = field<"FunctionProto.value_info">;
    for_each_child(function, row, path, [&](const onnx::Message& value, const FieldPath& at) {
        check_value_info(checking, value, at, false);
    });
}

void check_function(Checking& checking, const onnx::Message& function, const FieldPath& path) {
    const auto name = function.text(field<"FunctionProto.name">);
    const auto domain = checking.domain_of(function);
    const auto overload = function.text(field<"FunctionProto.overload">);
    check_texts(checking.findings, function, path);
    constexpr std::pair<const wire::FieldRow*, std::int64_t> kSince[] = {
        {&field<"FunctionProto.attribute_proto">, 9},
        {&field<"FunctionProto.overload">, 10},
        {&field<"FunctionProto.value_info">, 10},
        {&field<"FunctionProto.metadata_props">, 10},
    };
    for (const auto& [row, since] : kSince) {
        if (!function.has(*row)) continue;
        check_field_version(checking.ir_version, checking.findings, *row, since, path);
    }
    if (name.empty()) checking.found(Rule::function_name, path, "the function has no name");
    check_identifier(checking.findings, name, path);
    if (plain_domain(domain).empty() && !checking.set) {
        checking.found(Rule::function_standard_domain, path,
                       {"the function ", Quoted(name), " is in the default domain"});
    }
    Imports imports;
    note_imports(checking, function, field<"FunctionProto.opset_import">, path, imports);
    // The members of an operator set see each other.
    if (checking.set && !imports.find(checking.set->domain)) {
        imports.add(checking.set->domain, checking.set->version);
    }
    const KnownOperators* const operators = checking.operators_of(imports);
    const KnownOperators* const of_model =
        checking.set ? nullptr : checking.operators_of(checking.imports);
    check_function_imports(checking, function, path, operators, of_model);
    model::NameTable attributes;
    note_attributes(checking, function, path, attributes);

    const Owner owner{imports, operators, &attributes,
                      checking.functions.find(domain, name, overload), of_model};
    const auto fields = checking.document.index(function);
    NodeListCheck body(checking, path, *fields, field<"FunctionProto.node">, owner, {});
    model::NameTable inputs;
    for_each_name(function, field<"FunctionProto.input">, path,
                  [&](std::string_view input, const FieldPath& at) {
                      add_parameter(checking, inputs, "input", input, at);
                      const auto id = checking.visible.id(input);
                      if (!checking.visible.is_visible(id)) {
                          body.define(input, VisibleValues::is_input, at);
                      }
                  });
    check_defaults(checking, function, path, body);
    body.check_nodes();
    model::NameTable outputs;
    for_each_name(function, field<"FunctionProto.output">, path,
                  [&](std::string_view output, const FieldPath& at) {
                      add_parameter(checking, outputs, "output", output, at);
                      if (checking.visible.is_visible(checking.visible.id(output))) return;
                      checking.found(Rule::function_output_undefined, at,
                                     {"nothing defines the output ", Quoted(output)});
                  });
    check_value_infos(checking, function, path);
    check_metadata(checking.findings, function, field<"FunctionProto.metadata_props">, path);
}

}  // namespace

void note_imports(Checking& checking, const onnx::Message& parent, const wire::FieldRow& row,
                  const FieldPath& path, Imports& imports) {
    for_each_child(parent, row, path, [&](const onnx::Message& import, const FieldPath& at) {
        const auto domain = import.text(field<"OperatorSetIdProto.domain">);
        const auto version = import.int64(field<"OperatorSetIdProto.version">);
        if (version < 1) {
            checking.found(Rule::model_opset_import_version, at,
                           {"the version of ", Quoted(domain), " is ", version});
        }
        for (const onnx::OperatorDomain& known : onnx::operator_domains()) {
            if (known.name != plain_domain(domain) || version <= known.newest) continue;
            checking.found(Rule::model_opset_import_future, at,
                           {"the version is ", version, ", and the newest that onnxmap knows is ",
                            known.newest});
        }
        check_reverse_dns(checking.findings, Rule::model_opset_import_domain, domain, at);
        if (!imports.add(domain, version)) {
            checking.found(Rule::model_opset_import_repeated, at,
                           {"the domain ", Quoted(domain), " is imported twice"});
        }
    });
}

namespace {

void note_signature(const onnx::Message& function, Functions::Signature& signature) {
    function.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        if (row == &field<"FunctionProto.input">) {
            ++signature.inputs;
        } else if (row == &field<"FunctionProto.output">) {
            ++signature.outputs;
        } else if (row == &field<"FunctionProto.attribute">) {
            signature.attributes.add(found.text());
        } else if (row == &field<"FunctionProto.attribute_proto">) {
            const onnx::Message attribute = function.inner(*row, found);
            signature.attributes.add(attribute.text(field<"AttributeProto.name">));
        }
    });
}

}  // namespace

void note_functions(Checking& checking, const onnx::Message& parent, const wire::FieldRow& row,
                    const FieldPath& root) {
    for_each_child(parent, row, root, [&](const onnx::Message& function, const FieldPath& path) {
        checking.pages.note_read(function.loaded());
        const auto name = function.text(field<"FunctionProto.name">);
        const auto added = checking.functions.add(checking.domain_of(function), name,
                                                  function.text(field<"FunctionProto.overload">));
        if (added.is_new) {
            note_signature(function, checking.functions.signature(added.position));
            return;
        }
        checking.found(Rule::function_repeated, path,
                       {"another function before it has the name ", Quoted(name),
                        " in the same domain, and the same overload"});
    });
}

void check_functions(Checking& checking, const onnx::Message& parent, const wire::FieldRow& row,
                     const FieldPath& root) {
    if (checking.functions.empty()) return;
    std::vector<std::pair<std::uint64_t, std::string_view>> by_position;
    for_each_child(parent, row, root, [&](const onnx::Message& function, const FieldPath& path) {
        checking.pages.note_read(function.loaded());
        check_function(checking, function, path);
        const auto name = function.text(field<"FunctionProto.name">);
        const auto position = checking.functions.find(
            checking.domain_of(function), name, function.text(field<"FunctionProto.overload">));
        if (*position == by_position.size()) by_position.emplace_back(path.index, name);
    });
    // An operator set has functions for others. Calls are noted with the signatures of operators.
    const bool may_be_unused = &row != &field<"ModelProto.functions"> ||
                               checking.operators_of(checking.imports) == nullptr;
    for (std::uint32_t position = 0; position < by_position.size(); ++position) {
        if (may_be_unused || checking.functions.signature(position).is_used) continue;
        const auto [index, name] = by_position[position];
        checking.found(Rule::function_unused, FieldPath{&root, &row, index},
                       {"nothing calls the function ", Quoted(name)});
    }
    for (const std::uint32_t position : checking.functions.recursive()) {
        const auto [index, name] = by_position[position];
        checking.found(Rule::function_recursion, FieldPath{&root, &row, index},
                       {"the function ", Quoted(name), " calls itself"});
    }
}

}  // namespace onnxmap::check
