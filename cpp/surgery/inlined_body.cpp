#include "surgery/inlined_body.hpp"

#include "model/name_table.hpp"
#include "onnx/schema.hpp"
#include "surgery/graph_parts.hpp"
#include "wire/writer.hpp"

namespace onnxmap::surgery {

using model::Attribute;
using onnx::field;
using onnx::Message;

namespace {

constexpr const wire::FieldRow& kNodeAttributes = field<"NodeProto.attribute">;
constexpr const wire::FieldRow& kNodeMetadata = field<"NodeProto.metadata_props">;
constexpr const wire::FieldRow& kReference = field<"AttributeProto.ref_attr_name">;

const model::Rewrite kSame;

// An attribute under the name that the node has for it.
class RenamedAttribute final : public model::Rewrite {
  public:
    RenamedAttribute(const Rewrite& inner, std::string_view name) : inner_(inner), name_(name) {}

    [[nodiscard]] std::optional<std::string> text(const wire::FieldRow& holder,
                                                  const wire::FieldRow& row,
                                                  std::string_view text) const override {
        if (&row == &field<"AttributeProto.name">) return std::string(name_);
        return inner_.text(holder, row, text);
    }
    // What is in it keeps its attributes' names.
    [[nodiscard]] bool replace(const wire::FieldRow& row, const Message& message,
                               const Add& add) const override {
        add(row, message, inner_);
        return true;
    }

