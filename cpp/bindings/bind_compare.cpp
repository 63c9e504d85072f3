// The differences between two models, as plain tuples, of which onnxmap._diff makes its objects.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "compare/model_difference.hpp"
#include "os/parallel.hpp"

namespace onnxmap::bindings {

namespace {

using compare::Change;
using compare::Differences;
using compare::TensorDifference;

constexpr std::chrono::milliseconds kDiffLooksEvery{50};

constexpr std::array<const char*, 4> kKinds = {"added", "removed", "moved", "changed"};
constexpr std::array<const char*, compare::kSections> kSectionNames = {
    "metadata", "opset_imports", "inputs", "outputs", "nodes", "functions", "tensors", "other",
};

py::object path_or_none(const std::string& text) {
    return text.empty() ? py::object(py::none()) : py::object(to_str(text));
}

struct DiffValueToPython {
    py::object operator()(std::monostate) const { return py::none(); }
    py::object operator()(std::int64_t number) const { return py::int_(number); }
    py::object operator()(std::uint64_t number) const { return py::int_(number); }
    py::object operator()(double number) const { return py::float_(number); }
    py::object operator()(const compare::Text& text) const { return to_str(text.text); }
    py::object operator()(const compare::Bytes& bytes) const { return py::bytes(bytes.bytes); }
    py::object operator()(const compare::Scalar& scalar) const { return std::visit(*this, scalar); }
    py::object operator()(const compare::List& list) const {
        py::tuple values(list.values.size() + (list.cut ? 1 : 0));
        for (std::size_t i = 0; i < list.values.size(); ++i) values[i] = (*this)(list.values[i]);
        if (list.cut) values[list.values.size()] = py::ellipsis();
        return values;
    }
};

py::tuple diff_to_python(const Change& change) {
    return py::make_tuple(kKinds.at(static_cast<std::size_t>(change.kind)),
                          path_or_none(change.in_a), path_or_none(change.in_b),
                          std::visit(DiffValueToPython(), change.a),
                          std::visit(DiffValueToPython(), change.b));
}

py::object diff_to_python(const std::optional<TensorDifference::Side>& side) {
    if (!side) return py::none();
    return py::make_tuple(to_str(side->name), data_type_or_int(side->data_type),
                          to_tuple(side->dims));
}

py::object diff_to_python(const std::optional<compare::Largest>& largest) {
    if (!largest) return py::none();
    return py::make_tuple(std::visit(DiffValueToPython(), largest->number), largest->at);
}

py::object diff_to_python(const std::optional<TensorDifference>& tensor) {
    if (!tensor) return py::none();
    py::object elements = py::none();
    if (tensor->elements) {
        const auto& found = *tensor->elements;
        elements = py::make_tuple(found.count, found.changed, found.nan_changed,
                                  diff_to_python(found.absolute), diff_to_python(found.relative));
    }
    return py::make_tuple(diff_to_python(tensor->a), diff_to_python(tensor->b), tensor->renamed,
                          elements, path_or_none(tensor->failure));
}

py::tuple diff_to_python(const compare::Item& item) {
    py::list changes;
    for (const Change& change : item.changes) changes.append(diff_to_python(change));
    return py::make_tuple(kSectionNames.at(static_cast<std::size_t>(item.section)),
                          path_or_none(item.in_a), path_or_none(item.in_b), to_str(item.name),
                          to_str(item.name_in_b), to_str(item.op_type), to_str(item.op_type_in_b),
                          item.moved, changes, diff_to_python(item.tensor));
}

py::tuple diff_to_python(const Differences& differences) {
    py::list changes;
    for (const auto& [section, change] : differences.changes) {
        changes.append(py::make_tuple(kSectionNames.at(static_cast<std::size_t>(section)),
                                      diff_to_python(change)));
    }
    py::list items;
    for (const compare::Item& item : differences.items) items.append(diff_to_python(item));
    return py::make_tuple(changes, items, differences.left_out);
}

std::unique_ptr<compare::ModelDifference> compare_models(const DocumentPtr& a, const DocumentPtr& b,
                                                         unsigned threads) {
    std::unique_ptr<compare::ModelDifference> made;
    const WithoutLock unlocked;
    os::work_while_looking(
        {threads}, kDiffLooksEvery,
        [&] { made = std::make_unique<compare::ModelDifference>(a, b); },
        [] {
            const WithLock locked;
            check_signals();
        });
    return made;
}

py::tuple finish_diff(compare::ModelDifference& self, unsigned threads, const py::object& tell) {
    Differences found;
    {
        const WithoutLock unlocked;
        std::atomic<std::uint64_t> done = 0;
        os::work_while_looking(
            {threads}, kDiffLooksEvery, [&] { found = self.finish(done); },
            [&] {
                const WithLock locked;
                check_signals();
                if (!tell.is_none()) tell(done.load(std::memory_order_relaxed));
            });
    }
    return diff_to_python(found);
}

}  // namespace

void bind_compare(py::module_& module) {
    py::class_<compare::ModelDifference>(module, "ModelDifference",
                                         "Two models that are being compared; see onnxmap.diff.")
        .def_property_readonly(
            "nbytes", &compare::ModelDifference::nbytes,
            "The bytes of the large tensors of each model, which finish() compares.")
        .def("finish", finish_diff, py::arg("threads"), py::arg("tell"),
             R"(Compare the large tensors and return what differs. Call it once.

Args:
    threads: how many threads compare; 0 for as many as help.
    tell: None, or a function that is called with the bytes done, some 20 times a second.

Returns:
    Changes outside of items, items, and how many differences were left out.)");
    module.def("compare_models", guarded(compare_models), py::arg("a"), py::arg("b"),
               py::arg("threads"), "Walk over two models and note what differs.");
}

}  // namespace onnxmap::bindings
