// The C++ values of bound objects: a share of the document, and a view of one of its messages.
#pragma once

#include <memory>
#include <utility>

#include "bindings/native_class.hpp"
#include "edit/handle.hpp"
#include "edit/remade.hpp"
#include "model/document.hpp"
#include "model/graph.hpp"
#include "model/message_list.hpp"
#include "model/unknown_fields.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::bindings {

using edit::below_guard;
using edit::DocumentPtr;
using edit::Handle;
using edit::ListHandle;
using edit::Remade;
using edit::SingularField;

/// The handle that an object of a message's class begins with.
[[nodiscard]] inline const Handle& handle_of(PyObject* self) noexcept {
    return cpp_value<Handle>(self);
}

/// A message as an object of a Python class. One C++ type per class, so that pybind11 can tell them
/// apart.
template <onnx::detail::Name class_name>
struct MessageObject : Handle {
    static constexpr auto kClassName = py::detail::const_name(class_name.chars);
};
using ProtoView = MessageObject<"ProtoView">;
using Node = MessageObject<"Node">;
using Attribute = MessageObject<"Attribute">;
using ValueInfo = MessageObject<"ValueInfo">;
using Tensor = MessageObject<"Tensor">;
using SparseTensor = MessageObject<"SparseTensor">;

/// A function of a model, with the model layer's view of its nodes.
struct Function : Handle {
    static constexpr auto kClassName = py::detail::const_name("Function");
    Remade<model::NodeValues> remade = {};

    [[nodiscard]] std::shared_ptr<const model::NodeValues> node_values() const {
        return remade.get(*document, [&] {
            return std::make_shared<const model::NodeValues>(document, message());
        });
    }
};

/// A graph, with the model layer's view of it.
struct Graph : Handle {
    static constexpr auto kClassName = py::detail::const_name("Graph");
    Remade<model::Graph> remade = {};

    [[nodiscard]] std::shared_ptr<const model::Graph> graph() const {
        return remade.get(
            *document, [&] { return std::make_shared<const model::Graph>(document, message()); });
    }
    [[nodiscard]] std::shared_ptr<const model::NodeValues> node_values() const { return graph(); }
};

/// The tensors of a graph by name. What is made of the graph is shared with the graph's object.
struct Initializers : Graph {
    static constexpr auto kClassName = py::detail::const_name("Initializers");
};
struct SparseInitializers : Graph {
    static constexpr auto kClassName = py::detail::const_name("SparseInitializers");
};

/// A repeated message field as a lazy sequence: elements are made on access.
struct MessageList : ListHandle {
    using ListHandle::ListHandle;
    static constexpr auto kClassName = py::detail::const_name("MessageList");
    Remade<model::MessageList> remade = {};

    [[nodiscard]] std::shared_ptr<const model::MessageList> messages() const {
        return remade.get(*document, [&] {
            return std::make_shared<const model::MessageList>(document->index(message()), *row);
        });
    }
};

/// The unknown fields of a message, or all fields of an unknown group, as a lazy sequence.
struct UnknownFieldList {
    static constexpr auto kClassName = py::detail::const_name("UnknownFieldList");
    DocumentPtr document;
    std::shared_ptr<const model::UnknownFields> fields;
};

}  // namespace onnxmap::bindings

namespace pybind11::detail {

/// pybind11 would pass a null pointer for None, which no function expects.
template <>
class type_caster<onnxmap::bindings::DocumentPtr>
    : public copyable_holder_caster<const onnxmap::model::Document,
                                    onnxmap::bindings::DocumentPtr> {
  public:
    bool load(handle source, bool convert) {
        return !source.is_none() && copyable_holder_caster::load(source, convert);
    }
};

}  // namespace pybind11::detail
