// Graphs. Whole columns are read in one call, since a Python loop over nodes costs more than the
// reading.
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/list_names.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/shared_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "model/graph.hpp"
#include "model/tensor.hpp"
#include "tensor/payload.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

namespace {

// Making hundreds of thousands of lists would start garbage collections that find nothing.
class GarbageCollectionPause {
  public:
    GarbageCollectionPause() : was_enabled_(PyGC_Disable() == 1) {}
    ~GarbageCollectionPause() {
        if (was_enabled_) PyGC_Enable();
    }
    GarbageCollectionPause(const GarbageCollectionPause&) = delete;
    GarbageCollectionPause& operator=(const GarbageCollectionPause&) = delete;

  private:
    bool was_enabled_;
};

// A list of `count` objects, which for_each passes to its argument one by one.
template <class ForEach>
py::list column(const Graph& self, std::uint64_t count, ForEach&& for_each) {
    static_cast<void>(self.document->look_for_changes());
    const GarbageCollectionPause pause;
    py::list values(count);
    py::ssize_t i = 0;
    for_each([&](py::object value) { PyList_SET_ITEM(values.ptr(), i++, value.release().ptr()); });
    return values;
}

// A list of make(node) for each node.
template <class Make>
py::list node_column(const Graph& self, Make&& make) {
    const auto graph = self.graph();
    return column(self, graph->node_count(), [&](auto&& append) {
        graph->for_each_node([&](const model::Node& node) { append(make(node)); });
    });
}

// A list of make(tensor, header) for each initializer.
template <class Make>
py::list tensor_column(const Graph& self, Make&& make) {
    const auto graph = self.graph();
    const model::Initializers& initializers = graph->initializers();
    return column(self, initializers.count(), [&](auto&& append) {
        initializers.for_each([&](const onnx::Message& tensor) {
            append(make(tensor, tensor::read_header(tensor)));
        });
    });
}

py::list op_types(const Graph& self) {
    SharedObjects share;
    return node_column(self, [&](const model::Node& node) -> py::object {
        const std::string_view op_type = node.op_type();
        return share(op_type, [&] { return to_str(op_type); });
    });
}

py::dict op_counts(const Graph& self) {
    static_cast<void>(self.document->look_for_changes());
    py::dict result;
    const auto graph = self.graph();
    for (const auto& [op_type, count] : graph->op_counts()) result[to_str(op_type)] = count;
    return result;
}

py::list node_names(const Graph& self) {
    return node_column(self, [](const model::Node& node) { return to_str(node.name()); });
}

// A list that for_each(append) fills with texts.
template <class ForEach>
py::list texts(ForEach&& for_each) {
    py::list found;
    for_each([&](std::string_view text) {
        const py::str item = to_str(text);
        if (PyList_Append(found.ptr(), item.ptr()) != 0) throw py::error_already_set();
    });
    return found;
}

py::list node_inputs(const Graph& self) {
    return node_column(self, [](const model::Node& node) {
        return texts([&](auto&& append) { node.for_each_input(append); });
    });
}

py::list node_outputs(const Graph& self) {
    return node_column(self, [](const model::Node& node) {
        return texts([&](auto&& append) { node.for_each_output(append); });
    });
}

py::list initializer_names(const Graph& self) {
    const auto graph = self.graph();
    const model::Initializers& initializers = graph->initializers();
    return column(self, initializers.count(), [&](auto&& append) {
        initializers.for_each_name([&](std::string_view name) { append(to_str(name)); });
    });
}

py::list shapes(const Graph& self) {
    SharedObjects share;
    return tensor_column(self, [&](const onnx::Message&, const tensor::Header& header) {
        const auto dims = header.dims();
        const std::string_view key(reinterpret_cast<const char*>(dims.data()), dims.size_bytes());
        return share(key, [&] { return to_tuple(dims); });
    });
}

py::list dtypes(const Graph& self) {
    return tensor_column(self, [](const onnx::Message&, const tensor::Header& header) {
        return data_type_or_int(header.data_type);
    });
}

py::list nbytes(const Graph& self) {
    return tensor_column(self, [](const onnx::Message& tensor, const tensor::Header& header) {
        return py::int_(tensor::stored_nbytes(tensor, header));
    });
}

std::uint64_t total_nbytes(const Graph& self) {
    static_cast<void>(self.document->look_for_changes());
    return self.graph()->initializers().stored_nbytes();
}

// Makes the arrays of one call. Neighbours nearly always share a source, and therefore an owner.
class ViewMaker {
  public:
    explicit ViewMaker(const Graph& graph) : since_(graph.document->look_for_changes()) {}

    py::object operator()(const model::Tensor& tensor) {
        return tensor.naming([&] {
            tensor::Values values = find(tensor);
            if (&values.source() != source_) {
                owner_ = py::object();
                source_ = &values.source();
            }
            return array_of(values, owner_);
        });
    }

    /// Finds the values and checks them, but makes no array.
    tensor::Values find(const model::Tensor& tensor) const {
        // The lock is kept for external tensors: only the first of them opens the file.
        return without_lock_if(tensor.header().has_segment, [&] { return tensor.values(since_); });
    }

