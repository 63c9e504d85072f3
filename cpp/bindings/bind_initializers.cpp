// Initializers: tensors of a graph by name.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/columns.hpp"
#include "bindings/editing.hpp"
#include "bindings/initializer_class.hpp"
#include "bindings/initializer_names.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/renaming.hpp"
#include "bindings/shared_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "edit/initializers.hpp"
#include "model/graph.hpp"
#include "model/tensor.hpp"
#include "onnx/data_type.hpp"
#include "tensor/payload.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

namespace {

// A list of make(tensor, header) for each initializer.
template <class Make>
py::list tensor_column(const Initializers& self, Make&& make) {
    const auto graph = self.graph();
    const model::Initializers& initializers = graph->initializers();
    return column(self, initializers.count(), [&](auto&& append) {
        initializers.for_each([&](const onnx::Message& tensor) {
            append(make(tensor, tensor::read_header(tensor)));
        });
    });
}

py::list names(const Initializers& self) {
    const auto graph = self.graph();
    const model::Initializers& initializers = graph->initializers();
    return column(self, initializers.count(), [&](auto&& append) {
        initializers.for_each_name([&](std::string_view name) { append(to_str(name)); });
    });
}

py::list shapes(const Initializers& self) {
    SharedObjects share;
    return tensor_column(self, [&](const onnx::Message&, const tensor::Header& header) {
        const auto dims = header.dims();
        const std::string_view key(reinterpret_cast<const char*>(dims.data()), dims.size_bytes());
        return share(key, [&] { return to_tuple(dims); });
    });
}

py::list dtypes(const Initializers& self) {
    return tensor_column(self, [](const onnx::Message&, const tensor::Header& header) {
        return data_type_or_int(header.data_type);
    });
}

py::list nbytes(const Initializers& self) {
    return tensor_column(self, [](const onnx::Message& tensor, const tensor::Header& header) {
        return py::int_(tensor::stored_nbytes(tensor, header));
    });
}

std::uint64_t total_nbytes(const Initializers& self) {
    static_cast<void>(self.document->check_for_changes());
    return self.graph()->initializers().stored_nbytes();
}

// Makes the arrays of one call. Neighbours nearly always share a source, and therefore an owner.
class ViewMaker {
  public:
    explicit ViewMaker(const Initializers& self) : since_(self.document->check_for_changes()) {}

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
    source::Timestamp since_;
    const source::Source* source_ = nullptr;
    py::object owner_;
};

py::dict all_views(const Initializers& self) {
    const GarbageCollectionPause pause;
    ViewMaker make_view(self);
    py::dict views;
    py::ssize_t count = 0;
    const auto graph = self.graph();
    graph->initializers().insert_named([&](const model::Tensor& tensor) {
        const py::str name = to_str(tensor.header().name);
        if (tensor.header().has_segment && views.contains(name)) {
            static_cast<void>(make_view.find(tensor));  // read together with the first segment
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

py::dict views(const Initializers& self, const py::object& names) {
    if (names.is_none()) return below_guard(self, [&] { return all_views(self); });
    const auto selected = select_tensors(self, names);
    return below_guard(self, [&] {
        ViewMaker make_view(self);
        py::dict views;
        // In the order of the caller, so that the first error is that of the first name.
        for (const std::uint32_t position : selected.positions) {
            const model::Tensor tensor(*self.document, selected.list().at(position));
            views[to_str(tensor.header().name)] = make_view(tensor);
        }
        return views;
    });
}

// Throws KeyError if there is none of that name.
edit::Initializer named(const Initializers& self, const py::object& name) {
    return below_guard(self, [&] {
        const auto graph = self.graph();
        const model::Initializers& list = graph->initializers();
        return edit::initializer_at(self, list, position_of(list, name));
    });
}

}  // namespace

// Gives the initializer of a name the values of a new tensor, which is changed, or adds it at the
// end. Throws TypeError and ValueError for a name that none can have.
void set_item(const Initializers& self, const py::object& name, const py::object& made) {
    check_new_name(name);
    const Handle tensor = message_for("TensorProto", made);
    std::optional<edit::Initializer> before;
    if (below_guard(self, [&] { return has_name(self, name); })) {
        before = named(self, name);
    } else {
        check_free<SparseInitializers>(self, name, "sparse_initializers");
    }
    edit::put_initializer(self, to_text(name), tensor, before);
}

// Removes the initializer of a name, all its segments. Throws KeyError, and ValueError if its value
// is used.
void remove_item(const Initializers& self, const py::object& name) {
    check_unused(self, name);
    splice(self, row_named(self, "initializer"), {}, named(self, name).positions);
}

namespace {

// Another thread may have given it another type or shape since `made` was made.
bool replace_values(const Initializers& self, const py::object& name, const ProtoView& made) {
    const edit::Initializer before = named(self, name);
    if (!edit::is_alike(before.tensor, made)) return false;
    edit::put_initializer(self, {}, made, before);
    return true;
}

}  // namespace

void bind_initializers(py::module_& module) {
    auto cls = bind_by_name<Initializers>(module, "Initializers", "initializer",
                                          R"(The initializers of a graph by name, in file order.

Assigning an array, a Tensor, a TensorProto or a torch tensor replaces the tensor; a new name goes to
the end. Arrays of 4096 bytes or more are not copied: keep them unchanged until a save.

Keys are unique. If several initializers have the same name, looking it up raises ParseError
`model.duplicate_name`, unless they are the segments of one tensor. `all()` yields each of them, and
the unnamed ones.)");
    cls.def("names", names, "Return the name of each initializer of `all()`, in one call.")
        .def("shapes", shapes,
             "Return the stored shape of each initializer of `all()`, in one call.")
        .def("dtypes", dtypes,
             "Return the DataType of each initializer of `all()`; an int if ONNX has no such type.")
        .def("nbytes", nbytes, "Return the stored size of each initializer of `all()`, in bytes.")
        .def("views", unguarded(views), py::arg("names") = py::none(),
             "Return the initializers as read-only arrays by name; see `Model.views`.")
        .def("_replace", edits(replace_values), py::arg("name"), py::arg("made"),
             "Give an initializer the values of a new tensor. Return False, and change nothing, if "
             "the type or shape differ. Raise KeyError if there is none.")
        .def("_rename", guarded_edits([](const Initializers& self, const py::dict& new_names) {
                 rename_values(self, model::Renaming::Of::initializers, new_names);
             }),
             py::arg("new_names"), "Rename initializers by their old names.")
        .def("_selected", selected_names, py::arg("names"),
             "Return the names that the argument of a bulk call selects; see `Model.views`.")
        .def_property_readonly("_stored_nbytes", total_nbytes,
                               "The stored size of all initializers, in bytes.");
    bind_page_cache(cls);
}

}  // namespace onnxmap::bindings
