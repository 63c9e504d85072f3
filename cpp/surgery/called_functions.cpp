#include "surgery/called_functions.hpp"

#include <utility>

#include "model/node.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

namespace {

std::string key_of(std::string_view domain, std::string_view name, std::string_view overload) {
    std::string key(onnx::plain_domain(domain));
    key += "::";
    key += name;
    if (!overload.empty()) key += ":" + std::string(overload);
    return key;
}

}  // namespace

std::string function_key(const Message& function) {
    if (model::is_node(function)) {
        return key_of(function.text(field<"NodeProto.domain">),
                      function.text(field<"NodeProto.op_type">),
                      function.text(field<"NodeProto.overload">));
    }
    return key_of(function.text(field<"FunctionProto.domain">),
                  function.text(field<"FunctionProto.name">),
                  function.text(field<"FunctionProto.overload">));
}

CalledFunctions::CalledFunctions(const model::Document& document, Needed::Of of) {
    const Message root = document.root();
    const wire::FieldRow& list = field<"ModelProto.functions">;
    document.index(root)->for_each(list, [&](const wire::Field& element) {
        const Message function = root.inner(list, element);
        auto needed = std::make_unique<Needed>(document, function, document.limits().depth + 1, of);
        needed->need_outputs();
        if (of == Needed::Of::all_nodes) needed->need_all();
        needed->find();
        functions_.push_back({std::move(needed), function_key(function)});
        const auto added = by_key_.add(functions_.back().key);
        if (added.is_new) of_key_.emplace_back();
        of_key_[added.position].push_back(functions_.size() - 1);
    });
}

void CalledFunctions::note(const Needed& body) {
    call(body, domains_);
    while (!to_visit_.empty()) {
        const Needed& function = *functions_[to_visit_.back()].needed;
        to_visit_.pop_back();
        domains_.add(onnx::plain_domain(function.message().text(field<"FunctionProto.domain">)));
        model::NameTable ignored;  // functions have imports of their own
        call(function, ignored);
    }
}

void CalledFunctions::call(const Needed& body, model::NameTable& domains) {
    body.for_each_operator(
        [&](std::string_view domain, std::string_view op_type, std::string_view overload) {
            domains.add(domain);
            if (functions_.empty()) return;
            const auto known = by_key_.find(key_of(domain, op_type, overload));
            if (!known) return;
            for (const std::size_t i : of_key_[*known]) {
                if (!std::exchange(functions_[i].is_called, true)) to_visit_.push_back(i);
            }
        });
}

bool CalledFunctions::needs_import(std::string_view domain) const {
    const std::string_view plain = onnx::plain_domain(domain);
    return plain.empty() || domains_.find(plain).has_value();
}

}  // namespace onnxmap::surgery
