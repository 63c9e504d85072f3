#include "check/graph_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.hpp"
#include "check/metadata_check.hpp"
#include "check/string_check.hpp"
#include "check/tensor_check.hpp"
#include "check/told_shape.hpp"
#include "check/type_check.hpp"
#include "model/dimension.hpp"
#include "onnx/schema.hpp"
#include "tensor/header.hpp"

namespace onnxmap::check {

using onnx::field;
using Mark = VisibleValues::Mark;

namespace {

constexpr std::uint64_t kFarApart = 64 << 10;  // names of tensors of this size are not side by side
constexpr std::int64_t kFirstWithConstants = 4;  // the IR version since which initializers need not
                                                 // be inputs

std::string_view name_of_value(const onnx::Message& value_info) {
    return value_info.text(field<"ValueInfoProto.name">);
}

NodeListCheck::Around around(GraphKind kind, NodeListCheck* outer) {
    return {outer, kind == GraphKind::subgraph || kind == GraphKind::algorithm,
            kind == GraphKind::main};
}

// Whether a tensor can be the value of an input of this type; its dimensions that are not known
// take any.
bool fits(const onnx::Message& tensor, const onnx::Message& tensor_type) {
    const tensor::Header header = tensor::read_header(tensor);
    const auto type = tensor_type.find(field<"TypeProto.Tensor.elem_type">);
    if (type && type->int32() != 0 && type->int32() != header.data_type) return false;
    const auto shape = tensor_type.child(field<"TypeProto.Tensor.shape">);
    if (!shape) return true;
    std::uint64_t rank = 0;
    bool is_equal = true;
    shape->for_each_child(field<"TensorShapeProto.dim">, [&](const onnx::Message& dim) {
        const auto size = model::read_dimension(dim).value;
        if (size && rank < header.dims().size() && *size != header.dims()[rank]) is_equal = false;
        ++rank;
    });
    return is_equal && rank == header.rank;
}

}  // namespace

GraphCheck::GraphCheck(Checking& checking, const onnx::Message& graph, const FieldPath& path,
                       GraphKind kind, const Owner& owner, NodeListCheck* outer)
    : checking_(checking),
      graph_(graph),
      path_(path),
      kind_(kind),
      fields_(checking.document.index(graph)),
      body_(checking, path, *fields_, field<"GraphProto.node">, owner, around(kind, outer)),
      outer_(outer) {}

template <class Visit>
void GraphCheck::for_each(const wire::FieldRow& row, Visit&& visit) {
    std::uint64_t index = 0;
    fields_->for_each_child(row, [&](const onnx::Message& element) {
        checking_.pages.note_read(element.loaded());
        visit(element, FieldPath{&path_, &row, index++});
    });
}

void GraphCheck::run() {
    const auto name = fields_->last(field<"GraphProto.name">);
    if (!name || name->text().empty()) {
        checking_.found(Rule::graph_name, path_, "the graph has no name");
    } else {
        check_identifier(checking_.findings, name->text(), path_);
    }
    check_fields();
    check_inputs();
    check_initializers();
    if (body_.owner().operators != nullptr) note_described_types();
    body_.check_nodes();
    check_outputs();
    check_value_infos();
    check_annotations();
    check_unused();
    if (fields_->count(field<"GraphProto.metadata_props">) > 0) {
        check_metadata(checking_.findings, graph_, field<"GraphProto.metadata_props">, path_);
    }
}

// Not check_texts(): a graph has many fields.
void GraphCheck::check_fields() {
    for (const wire::FieldRow* const row :
         {&field<"GraphProto.name">, &field<"GraphProto.doc_string">}) {
        const auto text = fields_->last(*row);
        if (text && !is_utf8(text->text())) {
            checking_.found(Rule::model_text, FieldPath{&path_, row}, "the text is not UTF-8");
        }
    }
    if (!fields_->last(field<"GraphProto.doc_string">)) {
        checking_.found(Rule::graph_doc_string, path_, "the graph has no doc_string");
    }
    if (checking_.findings.wants(Rule::model_field_removed)) {
        graph_.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
            checking_.pages.note_read({found.begin, 0});
            if (row == nullptr) check_removed(checking_.findings, graph_, found, path_);
        });
    }
    constexpr std::pair<const wire::FieldRow*, std::int64_t> kSince[] = {
        {&field<"GraphProto.quantization_annotation">, 5},
        {&field<"GraphProto.sparse_initializer">, 6},
        {&field<"GraphProto.metadata_props">, 10},
    };
    for (const auto& [row, since] : kSince) {
        if (fields_->count(*row) == 0) continue;
        check_field_version(checking_.ir_version, checking_.findings, *row, since, path_);
    }
}

