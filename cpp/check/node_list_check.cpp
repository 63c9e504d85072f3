#include "check/node_list_check.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "check/node_check.hpp"
#include "check/node_parts.hpp"
#include "check/shape_rules.hpp"
#include "check/told_shape.hpp"
#include "model/flow_table.hpp"
#include "onnx/schema.hpp"
#include "os/parallel.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

constexpr std::uint64_t kAlone = 2048;  // nodes: with fewer, starting threads takes longer
constexpr std::uint64_t kBatch = 512;   // nodes that are read at once
constexpr std::size_t kBatches = 16;    // that threads read ahead
// Look-ups that are in flight at once.
constexpr std::size_t kAhead = 16;
constexpr unsigned kShapeRule = 8;  // where it begins in a number, beside the decided type

}  // namespace

NodeListCheck::NodeListCheck(Checking& checking, const FieldPath& path,
                             const model::FieldIndex& fields, const wire::FieldRow& row,
                             const Owner& owner, const Around& around)
    : checking_(checking),
      path_(path),
      fields_(fields),
      row_(row),
      owner_(owner),
      outer_(around.graph),
      checks_shapes_(owner.operators != nullptr &&
                     (checking.findings.wants(Rule::value_shape) ||
                      checking.findings.wants(Rule::operator_attribute_value))),
      shapes_(checking.shapes) {
    checking_.visible.enter(around.sees_outer, around.is_last);
}

NodeListCheck::~NodeListCheck() { checking_.visible.leave(); }

void NodeListCheck::define(std::string_view name, Mark mark, const FieldPath& path) {
    if (name.empty()) return;
    VisibleValues& visible = checking_.visible;
    const VisibleValues::Id id = visible.id(name);
    const bool is_new = (visible.here(id) & VisibleValues::kDefined) == 0;
    if (is_new && visible.is_from_outside(id)) {
        checking_.found(Rule::value_shadowed_input, path,
                        {Quoted(name), " is also a value of a graph around this one"});
    } else if (!is_new && mark == Mark::is_input) {
        defined_again(id, path);
    }
    visible.mark(id, mark);
    check_identifier(checking_.findings, name, path);
}

void NodeListCheck::tell_shape(VisibleValues::Id value, const onnx::Message& element,
                               bool with_elements) {
    if (!checks_shapes_) return;
    checking_.visible.set_shape(value, check::told_shape(checking_.shapes, element, with_elements));
}

void NodeListCheck::defined_again(VisibleValues::Id value, const FieldPath& path) {
    checking_.found(Rule::value_repeated, path,
                    {Quoted(checking_.visible.names().name(value)), " is defined a second time"});
}

void NodeListCheck::check_nodes() {
    const std::uint64_t count = fields_.count(row_);
    if (count > kAlone) {
        check_in_parallel();
    } else if (count > 0) {
        // A batch's own findings would cost as much as the check of a small subgraph.
        Events events;
        make_room();
        for (std::uint64_t begin = 0; begin < count; begin += kBatch) {
            read_nodes(begin, std::min(count, begin + kBatch), checking_.findings, events);
            apply_all(events);
        }
    }
    if (owner_.function)
        fields_.for_each_child(row_, [&](const onnx::Message& node) { note_call(node); });
    resolve();
}

void NodeListCheck::check_in_parallel() {
    struct Batch {
        Findings findings;
        Events events;
    };
    std::vector<Batch> batches(kBatches, Batch{checking_.findings.empty_copy(), {}});
    bool has_room = false;
    os::for_each_range_in_order(
        fields_.count(row_), kBatch, kBatches,
        [&](std::uint64_t slot, std::uint64_t begin, std::uint64_t end) {
            read_nodes(begin, end, batches[slot].findings, batches[slot].events);
        },
        [&](std::uint64_t slot) {
            if (!std::exchange(has_room, true)) make_room();  // while other threads read
            checking_.findings.take(batches[slot].findings);
            apply_all(batches[slot].events);
        });
}

