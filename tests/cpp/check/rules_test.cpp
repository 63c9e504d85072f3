#include <doctest/doctest.h>

#include <set>

#include "caught.hpp"
#include "check/checked.hpp"

namespace onnxmap::test {

namespace {

using check::Level;
using check::Rule;

constexpr std::uint64_t kFloat = 1;
constexpr std::uint64_t kInt64 = 7;

struct Case {
    const char* title;
    Bytes bytes;
    std::string expected;
};

// Leaves out the rules that most small models break: their nodes have an operator that ONNX does
// not know, nothing uses their parts, they have an early IR version, and say little about
// themselves.
check::Options checked_rules() {
    check::Options options = every_rule();
    for (std::size_t i = 0; i < options.wanted.size(); ++i) {
        const auto& [name, level, requirement, source, text, advice] = check::rules()[i];
        if (name.starts_with("operator.") || name.ends_with("unused") || level == Level::strict) {
            options.wanted[i] = false;
        }
    }
    for (const auto& each : {Rule::ext_alignment, Rule::model_field_version}) {
        options.wanted[static_cast<std::size_t>(each)] = false;
    }
    return options;
}

void check_cases(const std::vector<Case>& cases, Bytes (*whole)(const Bytes&)) {
    for (const Case& each : cases) {
        const std::string title = each.title;
        CAPTURE(title);
        CHECK(shown(check::check(*loaded(whole(each.bytes)), checked_rules())) == each.expected);
    }
}

Bytes as_is(const Bytes& bytes) { return bytes; }
Bytes in_graph(const Bytes& fields) { return model(join(blob(2, "g"), fields)); }
// One node that has these fields beside its operator and an output.
Bytes in_node(const Bytes& fields) { return in_graph(blob(1, join(op({}, {"y"}), fields))); }
Bytes in_function(const Bytes& fields) {
    return join(tiny_model(), blob(25, join(blob(1, "f"), blob(10, "org.a.b"), fields)));
}

Bytes in(std::string_view name) { return blob(11, value(name)); }
Bytes out(std::string_view name) { return blob(12, value(name)); }
Bytes info(std::string_view name) { return blob(13, value(name)); }
Bytes made(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    return blob(1, op(inputs, outputs));
}
Bytes import_of(std::string_view domain, std::uint64_t version) {
    return blob(8, join(blob(1, domain), scalar(2, version)));
}

Bytes subgraph(const Bytes& fields) {
    return blob(5, attribute("body", 5, blob(6, join(blob(2, "s"), fields))));
}

}  // namespace

TEST_CASE("check: the table of rules") {
    std::set<std::string_view> names;
    for (const auto& rule : check::rules()) {
        CAPTURE(rule.name);
        CHECK(names.insert(rule.name).second);
        CHECK(check::info(*check::find_rule(rule.name)).name == rule.name);
        CHECK_FALSE(rule.text.empty());
        CHECK_FALSE(rule.advice.empty());
    }
    CHECK_FALSE(check::find_rule("model"));
    CHECK(check::info(Rule::graph_identifier).level == Level::strict);
}

TEST_CASE("check: rules of a model") {
    const Bytes graph = blob(7, blob(2, "g"));
    const Bytes set = import_of("", 21);
    check_cases(
        {{"valid", join(scalar(1, 10), graph, set), ""},
         {"nothing", {}, "model.ir_version @ ir_version; model.opset_import @ ; model.graph @ ; "},
         {"a version of the future", join(scalar(1, 1000), graph, set),
          "model.ir_version @ ir_version; "},
         {"imports before IR version 3", join(scalar(1, 2), graph, set),
          "model.opset_import_early @ opset_import[0]; "},
         {"imports", join(scalar(1, 10), graph, set, import_of("ai.onnx", 1), import_of("x", 0)),
          "model.opset_import_repeated @ opset_import[1]; model.opset_import_version @ "
          "opset_import[2]; "},
         {"headers", join(scalar(1, 10), graph, set, blob(4, "no dots"), scalar(5, UINT64_MAX)),
          "model.model_version @ model_version; model.domain @ domain; "},
         {"metadata",
          join(scalar(1, 10), graph, set, blob(14, string_entry("k", "")),
               blob(14, string_entry("k", "")), blob(14, string_entry("", "")),
               blob(14, string_entry("Image.ColorSpaceGamma", "Cubic"))),
          "model.metadata_key @ metadata_props[1]; model.metadata_key @ metadata_props[2]; "
          "model.metadata_value @ metadata_props[3]; "},
         {"devices",
          join(scalar(1, 10), graph, set, blob(26, Bytes{}), blob(26, blob(1, "d")),
               blob(26, blob(1, "d"))),
          "model.device_name @ configuration[0]; model.device_name @ configuration[2]; "}},
        as_is);
}

TEST_CASE("check: rules of a graph and its values") {
    check_cases(
        {{"a chain", join(in("x"), out("z"), made({"x"}, {"y"}), made({"y"}, {"z"})), {}},
         {"values without name or type", join(blob(11, Bytes{}), blob(13, value(""))),
          "graph.value_name @ graph.input[0]; graph.value_type @ graph.input[0]; graph.value_name "
          "@ graph.value_info[0]; "},
         {"outputs", join(out("y"), out("y"), out("q"), made({}, {"y"})),
          "graph.output_repeated @ graph.output[1]; graph.output_undefined @ graph.output[2]; "},
         {"value_info",
          join(in("x"), made({"x"}, {"y"}), info("y"), info("y"), info("x"), info("q")),
          "graph.value_info_repeated @ graph.value_info[1]; graph.value_info_inner @ "
          "graph.value_info[2]; graph.value_info_inner @ graph.value_info[3]; "},
         {"initializers",
          join(blob(5, raw_tensor("", {})), blob(5, raw_tensor("w", {1})),
               blob(5, raw_tensor("w", {1}))),
          "graph.initializer_name @ graph.initializer[0]; graph.initializer_repeated @ "
          "graph.initializer[2]; "},
         {"a default of another type", join(in("x"), blob(5, raw_tensor("x", {1, 2}))),
          "graph.initializer_type @ graph.initializer[0]; "},
         {"annotations", blob(14, join(blob(1, "q"), blob(2, string_entry("SCALE", "s")))),
          "quantization.tensor @ graph.quantization_annotation[0]; quantization.key @ "
          "graph.quantization_annotation[0].quant_parameter_tensor_names[0]; quantization.tensor @ "
          "graph.quantization_annotation[0].quant_parameter_tensor_names[0]; "},
         {"defined twice", join(in("x"), made({}, {"x"}), made({}, {"y", "y"})),
          "value.repeated @ graph.node[0].output[0]; value.repeated @ graph.node[1].output[1]; "},
         {"used before it is made", join(made({"a"}, {"b"}), made({}, {"a"})),
          "value.unsorted @ graph.node[0].input[0]; "},
         {"a cycle", join(made({"b"}, {"a"}), made({"a"}, {"b"})),
          "value.unsorted @ graph.node[0].input[0]; value.cycle @ graph.node[0]; "},
         {"never made", made({"", "q"}, {"y"}), "value.undefined @ graph.node[0].input[1]; "},
         {"an inner graph sees the values before it and defines others",
          join(in("x"),
               blob(1, op({}, {"y"}, subgraph(join(made({"x", "late"}, {"x"}), out("x"))))),
               made({}, {"late"})),
          "value.shadowed @ graph.node[0].attribute[\"body\"].g.node[0].output[0]; value.unsorted "
          "@ graph.node[0].attribute[\"body\"].g.node[0].input[1]; "},
         {"an inner graph whose output is of the outer one",
          join(in("x"), blob(1, op({}, {"y"}, subgraph(join(in("x"), out("y")))))),
          "value.shadowed_input @ graph.node[0].attribute[\"body\"].g.input[0]; "
          "graph.output_undefined @ graph.node[0].attribute[\"body\"].g.output[0]; "}},
        in_graph);
}

TEST_CASE("check: rules of nodes and attributes") {
    const Bytes same = blob(5, attribute("a", 2, scalar(3, 1)));
    check_cases(
        {{"operators of other domains", join(blob(7, "x.y"), blob(8, "o")),
          "node.domain @ graph.node[0]; node.overload @ graph.node[0]; "},
         {"the last name is empty", join(blob(1, ""), blob(2, "")),
          "node.trailing_empty @ graph.node[0].output[1]; node.trailing_empty @ "
          "graph.node[0].input[0]; "},
         {"attributes by name",
          join(same, same, blob(5, attribute("y", 2, scalar(3, 1))),
               blob(5, attribute("", 2, scalar(3, 1)))),
          "node.attribute_repeated @ graph.node[0].attribute[1]; node.attribute_name @ "
          "graph.node[0].attribute[\"y\"]; attribute.name @ graph.node[0].attribute[3]; "},
         {"values",
          join(blob(5, attribute("type", 0, scalar(3, 1))), blob(5, attribute("none", 2, Bytes{})),
               blob(5, attribute("other", 1, scalar(3, 1))),
               blob(5, attribute("two", 1, join(fixed32(2, 0), scalar(3, 1)))),
               blob(5, attribute("list", 7, Bytes{}))),
          "attribute.type @ graph.node[0].attribute[\"type\"]; attribute.no_value @ "
          "graph.node[0].attribute[\"none\"]; attribute.value @ "
          "graph.node[0].attribute[\"other\"]; attribute.value @ "
          "graph.node[0].attribute[\"two\"]; "},
         {"a reference outside of a function", blob(5, attribute("r", 2, blob(21, "p"))),
          "attribute.reference @ graph.node[0].attribute[\"r\"]; "},
         {"devices", blob(10, join(blob(1, "gpu"), blob(2, blob(1, "q")))),
          "model.device @ graph.node[0].device_configurations[0]; model.device @ "
          "graph.node[0].device_configurations[0].sharding_spec[0]; "}},
        in_node);
    const Bytes named = blob(3, "n");
    check_cases(
        {{"names and outputs",
          join(blob(1, op({}, {"a"}, named)), blob(1, op({}, {}, named)), blob(1, blob(2, "b"))),
          "node.outputs @ graph.node[1]; node.op_type @ graph.node[2]; node.name_repeated @ "
          "graph.node[1]; "}},
        in_graph);
}

TEST_CASE("check: rules of tensors and types") {
    const auto tensor = [](const Bytes& fields) {
        return blob(5, attribute("t", 4, blob(5, fields)));
    };
    const auto type = [](const Bytes& fields) {
        return blob(5, attribute("p", 13, blob(14, fields)));
    };
    const auto external = [&](const Bytes& entries) {
        return tensor(join(scalar(1, 1), scalar(2, 2), entries, scalar(14, 1)));
    };
    const std::string in_tensor = " @ graph.node[0].attribute[\"t\"].t";
    const std::string in_type = " @ graph.node[0].attribute[\"p\"].tp";
    check_cases(
        {{"valid", tensor(raw_tensor("", {1, 2})), ""},
         {"no type", tensor(scalar(1, 1)), "tensor.dtype" + in_tensor + "; "},
         {"bytes that are missing", tensor(join(scalar(1, 2), scalar(2, kInt64), blob(9, "x"))),
          "tensor.data_size" + in_tensor + "; "},
         {"shape", tensor(join(scalar(1, UINT64_MAX), scalar(2, kFloat))),
          "tensor.negative_dim" + in_tensor + "; "},
         {"values in two fields",
          tensor(join(scalar(1, 1), scalar(2, kFloat), fixed32(4, 0), blob(9, "1234"))),
          "tensor.ambiguous_data" + in_tensor + "; "},
         {"a value that does not fit", tensor(join(scalar(1, 1), scalar(2, 2), packed(5, {256}))),
          "tensor.value_range" + in_tensor + "; "},
         {"a model from memory has no directory", external(blob(13, string_entry("location", "w"))),
          "ext.no_root" + in_tensor + "; "},
         {"entries",
          external(
              join(blob(13, string_entry("hue", "1")), blob(13, string_entry("checksum", "abc")))),
          "ext.unknown_key" + in_tensor + ".external_data[0]; " + "ext.checksum_form" + in_tensor +
              ".external_data[1]; " + "ext.location" + in_tensor + "; "},
         {"entries without use", tensor(join(raw_tensor("", {1}), blob(13, Bytes{}))),
          "ext.unknown_key" + in_tensor + ".external_data[0]; " + "ext.not_used" + in_tensor +
              "; "},
         {"sparse", blob(5, attribute("t", 11, blob(22, Bytes{}))),
          "tensor.sparse_rank @ graph.node[0].attribute[\"t\"].sparse_tensor; "},
         {"a type of nothing", type({}), "type.missing" + in_type + "; "},
         {"an unknown element type", type(blob(1, scalar(1, 99))),
          "type.elem_type" + in_type + ".tensor_type; "},
         {"a map of floats to nothing", type(blob(5, scalar(1, kFloat))),
          "type.map_key" + in_type + ".map_type; " + "type.missing" + in_type + ".map_type; "}},
        in_node);
}

TEST_CASE("check: rules of functions and training") {
    const auto call = [](std::string_view name) {
        return blob(7, op({}, {"y"}, join(blob(4, name), blob(7, "org.a.b"))));
    };
    const Bytes own = blob(9, join(blob(1, "org.a.b"), scalar(2, 1)));
    const Bytes import_12 = blob(9, scalar(2, 12));
    check_cases(
        {{"valid", join(blob(4, "x"), blob(5, "x")), ""},
         {"parameters", join(blob(4, "x"), blob(4, "x"), blob(5, "q"), blob(6, "p"), blob(6, "p")),
          "function.parameter_repeated @ functions[0].attribute[1]; function.parameter_repeated @ "
          "functions[0].input[1]; function.output_undefined @ functions[0].output[0]; "},
         {"another version of Relu", join(import_12, blob(7, join(blob(4, "Relu"), blob(2, "y")))),
          "function.opset_version @ functions[0].node[0]; "},
         {"the same Not", join(import_12, blob(7, join(blob(4, "Not"), blob(2, "y")))), ""},
         {"it calls itself", join(own, call("f")), "function.recursion @ functions[0]; "},
         {"it calls another", join(own, call("g")), {}}},
        in_function);
    const auto training = [](const Bytes& fields) { return join(tiny_model(), blob(20, fields)); };
    check_cases({{"a function without a name, twice",
                  join(tiny_model(), blob(25, Bytes{}), blob(25, Bytes{})),
                  "function.repeated @ functions[1]; function.name @ functions[0]; "
                  "function.standard_domain @ functions[0]; function.name @ functions[1]; "
                  "function.standard_domain @ functions[1]; "},
                 {"bindings",
                  training(join(blob(4, string_entry("k", "v")), blob(4, string_entry("k", "v")))),
                  "training.key_unknown @ training_info[0].update_binding[0]; "
                  "training.value_unknown @ training_info[0].update_binding[0]; "
                  "training.key_repeated @ training_info[0].update_binding[1]; "
                  "training.key_unknown @ training_info[0].update_binding[1]; "
                  "training.value_unknown @ training_info[0].update_binding[1]; "},
                 {"an initialization with an input", training(blob(1, join(blob(2, "i"), in("x")))),
                  "training.initialization_input @ training_info[0].initialization.input[0]; "}},
                as_is);
}

TEST_CASE("check: rules of an operator set") {
    const auto set = loaded<"OperatorSetProto">(
        join(blob(1, "MAGIC"), scalar(2, 10), blob(3, "a b"), blob(4, "dotless"), scalar(5, 2),
             blob(8, join(blob(1, "Op"), scalar(2, 1))), blob(8, join(blob(1, "Op"), scalar(2, 3))),
             blob(8, Bytes{})));
    CHECK(shown(check::check(*set, checked_rules())) ==
          "operator_set.magic @ ; operator_set.domain @ domain; operator_set.prerelease @ "
          "ir_version_prerelease; operator_set.operator_name @ operator[1]; "
          "operator_set.since_version @ operator[1]; operator_set.operator_name @ operator[2]; "
          "operator_set.since_version @ operator[2]; ");
}

TEST_CASE("check: signatures of operators, and the types and shapes that follow") {
    const auto typed = [](std::string_view name, std::uint64_t type) {
        return blob(11, join(blob(1, name), blob(2, blob(1, scalar(1, type)))));
    };
    const auto called = [](std::string_view op_type, const std::vector<std::string_view>& inputs,
                           const std::vector<std::string_view>& outputs) {
        Bytes fields = blob(4, op_type);
        for (const auto name : inputs) append(fields, blob(1, name));
        for (const auto name : outputs) append(fields, blob(2, name));
        return blob(1, fields);
    };
    const auto found = [](const Bytes& graph) {
        const Bytes set = blob(8, scalar(2, 21));
        const Bytes bytes = join(scalar(1, 10), set, blob(7, join(blob(2, "g"), graph)));
        const auto report = check::check(*loaded(bytes), every_rule());
        std::string text;
        for (const auto& each : report.found()) {
            const std::string_view name = check::info(each.rule).name;
            if (!name.starts_with("operator.") && !name.starts_with("value.")) continue;
            text.append(name).append(" @ ").append(each.where).append("; ");
        }
        return text;
    };
    const Bytes x = join(typed("x", 1), typed("h", 10));
    CHECK(found(join(x, called("Add", {"x", "x"}, {"y"}))).empty());
    CHECK(found(join(x, called("Add", {"x"}, {"y"}))) == "operator.inputs @ graph.node[0]; ");
    CHECK(found(join(x, called("Addx", {"x"}, {"y"}))) == "operator.unknown @ graph.node[0]; ");
    CHECK(found(join(x, called("Relu", {"x"}, {"y", "z"}))) ==
          "operator.outputs @ graph.node[0]; ");
    CHECK(found(join(x, called("Add", {"x", "h"}, {"y"}))) ==
          "operator.type @ graph.node[0].input[1]; ");
    CHECK(found(join(x, called("Relu", {"h"}, {"r"}), called("Add", {"r", "x"}, {"y"}))) ==
          "operator.type @ graph.node[1].input[1]; ");
    CHECK(found(join(x, called("Shape", {"h"}, {"s"}), called("Exp", {"s"}, {"y"}))) ==
          "operator.type @ graph.node[1].input[0]; ");
    const Bytes weights =
        join(blob(5, raw_tensor("a", Bytes(8))), blob(5, raw_tensor("b", Bytes(9))));
    CHECK(found(join(weights, called("Add", {"a", "a"}, {"y"}))).empty());
    CHECK(found(join(weights, called("Add", {"a", "b"}, {"y"}))) ==
          "value.shape @ graph.node[0].input[1]; ");
}

}  // namespace onnxmap::test