void GraphCheck::check_named(const onnx::Message& value_info, std::string_view name,
                             const FieldPath& path) {
    if (name.empty()) checking_.found(Rule::graph_value_name, path, "the value has no name");
    check_texts(checking_.findings, value_info, path);
    const bool is_boundary = path.row != &field<"GraphProto.value_info">;
    check_value_info(checking_, value_info, path, kind_ == GraphKind::main && is_boundary);
}

void GraphCheck::check_inputs() {
    const wire::FieldRow& row = field<"GraphProto.input">;
    for_each(row, [&](const onnx::Message& input, const FieldPath& path) {
        const std::string_view name = name_of_value(input);
        check_named(input, name, path);
        body_.define(name, Mark::is_input, path);
        onnx::ValueType type = type_of_value(input);
        if (kind_ == GraphKind::subgraph) {
            types_.inputs.push_back({type, path.index});
            if (!type.is_known()) type = outer_->body_input(path.index);
        }
        if (name.empty()) return;
        const VisibleValues::Id id = checking_.visible.id(name);
        inputs_.emplace_back(id, path.index);
        checking_.visible.set_type(id, type);
        // From one run of a subgraph to the next, shapes may change.
        if (kind_ != GraphKind::subgraph) body_.tell_shape(id, input);
    });
    std::ranges::sort(inputs_);
    if (kind_ == GraphKind::initialization && fields_->count(row) > 0) {
        checking_.found(Rule::training_initialization_input, FieldPath{&path_, &row, 0},
                        "the initialization graph has an input");
    }
}

void GraphCheck::check_initializers() {
    for_each(field<"GraphProto.initializer">,
             [&](const onnx::Message& tensor, const FieldPath& path) {
                 check_tensor(checking_, tensor, path);
                 check_initializer(tensor, tensor, path);
             });
    for_each(field<"GraphProto.sparse_initializer">,
             [&](const onnx::Message& sparse, const FieldPath& path) {
                 check_sparse_tensor(checking_, sparse, path);
                 const auto values = sparse.child(field<"SparseTensorProto.values">);
                 if (values) check_initializer(*values, sparse, path);
             });
}

void GraphCheck::check_initializer(const onnx::Message& tensor, const onnx::Message& value,
                                   const FieldPath& path) {
    std::string_view name = tensor.text(field<"TensorProto.name">);
    if (name.empty()) {
        checking_.found(Rule::graph_initializer_name, path, "the initializer has no name");
        return;
    }
    // Nodes that use the value look at its name. In the file, that would map the weights around it.
    if (tensor.nbytes() >= kFarApart) name = checking_.names_of_weights.emplace_back(name);
    const unsigned marks = checking_.visible.here(checking_.visible.id(name));
    const bool is_segment = tensor::is_segment(tensor);
    if ((marks & Mark::is_initializer) != 0 && !is_segment) {
        checking_.found(Rule::graph_initializer_repeated, path,
                        {"another initializer before it has the name ", Quoted(name)});
    }
    const bool is_input = (marks & Mark::is_input) != 0;
    const bool has_constants = checking_.ir_version >= kFirstWithConstants;
    if (!is_input && !has_constants && kind_ != GraphKind::algorithm) {
        checking_.found(Rule::graph_initializer_input, path,
                        {Quoted(name), " is not an input of the graph"});
    }
    if (is_input && has_constants && kind_ == GraphKind::subgraph) {
        checking_.found(Rule::graph_initializer_default, path,
                        {Quoted(name), " is an input of the subgraph, too"});
    }
    const bool is_dense = path.row == &field<"GraphProto.initializer">;
    if (is_input && is_dense) check_default(tensor, path);
    if (is_input && kind_ == GraphKind::subgraph)
        types_.inputs[input_of(name)].has_initializer = true;
    body_.define(name, Mark::is_initializer, path);
    const VisibleValues::Id id = checking_.visible.id(name);
    if (is_dense && !is_segment) initializers_.emplace_back(id, path.index);
    // Of an initializer that does not fit its input, there is a finding already.
    if (!checking_.visible.type(id).is_known()) {
        checking_.visible.set_type(
            id, {onnx::ValueType::Kind::tensor, tensor.int64(field<"TensorProto.data_type">)});
    }
    // From then on, whoever runs the model may give an input other values.
    if (!is_input || !has_constants) body_.tell_shape(id, value, is_dense);
}

