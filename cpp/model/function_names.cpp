#include "model/function_names.hpp"

#include "model/node.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::Message;

namespace {

struct Names {
    std::string_view domain;
    std::string_view name;
    std::string_view overload;
};

Names names_of(const Message& function) {
    if (is_node(function)) {
        return {function.text(field<"NodeProto.domain">), function.text(field<"NodeProto.op_type">),
                function.text(field<"NodeProto.overload">)};
    }
    return {function.text(field<"FunctionProto.domain">),
            function.text(field<"FunctionProto.name">),
            function.text(field<"FunctionProto.overload">)};
}

}  // namespace

std::string function_key(const Message& function) {
    const auto [domain, name, overload] = names_of(function);
    std::string key(onnx::plain_domain(domain));
    key += "::";
    key += name;
    if (!overload.empty()) key.append(":").append(overload);
    return key;
}

std::string function_identity(const Message& function) {
    const auto [domain, name, overload] = names_of(function);
    return function_identity(domain, name, overload);
}

std::string function_identity(std::string_view domain, std::string_view name,
                              std::string_view overload) {
    std::string identity;
    for (const std::string_view each : {onnx::plain_domain(domain), name, overload}) {
        identity.append(std::to_string(each.size())).append(1, ':').append(each);
    }
    return identity;
}

}  // namespace onnxmap::model