// Most nodes make one value and have a name. Memory that is left is not touched.
void NodeListCheck::make_room() {
    const std::uint64_t likely = fields_.likely_names(row_);
    checking_.visible.reserve(likely);
    node_names_.reserve(likely);
}

// Checks nodes by themselves, and notes what they do. Threads may do so at the same time.
void NodeListCheck::read_nodes(std::uint64_t begin, std::uint64_t end, Findings& findings,
                               Events& events) const {
    events.first = begin;
    events.all.clear();
    model::FieldIndex::Cursor cursor(fields_, row_);
    cursor.skip_to(begin);
    NodeParts parts;
    wire::Field element;
    for (std::uint64_t i = begin; i < end && cursor.next(element); ++i) {
        const auto note = [&](Kind kind, std::string_view name, std::uint32_t slot) {
            const std::uint32_t hash = model::NameTable::hash_of(name);
            events.all.push_back({name, hash, slot, static_cast<std::uint16_t>(i - begin), kind});
        };
        const auto note_names = [&](Kind kind, const std::vector<std::string_view>& names) {
            for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
                if (!names[slot].empty()) note(kind, names[slot], slot);
            }
        };
        const onnx::Message node = fields_.message().inner(row_, element);
        parts.read(node);
        const NodeFacts facts =
            check_node_alone(checking_, findings, node, parts, path_of(i), owner_);
        if (!parts.name.empty()) note(Kind::named, parts.name, 0);
        note_names(Kind::used, parts.inputs);
        if (facts.known) {
            events.all.push_back(
                {as_text(element.bytes), facts.known->position(),
                 facts.decided.code() | static_cast<std::uint32_t>(facts.shape_rule) << kShapeRule,
                 static_cast<std::uint16_t>(i - begin), Kind::called});
        }
        if (facts.function) {
            events.all.push_back(
                {{}, *facts.function, 0, static_cast<std::uint16_t>(i - begin), Kind::function});
        } else if (facts.is_not_described) {
            note(Kind::foreign, parts.domain, 0);
        }
        if (facts.is_nested) note(Kind::nested, {}, 0);
        note_names(Kind::defined, parts.outputs);
    }
}

void NodeListCheck::apply_all(const Events& events) {
    const std::vector<Event>& all = events.all;
    const auto prefetch = [&](const Event& event) {
        const bool is_node = event.kind == Kind::named;
        (is_node ? node_names_ : checking_.visible.names()).prefetch(event.hash);
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i + kAhead < all.size()) prefetch(all[i + kAhead]);
        apply(all[i], events.first + all[i].node);
    }
    if (all.empty()) return;
    const onnx::Message first = node(events.first + all.front().node);
    const onnx::Message last = node(events.first + all.back().node);
    checking_.pages.note_read(first.loaded());
    checking_.pages.note_read(last.loaded());
}

void NodeListCheck::apply(const Event& event, std::uint64_t node) {
    VisibleValues& visible = checking_.visible;
    switch (event.kind) {
        case Kind::named:
            if (node_names_.add(event.name, event.hash).is_new) break;
            checking_.found(Rule::node_name_repeated, path_of(node),
                            {"another node before it has the name ", Quoted(event.name)});
            break;
        case Kind::used: {
            const VisibleValues::Id id = visible.known(visible.names().add(event.name, event.hash));
            types_.begin(node);
            types_.add_input(event.slot, id, visible.type(id));
            if (visible.is_visible(id)) {
                visible.note_use(id);
                break;
            }
            unknown_.push_back({id, event.slot, node, {}, nullptr});
            break;
        }
        case Kind::called: judge_types(event, node); break;
        case Kind::function: checking_.functions.note_use(event.hash); break;
        case Kind::foreign: checking_.count_not_described(event.name); break;
        case Kind::nested:
            bodies_.begin(node, this->node(node), types_);
            check_nested(checking_, this->node(node), path_of(node), *this);
            bodies_.end();
            break;
        case Kind::defined:
            defined(visible.known(visible.names().add(event.name, event.hash)), event, node);
            break;
    }
}