// Nodes that make these values come later.
void GraphCheck::note_described_types() {
    VisibleValues& visible = checking_.visible;
    // An output's own type counts: readers do not look at a second one in value_info.
    const auto note = [&](const onnx::Message& value, const FieldPath&) {
        const std::string_view name = name_of_value(value);
        const onnx::ValueType type = type_of_value(value);
        if (name.empty() || !type.is_known()) return;
        const VisibleValues::Id id = visible.id(name);
        if (visible.is_visible(id) || visible.described_type(id).is_known()) return;
        visible.set_type(id, type);
        body_.tell_shape(id, value);
    };
    for_each(field<"GraphProto.output">, note);
    for_each(field<"GraphProto.value_info">, note);
}

std::uint64_t GraphCheck::input_of(std::string_view name) const {
    return std::ranges::lower_bound(inputs_, checking_.visible.id(name), {},
                                    &std::pair<VisibleValues::Id, std::uint64_t>::first)
        ->second;
}

void GraphCheck::check_default(const onnx::Message& tensor, const FieldPath& path) {
    const std::string_view name = tensor.text(field<"TensorProto.name">);
    const wire::FieldRow& row = field<"GraphProto.input">;
    const onnx::Message input = graph_.inner(row, fields_->at(row, input_of(name)));
    const auto type = input.child(field<"ValueInfoProto.type">);
    const wire::FieldRow* const kind = type ? type->which("value") : nullptr;
    if (kind == nullptr) return;
    if (kind == &field<"TypeProto.tensor_type"> && fits(tensor, *type->child(*kind))) return;
    checking_.found(Rule::graph_initializer_type, path,
                    {"the initializer ", Quoted(name),
                     " has another element type or shape than the input of its name"});
}

void GraphCheck::check_outputs() {
    VisibleValues& visible = checking_.visible;
    for_each(field<"GraphProto.output">, [&](const onnx::Message& output, const FieldPath& path) {
        const std::string_view name = name_of_value(output);
        check_named(output, name, path);
        if (kind_ == GraphKind::subgraph) types_.outputs.emplace_back();
        if (name.empty()) return;
        const VisibleValues::Id id = visible.id(name);
        if (kind_ == GraphKind::subgraph) types_.outputs.back() = visible.type(id);
        const bool is_own = (visible.here(id) & VisibleValues::kDefined) != 0;
        if (!is_own && !visible.is_visible(id)) {
            checking_.found(Rule::graph_output_undefined, path,
                            {"nothing defines the output ", Quoted(name)});
        } else if (!is_own && kind_ == GraphKind::subgraph) {
            checking_.found(
                Rule::graph_output_undefined, path,
                {"the output ", Quoted(name), " is a value of a graph around this one"});
        }
        if ((visible.here(id) & Mark::is_output) != 0) {
            checking_.found(Rule::graph_output_repeated, path,
                            {"another output before it has the name ", Quoted(name)});
        }
        const bool is_made = (visible.here(id) & Mark::is_made) != 0;
        if (is_own && !is_made) check_described(output, id, path);
        visible.mark(id, Mark::is_output);
    });
}