  private:
    const Rewrite& inner_;
    std::string_view name_;
};

std::vector<std::string_view> texts_of(const Message& message, const wire::FieldRow& row) {
    std::vector<std::string_view> texts;
    message.for_each_value(row, [&](const wire::Field& each) { texts.push_back(each.text()); });
    return texts;
}

}  // namespace

std::string UnusedNames::take(std::string_view name) {
    if (used_.add(name).is_new) return std::string(name);
    std::uint64_t& last = last_.try_emplace(std::string(name), 1).first->second;
    for (;;) {
        std::string made = std::string(name) + "_" + std::to_string(++last);
        if (used_.add(made).is_new) return made;
    }
}

void Inlining::forget_bodies() {
    bodies.clear();
    name_count = 0;
}

bool InlinedCalls::replace(const wire::FieldRow& row, const Message& message,
                           const Add& add) const {
    if (&row != &field<"GraphProto.node">) return false;
    const Message* const function = shared_.find_called(message);
    if (function == nullptr) return false;
    add_called(message, *function, row, add);
    return true;
}

void InlinedCalls::add_called(const Message& call, const Message& function,
                              const wire::FieldRow& nodes, const Add& add) const {
    const InlinedBody& body = shared_.bodies.emplace_back(shared_, *this, call, function);
    const wire::FieldRow& list = field<"FunctionProto.node">;
    function.for_each_child(list, [&](const Message& node) {
        if (const Message* const called = shared_.find_called(node)) {
            body.add_called(node, *called, nodes, add);
        } else {
            add(nodes, node, body);
        }
    });
    body.add_identities(nodes, add);
    const wire::FieldRow& infos = field<"FunctionProto.value_info">;
    const wire::FieldRow& to = &nodes == &list ? infos : field<"GraphProto.value_info">;
    function.for_each_child(infos, [&](const Message& info) {
        if (body.is_inner(info.text(field<"ValueInfoProto.name">))) add(to, info, body);
    });
}

InlinedBody::InlinedBody(Inlining& shared, const InlinedCalls& around, const Message& call,
                         const Message& function)
    : InlinedCalls(shared), around_(around) {
    const auto inputs = texts_of(call, field<"NodeProto.input">);
    const auto outputs = texts_of(call, field<"NodeProto.output">);
    const auto formal_inputs = texts_of(function, field<"FunctionProto.input">);
    const auto formal_outputs = texts_of(function, field<"FunctionProto.output">);
    for (std::size_t i = 0; i < formal_inputs.size(); ++i)
        formal_.emplace(formal_inputs[i], i < inputs.size() ? around.name_of(inputs[i]) : "");
    for (std::size_t i = 0; i < formal_outputs.size(); ++i) {
        std::string output = i < outputs.size() ? around.name_of(outputs[i]) : "";
        const bool is_wanted = !output.empty();
        if (!is_wanted && !formal_.contains(formal_outputs[i]))
            output = shared.names.take(formal_outputs[i]);
        const auto [known, is_new] = formal_.emplace(formal_outputs[i], output);
        if (!is_new && is_wanted) identities_.emplace_back(known->second, std::move(output));
    }
    bind_attributes(around, call, function);
    shared.name_count += 2 + formal_.size() + attributes_.size();  // the body is as large as two
    call.for_each_child(kNodeMetadata, [&](const Message& each) { metadata_.push_back(each); });
}

void InlinedBody::for_each_metadata(const std::function<void(const Message&)>& visit) const {
    for (const Message& entry : metadata_) visit(entry);
    around_.for_each_metadata(visit);
}

void InlinedBody::bind_attributes(const InlinedCalls& around, const Message& call,
                                  const Message& function) {
    for (const Attribute& each : model::attributes(call, kNodeAttributes)) {
        if (const auto given = around.given(each.message()))
            attributes_.insert_or_assign(each.name(), *given);
    }
    const wire::FieldRow& defaults = field<"FunctionProto.attribute_proto">;
    for (const Attribute& each : model::attributes(function, defaults))
        attributes_.try_emplace(each.name(), Given{each.message(), &kSame});
}

std::string InlinedBody::name_of(std::string_view value) const {
    if (value.empty()) return {};
    const auto formal = formal_.find(value);
    if (formal != formal_.end()) return formal->second;
    const auto [inner, is_new] = inner_.try_emplace(std::string(value));
    if (is_new) inner->second = shared_.names.take(value);
    return inner->second;
}

std::optional<InlinedCalls::Given> InlinedBody::given(const Message& attribute) const {
    const std::string_view reference = attribute.text(kReference);
    if (reference.empty()) return InlinedCalls::given(attribute);
    const auto found = attributes_.find(reference);
    return found == attributes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> InlinedBody::text(const wire::FieldRow& holder,
                                             const wire::FieldRow& row,
                                             std::string_view text) const {
    if (names_value(holder, row)) return name_of(text);
    if (&row == &field<"NodeProto.name"> && !text.empty()) return shared_.names.take(text);
    return std::nullopt;
}

bool InlinedBody::replace(const wire::FieldRow& row, const Message& message, const Add& add) const {
    if (&row != &kNodeAttributes || message.text(kReference).empty())
        return InlinedCalls::replace(row, message, add);
    if (const auto found = given(message))
        add(row, found->attribute, RenamedAttribute(*found->names, Attribute(message).name()));
    return true;
}

// Entries of the call, as onnx_ir's InlinePass does: those of the node go before.
void InlinedBody::extend(const Message& original, const Add& add) const {
    if (!model::is_node(original)) return;
    const auto key_of = [](const Message& entry) {
        return entry.text(field<"StringStringEntryProto.key">);
    };
    std::optional<model::NameSet> keys;  // most calls have no metadata
    for_each_metadata([&](const Message& entry) {
        if (!keys) {
            keys.emplace();
            original.for_each_child(kNodeMetadata,
                                    [&](const Message& each) { keys->insert(key_of(each)); });
        }
        if (keys->insert(key_of(entry)).second) add(kNodeMetadata, entry, kSame);
    });
}

void InlinedBody::add_identities(const wire::FieldRow& nodes, const Add& add) const {
    for (const auto& [input, output] : identities_) {
        std::string node = model::text_value(field<"NodeProto.input">, input).encoded;
        node += model::text_value(field<"NodeProto.output">, output).encoded;
        node += model::text_value(field<"NodeProto.op_type">, "Identity").encoded;
        const ByteView bytes = shared_.document.editable().keep(node);
        add(nodes, Message(onnx::message<"NodeProto">, bytes, &shared_.document.edits()), kSame);
    }
}

}  // namespace onnxmap::surgery