void NodeListCheck::defined(VisibleValues::Id value, const Event& event, std::uint64_t node) {
    VisibleValues& visible = checking_.visible;
    if (visible.is_visible(value) || checking_.findings.wants(Rule::graph_identifier)) {
        const FieldPath path = path_of(node);
        const FieldPath output{&path, &field<"NodeProto.output">, event.slot};
        if (visible.is_from_outside(value)) {
            checking_.found(Rule::value_shadowed, output,
                            {Quoted(event.name), " is also a value of a graph around this one"});
        } else if (visible.is_visible(value)) {
            defined_again(value, output);
        }
        check_identifier(checking_.findings, event.name, output);
    }
    judge_type(value, event, node);
    judge_shape(value, event, node);
    visible.mark(value, Mark::is_made);
}

void NodeListCheck::judge_type(VisibleValues::Id value, const Event& event, std::uint64_t node) {
    const onnx::ValueType told = checking_.visible.described_type(value);
    onnx::ValueType made = types_.output(node, event.slot);
    if (!made.is_known()) made = bodies_.output(node, event.slot);
    if (!made.is_known()) {
        if (told.is_known()) judge_output(event, node, told);
        return;
    }
    if (told.is_known() && told != made) {
        const FieldPath path = path_of(node);
        checking_.found(Rule::value_type, FieldPath{&path, &field<"NodeProto.output">, event.slot},
                        {"the node makes ", made.text(), ", and the graph says that ",
                         Quoted(event.name), " is ", told.text()});
    }
    checking_.visible.set_type(value, made);
}

void NodeListCheck::judge_shape(VisibleValues::Id value, const Event& event, std::uint64_t node) {
    if (!checks_shapes_) return;
    const ShapeStore::Id told = checking_.visible.described_shape(value);
    const ShapeStore::Id made = shaped_ == node ? shapes_.made(event.slot) : ShapeStore::kNothing;
    const Known& is_told = checking_.shapes.at(told);
    const Known& is_made = checking_.shapes.at(made);
    if (contradict(is_told, is_made)) {
        const FieldPath path = path_of(node);
        checking_.found(
            Rule::value_shape, FieldPath{&path, &field<"NodeProto.output">, event.slot}, [&] {
                return text_from({"the node makes the shape ", shape_text(*is_made.dims),
                                  ", and the graph says that ", Quoted(event.name), " has ",
                                  shape_text(*is_told.dims)});
            });
    } else if (is_told.dims && is_made.dims && !is_made.elements &&
               std::ranges::find(*is_made.dims, kUnknown) != is_made.dims->end()) {
        Numbers both(is_made.dims->begin(), is_made.dims->end());
        for (std::size_t i = 0; i < both.size(); ++i) {
            if (both[i] == kUnknown) both[i] = (*is_told.dims)[i];
        }
        return checking_.visible.set_shape(value, checking_.shapes.add({.dims = NumberView(both)}));
    }
    checking_.visible.set_shape(value, made == ShapeStore::kNothing ? told : made);
}

// The type of an output that the graph tells, and no input: it is one that the operator makes.
void NodeListCheck::judge_output(const Event& event, std::uint64_t node, onnx::ValueType told) {
    const onnx::Operator* const op = types_.called(node);
    const char letter = op == nullptr ? '\0' : op->output(event.slot).letter;
    if (letter == '\0' || op->types(letter).has(told)) return;
    const FieldPath path = path_of(node);
    checking_.found(Rule::value_type, FieldPath{&path, &field<"NodeProto.output">, event.slot},
                    {"the graph says that ", Quoted(event.name), " is ", told.text(), ", which ",
                     op->name(), " of version ", op->since(), " does not make"});
}

void NodeListCheck::judge_types(const Event& event, std::uint64_t node) {
    types_.begin(node);
    const onnx::Operator op(onnx::operator_rows()[event.hash]);
    checking_.used_sets.at(op.domain()) = true;
    const auto decided = onnx::ValueType::from_code(static_cast<std::uint8_t>(event.slot));
    using Input = SignatureTypes::Input;
    types_.judge(op, decided, [&](const Input& input, const Input* other) {
        const FieldPath path = path_of(node);
        const FieldPath at{&path, &field<"NodeProto.input">, input.slot};
        checking_.found(Rule::operator_type, at, [&] {
            return type_text(checking_, input) +
                   (other == nullptr ? ", which " + std::string(op.name()) + " of version " +
                                           std::to_string(op.since()) + " does not take"
                                     : ", and " + type_text(checking_, *other) + "; " +
                                           std::string(op.name()) + " takes both in one type");
        });
    });
    if (checks_shapes_ && event.slot >> kShapeRule != 0) judge_shapes(op, event, node);
}

