#include "surgery/called_functions.hpp"

#include <utility>

#include "model/function_names.hpp"
#include "model/node.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

CalledFunctions::CalledFunctions(const model::Document& document, Needed::Of of) {
    const Message root = document.root();
    const wire::FieldRow& list = field<"ModelProto.functions">;
    document.index(root)->for_each_child(list, [&](const Message& function) {
        auto needed =
            std::make_unique<Needed>(document, function, document.limits().depth + 1, of, true);
        needed->need_outputs();
        if (of == Needed::Of::all_nodes) needed->need_all();
        needed->find();
        functions_.push_back({std::move(needed), model::function_key(function)});
        by_identity_.emplace(model::function_identity(function), functions_.size() - 1);
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
            auto [each, end] =
                by_identity_.equal_range(model::function_identity(domain, op_type, overload));
            for (; each != end; ++each) {
                const std::size_t i = each->second;
                if (!std::exchange(functions_[i].is_called, true)) to_visit_.push_back(i);
            }
        });
}

bool CalledFunctions::needs_import(std::string_view domain) const {
    const std::string_view plain = onnx::plain_domain(domain);
    return plain.empty() || domains_.find(plain).has_value();
}

}  // namespace onnxmap::surgery