  private:
    source::Moment since_;
    const source::Source* source_ = nullptr;
    py::object owner_;
};

py::dict views(const Graph& self) {
    const GarbageCollectionPause pause;
    ViewMaker make_view(self);
    py::dict views;
    py::ssize_t count = 0;
    const auto graph = self.graph();
    graph->initializers().insert_named([&](const model::Tensor& tensor) {
        const py::str name = to_str(tensor.header().name);
        if (tensor.header().has_segment && views.contains(name)) {
            std::ignore = make_view.find(tensor);  // read together with the first segment
            return false;
        }
        const py::object view = make_view(tensor);
        if (PyDict_SetItem(views.ptr(), name.ptr(), view.ptr()) != 0) {
            throw py::error_already_set();
        }
        return PyDict_Size(views.ptr()) == ++count;
    });
    return views;
}

py::dict views_at(const Graph& self, const std::vector<std::uint32_t>& positions) {
    ViewMaker make_view(self);
    py::dict views;
    const auto graph = self.graph();
    // In the order of the caller, so that the first error is that of the first name.
    for (const std::uint32_t position : positions) {
        const model::Tensor tensor(*self.document, graph->initializers().at(position));
        views[to_str(tensor.header().name)] = make_view(tensor);
    }
    return views;
}

py::object initializer(const Graph& self, std::uint64_t position) {
    return py::cast(Tensor{{self.document, self.graph()->initializers().at(position)}});
}

void bind_columns(GuardedClass<Graph>& cls) {
    cls.def("op_types", op_types, "Return the op_type of each node.")
        .def("op_counts", op_counts, "Return how often each op_type occurs, the commonest first.")
        .def("node_names", node_names)
        .def("node_inputs", node_inputs)
        .def("node_outputs", node_outputs)
        .def("initializer_names", initializer_names)
        .def("initializer_shapes", shapes)
        .def("initializer_dtypes", dtypes)
        .def("initializer_nbytes", nbytes)
        .def("total_nbytes", total_nbytes)
        .def("views", views)
        .def("views_at", views_at, py::arg("positions"));
}

// The names keep their graph, which is made again after an edit.
std::shared_ptr<const model::ListNames> names_of(const TensorNames& self) {
    auto graph = self.graph.graph();
    const model::ListNames& names =
        self.sparse ? graph->sparse_initializer_names() : graph->initializers().names();
    return {std::move(graph), &names};
}

bool contains(const TensorNames& self, const py::object& name) {
    if (self.sparse) return has_name(*names_of(self), name);
    const auto text = name_in_file(name);
    return text && self.graph.graph()->initializers().contains(*text);
}

std::uint32_t position(const TensorNames& self, const py::object& name) {
    const auto text = self.sparse ? std::nullopt : name_in_file(name);
    if (text) {
        if (const auto found = self.graph.graph()->initializers().position(*text)) return *found;
    }
    return position_of(*names_of(self), name);
}

void bind_tensor_names(py::module_& module) {
    GuardedClass<TensorNames> cls(module, "TensorNames",
                                  "The names of a graph's initializers, without repetition.");
    cls.def("__len__",
            [](const TensorNames& self) -> std::uint64_t {
                if (self.sparse) return names_of(self)->count();
                return self.graph.graph()->initializers().name_count();
            })
        .def("__contains__", contains, py::arg("name"))
        .def(
            "names", [](const TensorNames& self) { return to_list(*names_of(self)); },
            "Return the names in file order.")
        .def("position", position, py::arg("name"),
             R"(Return the position of a name in the list of initializers.

Raises:
    KeyError: no initializer has the name; the error suggests others.
    ParseError: `model.duplicate_name`: several tensors that are not segments of one tensor have
        the name.)")
        .def(
            "in_segments",
            [](const TensorNames& self, const py::object& name) {
                const auto tensor = self.graph.graph()->initializers().at(position(self, name));
                return model::Tensor(*self.document, tensor).header().has_segment;
            },
            py::arg("name"), "Return whether the tensor of this name is stored in segments.")
        .def(
            "positions", [](const TensorNames& self) { return names_of(self)->positions(); },
            R"(Return the position of each name, in file order.

Raises:
    ParseError: `model.duplicate_name`, as for position().)")
        .def(
            "read",
            [](const TensorNames& self, bool frugal) {
                const auto graph = self.graph.graph();
                if (!self.sparse) graph->initializers().read_names(frugal);
            },
            py::arg("frugal"),
            R"(Read the names now.

Args:
    frugal: release the pages that reading the names maps.)");
}

}  // namespace

void bind_graph(py::module_& module) {
    bind_tensor_names(module);
    GuardedClass<Graph> cls(module, "Graph", "The graph that onnxmap.Graph wraps.");
    bind_columns(cls);
    bind_graph_values(cls);
    bind_page_cache(cls);
    cls.def_property_readonly(
           "initializer_count",
           [](const Graph& self) { return self.graph()->initializers().count(); })
        .def("initializer", initializer, py::arg("position"))
        .def(
            "names",
            [](const Graph& self, bool sparse) { return TensorNames{self.document, self, sparse}; },
            py::arg("sparse"))
        .def(
            "field",
            [](const Graph& self, std::string_view name) {
                return friendly_value(self, row_named(self, name));
            },
            py::arg("name"),
            "Return the value of a field in the form in which Node, Graph and the other "
            "classes give it.")
        .def("set_field",
             unguarded([](const Graph& self, std::string_view name, const py::object& value) {
                 set_friendly(self, row_named(self, name), value);
             }),
             py::arg("name"), py::arg("value"),
             "Set a field from its value in that form; see set_friendly().")
        .def(
            "training_info",
            [](const Graph& self) {
                py::list found;
                for (auto& each : model::training_info_of(*self.document, self.message())) {
                    found.append(ProtoView{{self.document, std::move(each)}});
                }
                return found;
            },
            "Return the training information of the model, if this is its main graph.")
        .def_property_readonly(
            "is_removed",
            [](const Graph& self) { return self.document->edits().is_removed(self.made); },
            "Whether the graph was removed from its model.")
        .def_property_readonly("proto", [](const Graph& self) { return ProtoView{self}; });
}

}  // namespace onnxmap::bindings