void NodeListCheck::judge_shapes(const onnx::Operator& op, const Event& event,
                                 std::uint64_t index) {
    const onnx::Message node = fields_.message().inner(row_, {.bytes = as_bytes(event.name)});
    shaped_ = index;
    shapes_.begin(op, node);
    for (const auto& [slot, value, type] : types_.inputs()) {
        shapes_.add_input(slot, checking_.visible.shape(value));
    }
    apply_shape_rule(static_cast<std::uint16_t>(event.slot >> kShapeRule), shapes_);
    if (!shapes_.fault() || shapes_.is_unsure()) return;
    const auto& [path, message] = *shapes_.fault();
    const FieldPath here = path_of(index);
    const auto text = [&] { return std::string(op.name()) + ": " + message; };
    if (path.attribute.empty()) {
        checking_.found(Rule::value_shape, FieldPath{&here, &field<"NodeProto.input">, path.input},
                        text);
    } else {
        const std::uint64_t position = shapes_.position_of(path.attribute);
        checking_.found(Rule::operator_attribute_value,
                        FieldPath{&here, &field<"NodeProto.attribute">, position, path.attribute},
                        text);
    }
}

void NodeListCheck::note_call(const onnx::Message& node) {
    NodeParts parts;
    parts.read(node);
    const auto called = checking_.functions.find(parts.domain, parts.op_type, parts.overload);
    if (called) checking_.functions.note_call(*owner_.function, *called);
}

// A node may use many values that nothing defines.
std::string_view NodeListCheck::title_of(std::uint64_t index) {
    if (titled_ != index) {
        NodeParts parts;
        parts.read(node(index));
        titled_ = index;
        title_ = parts.title();
    }
    return title_;
}

onnx::Message NodeListCheck::node(std::uint64_t index) const {
    return fields_.message().inner(row_, fields_.at(row_, index));
}

// What is used before it is defined here comes too late; the rest may be defined later by a graph
// around this one.
void NodeListCheck::resolve() {
    bool is_unsorted = false;
    for (Unknown& each : unknown_) {
        const std::string_view name = checking_.visible.names().name(each.value);
        const bool is_late = (checking_.visible.here(each.value) & Mark::is_made) != 0;
        if (!is_late && outer_ != nullptr) {
            if (each.body == nullptr) {
                each.body = checking_.kept.keep(path_);
                each.title = title_of(each.node);
            }
            outer_->unknown_.push_back(each);
            continue;
        }
        is_unsorted = is_unsorted || is_late;
        const bool is_here = each.body == nullptr;
        const FieldPath node{is_here ? &path_ : each.body,
                             is_here ? &row_ : &field<"GraphProto.node">, each.node};
        const FieldPath input{&node, &field<"NodeProto.input">, each.slot};
        checking_.found(is_late ? Rule::value_unsorted : Rule::value_undefined, input, [&] {
            return "the node " + in_quotes(is_here ? title_of(each.node) : each.title) + " uses " +
                   in_quotes(name) +
                   (is_late ? " before a node makes it" : ", which nothing defines");
        });
    }
    unknown_.clear();
    if (is_unsorted && checking_.findings.wants(Rule::value_cycle)) find_cycle();
}

void NodeListCheck::find_cycle() {
    model::FlowTable flow;
    flow.read_all(fields_, checking_.document.limits().depth);
    if (!flow.has_single_makers()) return;
    const auto node = flow.order().in_cycle;
    if (node)
        checking_.found(Rule::value_cycle, path_of(*node), "the node depends on its own output");
}

}  // namespace onnxmap::check