void GraphCheck::check_value_infos() {
    VisibleValues& visible = checking_.visible;
    for_each(field<"GraphProto.value_info">,
             [&](const onnx::Message& value, const FieldPath& path) {
                 const std::string_view name = name_of_value(value);
                 check_named(value, name, path);
                 if (name.empty()) return;
                 const VisibleValues::Id id = visible.id(name);
                 const unsigned marks = visible.here(id);
                 if ((marks & Mark::is_described) != 0) {
                     checking_.found(Rule::graph_value_info_repeated, path,
                                     {"another entry before it describes ", Quoted(name)});
                 } else if ((marks & (Mark::is_input | Mark::is_output)) != 0) {
                     checking_.found(Rule::graph_value_info_inner, path,
                                     {Quoted(name), " is an input or output of the graph"});
                 } else if ((marks & VisibleValues::kDefined) == 0) {
                     checking_.found(Rule::graph_value_info_inner, path,
                                     {"the graph has no value ", Quoted(name)});
                 }
                 if ((marks & Mark::is_initializer) != 0) check_described(value, id, path);
                 visible.mark(id, Mark::is_described);
             });
}

// A value that no node makes has its type and shape from an input or initializer.
void GraphCheck::check_described(const onnx::Message& value, VisibleValues::Id id,
                                 const FieldPath& path) {
    if (body_.owner().operators == nullptr) return;
    const onnx::ValueType told = type_of_value(value);
    const onnx::ValueType own = checking_.visible.type(id);
    if (told.is_known() && own.is_known() && told != own) {
        checking_.found(Rule::value_type, path,
                        {"the value is ", own.text(), ", and here ", told.text()});
    }
    const Known& here = checking_.shapes.at(told_shape(checking_.shapes, value));
    const Known& known = checking_.shapes.at(checking_.visible.shape(id));
    if (!contradict(here, known)) return;
    checking_.found(Rule::value_shape, path, [&] {
        return "the shape of the value is " + shape_text(*known.dims) + ", and here " +
               shape_text(*here.dims);
    });
}

// Training graphs use the initializers of the main graph, and bind them by name. A graph without
// nodes is a file of weights.
void GraphCheck::check_unused() {
    if (checking_.has_training || fields_->count(field<"GraphProto.node">) == 0) return;
    for (const auto& [id, index] : initializers_) {
        if ((checking_.visible.here(id) & (Mark::is_used | Mark::is_output)) != 0) continue;
        checking_.found(
            Rule::graph_initializer_unused,
            FieldPath{&path_, &field<"GraphProto.initializer">, index},
            {"nothing uses the initializer ", Quoted(checking_.visible.names().name(id))});
    }
}

void GraphCheck::check_annotations() {
    const auto check_name = [&](std::string_view name, const FieldPath& path) {
        const VisibleValues::Id id = checking_.visible.id(name);
        if (checking_.visible.is_visible(id)) {
            checking_.visible.note_use(id);
            return;
        }
        checking_.found(Rule::quantization_tensor, path, {"the graph has no value ", Quoted(name)});
    };
    const auto check_repeated = [&](model::NameTable& before, std::string_view name,
                                    const FieldPath& path) {
        if (before.add(name).is_new) return;
        checking_.found(Rule::quantization_repeated, path,
                        {"another entry before it is about ", Quoted(name)});
    };
    model::NameTable annotated;
    const wire::FieldRow& annotations = field<"GraphProto.quantization_annotation">;
    for_each(annotations, [&](const onnx::Message& annotation, const FieldPath& path) {
        const auto tensor = annotation.text(field<"TensorAnnotation.tensor_name">);
        check_name(tensor, path);
        check_repeated(annotated, tensor, path);
        model::NameTable keys;
        for_each_child(annotation, field<"TensorAnnotation.quant_parameter_tensor_names">, path,
                       [&](const onnx::Message& entry, const FieldPath& here) {
                           const auto key = entry.text(field<"StringStringEntryProto.key">);
                           check_repeated(keys, key, here);
                           if (key != "SCALE_TENSOR" && key != "ZERO_POINT_TENSOR") {
                               checking_.found(Rule::quantization_key, here,
                                               {Quoted(key), " is not a key that ONNX defines"});
                           }
                           check_name(entry.text(field<"StringStringEntryProto.value">), here);
                       });
    });
}

void check_subgraph(Checking& checking, const onnx::Message& graph, const FieldPath& path,
                    NodeListCheck& outer) {
    GraphCheck check(checking, graph, path, GraphKind::subgraph, outer.owner(), &outer);
    check.run();
    outer.judge_body(path, check.take_types());
}

}  // namespace onnxmap::check
