// Repeated message fields as sequences.
#include <string>

#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"

namespace onnxmap::bindings {

template <>
struct ListTraits<MessageList> {
    static const model::MessageList& core(const MessageList& list) { return list.messages; }

    static py::object element(const MessageList& list, const onnx::Message& message) {
        Handle handle{list.document, message};
        if (list.as_proto) return py::cast(ProtoView{std::move(handle)});
        return wrap_message(std::move(handle));
    }

    static std::string type_name(const MessageList& list) {
        return std::string(list.messages.type_name());
    }
};

void bind_lists(py::module_& module) {
    bind_sequence<MessageList>(
        module, "MessageList", "MessageIterator",
        "An immutable sequence of the messages of a repeated field. Each message is made "
        "on access.");
}

}  // namespace onnxmap::bindings
