// Graphs: whole columns in one call, since a Python loop over nodes costs more than the reading.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/shared_objects.hpp"
#include "model/structure_pages.hpp"
#include "model/tensor_path.hpp"
#include "tensor/header.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

using onnx::field;
using onnx::message;

namespace {

// Lists by the hundred thousand would set off collections that can find nothing.
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

constexpr const wire::FieldRow& kNode = field<"GraphProto.node">;
constexpr const wire::FieldRow& kInitializer = field<"GraphProto.initializer">;

// Appends make(element message) for each occurrence of a repeated message field.
template <class Make>
py::list column(const Graph& graph, const wire::FieldRow& row, Make&& make) {
    static_cast<void>(graph.document->look_for_changes());
    const GarbageCollectionPause pause;
    py::list values(graph.index->count(row));
    py::ssize_t i = 0;
    graph.index->for_each(row, [&](const wire::Field& element) {
        py::object value = make(onnx::Message(onnx::kSchema.message_of(row), element.bytes));
        PyList_SET_ITEM(values.ptr(), i++, value.release().ptr());
    });
    return values;
}

py::list op_types(const Graph& graph) {
    SharedObjects share;
    return column(graph, kNode, [&](const onnx::Message& node) -> py::object {
        const std::string_view op_type = node.text(field<"NodeProto.op_type">);
        return share(op_type, [&] { return to_str(op_type); });
    });
}

py::dict op_counts(const Graph& graph) {
    static_cast<void>(graph.document->look_for_changes());
    SharedObjects share;
    py::dict positions;                                        // Python's hash is seeded
    std::vector<std::pair<py::object, std::uint64_t>> counts;  // by first occurrence
    graph.index->for_each(kNode, [&](const wire::Field& element) {
        const onnx::Message node(message<"NodeProto">, element.bytes);
        const std::string_view text = node.text(field<"NodeProto.op_type">);
        const py::object op_type = share(text, [&] { return to_str(text); });
        if (!positions.contains(op_type)) {
            positions[op_type] = counts.size();
            counts.emplace_back(op_type, 0);
        }
        ++counts[positions[op_type].cast<std::size_t>()].second;
    });
    std::stable_sort(counts.begin(), counts.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    py::dict result;
    for (const auto& [op_type, count] : counts) result[op_type] = count;
    return result;
}

py::list text_column(const Graph& graph, const wire::FieldRow& row, const wire::FieldRow& text) {
    return column(graph, row, [&](const onnx::Message& element) -> py::object {
        return to_str(element.text(text));
    });
}

py::list initializer_names(const Graph& graph, bool frugal) {
    model::StructurePages pages(graph.document->source(), frugal);
    return column(graph, kInitializer, [&](const onnx::Message& tensor) -> py::object {
        py::object name = to_str(tensor.text(field<"TensorProto.name">));
        pages.looked_at(tensor.piece(0));
        return name;
    });
}

py::list text_lists(const Graph& graph, const wire::FieldRow& text) {
    return column(graph, kNode, [&](const onnx::Message& node) -> py::object {
        py::list texts;
        node.for_each_value(text, [&](const wire::Field& value) {
            const py::str item = to_str(value.text());
            if (PyList_Append(texts.ptr(), item.ptr()) != 0) throw py::error_already_set();
        });
        return texts;
    });
}

template <class Make>
py::list header_column(const Graph& graph, Make&& make) {
    return column(graph, kInitializer, [&](const onnx::Message& tensor) -> py::object {
        tensor::Header header;
        tensor::read_header(tensor, header);
        return make(tensor, header);
    });
}

py::list shapes(const Graph& graph) {
    SharedObjects share;
    return header_column(graph,
                         [&](const onnx::Message&, const tensor::Header& header) -> py::object {
                             const auto dims = header.dims();
                             const std::string_view key(reinterpret_cast<const char*>(dims.data()),
                                                        dims.size_bytes());
                             return share(key, [&] { return to_tuple(dims); });
                         });
}

py::list dtypes(const Graph& graph) {
    return header_column(graph, [](const onnx::Message&, const tensor::Header& header) {
        return data_type_or_int(header.data_type);
    });
}

py::list nbytes(const Graph& graph) {
    return header_column(graph, [](const onnx::Message& tensor, const tensor::Header& header) {
        return py::int_(tensor::stored_nbytes(tensor, header));
    });
}

py::list segments(const Graph& graph) {
    return header_column(graph, [](const onnx::Message&, const tensor::Header& header) {
        return py::bool_(header.has_segment);
    });
}

std::uint64_t total_nbytes(const Graph& graph) {
    static_cast<void>(graph.document->look_for_changes());
    std::uint64_t sum = 0;
    graph.index->for_each(kInitializer, [&](const wire::Field& element) {
        const onnx::Message tensor(message<"TensorProto">, element.bytes);
        tensor::Header header;
        tensor::read_header(tensor, header);
        sum += tensor::stored_nbytes(tensor, header);
    });
    return sum;
}

wire::Field initializer_at(const Graph& graph, std::uint64_t position) {
    if (position >= graph.index->count(kInitializer)) throw py::index_error("no such initializer");
    return graph.index->at(kInitializer, position);
}

// Makes the arrays of one call: neighbours nearly always share a source, and so an owner.
class ViewMaker {
  public:
    explicit ViewMaker(const Graph& graph)
        : graph_(graph), since_(graph.document->look_for_changes()) {}

    py::object operator()(const onnx::Message& tensor, const tensor::Header& header) {
        try {
            tensor::Values values = find(tensor, header);
            if (&values.source() != source_) {
                owner_ = py::object();
                source_ = &values.source();
            }
            return array_of(values, owner_);
        } catch (const Error& error) {
            throw model::with_tensor_path(error, *graph_.document, header.begin);
        }
    }

    /// Finds the values and checks them, but makes no array.
    tensor::Values find(const onnx::Message& tensor, const tensor::Header& header) const {
        if (!header.has_segment) return graph_.document->values(tensor, header, since_);
        const WithoutLock unlocked;  // the first segment that is read looks for all
        return graph_.document->values(tensor, header, since_);
    }

  private:
    const Graph& graph_;
    source::Moment since_;
    const source::Source* source_ = nullptr;
    py::object owner_;
};

[[noreturn]] void fail_duplicate(std::string_view name) {
    throw Error("model.duplicate_name", "more than one initializer is named " + quoted(name) +
                                            "; initializers.all() yields each");
}

py::dict views(const Graph& graph) {
    const GarbageCollectionPause pause;
    ViewMaker make_view(graph);
    py::dict views;
    Py_ssize_t count = 0;
    graph.index->for_each(kInitializer, [&](const wire::Field& element) {
        const onnx::Message tensor(message<"TensorProto">, element.bytes);
        tensor::Header header;
        tensor::read_header(tensor, header);
        if (header.name.empty()) return;
        const py::str name = to_str(header.name);
        // Another segment of a tensor that was read as a whole with its first.
        if (header.has_segment && views.contains(name)) {
            static_cast<void>(make_view.find(tensor, header));
            return;
        }
        const py::object view = make_view(tensor, header);
        if (PyDict_SetItem(views.ptr(), name.ptr(), view.ptr()) != 0) {
            throw py::error_already_set();
        }
        if (PyDict_Size(views.ptr()) != ++count) fail_duplicate(header.name);
    });
    return views;
}

py::dict views_at(const Graph& graph, const py::list& positions) {
    ViewMaker make_view(graph);
    py::dict views;
    for (const py::handle position : positions) {
        const wire::Field element = initializer_at(graph, position.cast<std::uint64_t>());
        const onnx::Message tensor(message<"TensorProto">, element.bytes);
        tensor::Header header;
        tensor::read_header(tensor, header);
        views[to_str(header.name)] = make_view(tensor, header);
    }
    return views;
}

py::object initializer(const Graph& graph, std::uint64_t position) {
    const wire::Field element = initializer_at(graph, position);
    return py::cast(Tensor{{graph.document, onnx::Message(message<"TensorProto">, element.bytes)}});
}

py::str singular_text(const Graph& graph, const wire::FieldRow& row) {
    const auto value = graph.index->last(row);
    return value ? to_str(value->text()) : py::str();
}

void bind_columns(GuardedClass<Graph>& cls) {
    cls.def("op_types", op_types, "op_type of each node.")
        .def("op_counts", op_counts, "How often each op_type occurs, the commonest first.")
        .def("node_names",
             [](const Graph& self) { return text_column(self, kNode, field<"NodeProto.name">); })
        .def("node_inputs",
             [](const Graph& self) { return text_lists(self, field<"NodeProto.input">); })
        .def("node_outputs",
             [](const Graph& self) { return text_lists(self, field<"NodeProto.output">); })
        .def("initializer_names", initializer_names, py::arg("frugal") = false,
             "`frugal`: pages that are looked at are given back.")
        .def("initializer_shapes", shapes)
        .def("initializer_dtypes", dtypes)
        .def("initializer_nbytes", nbytes)
        .def("total_nbytes", total_nbytes)
        .def("initializer_segments", segments)
        .def("views", views)
        .def("views_at", views_at, py::arg("positions"));
}

}  // namespace

void bind_graph(py::module_& module) {
    GuardedClass<Graph> cls(module, "Graph", "What onnxmap.Graph wraps.");
    bind_columns(cls);
    bind_page_cache(cls);
    cls.def_property_readonly("initializer_count",
                              [](const Graph& self) { return self.index->count(kInitializer); })
        .def("initializer", initializer, py::arg("position"))
        .def(
            "list",
            [](const Graph& self, std::string_view name) {
                const wire::FieldRow* row = message<"GraphProto">.find(name);
                if (row == nullptr || !row->repeated())
                    throw py::attribute_error(std::string(name));
                return MessageList{self.document, self.index, row, false};
            },
            py::arg("field"))
        .def(
            "text",
            [](const Graph& self, std::string_view name) {
                const wire::FieldRow* row = message<"GraphProto">.find(name);
                if (row == nullptr || row->repeated()) throw py::attribute_error(std::string(name));
                return singular_text(self, *row);
            },
            py::arg("field"))
        .def("metadata_props",
             [](const Graph& self) {
                 return read_only(string_map(self, field<"GraphProto.metadata_props">));
             })
        .def_property_readonly("proto", [](const Graph& self) { return ProtoView{self}; });
}

}  // namespace onnxmap::bindings
