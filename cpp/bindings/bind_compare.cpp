// The differences between two models, as plain tuples, of which the package makes its objects.
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/work_and_tell.hpp"
#include "compare/list_matching.hpp"
#include "compare/model_difference.hpp"

namespace onnxmap::bindings {

namespace {

using compare::Change;
using compare::Differences;
using compare::TensorDifference;

constexpr std::array<const char*, 4> kChanges = {"added", "removed", "moved", "changed"};
constexpr std::array<const char*, compare::kSections> kSectionNames = {
    "metadata", "opset_imports", "inputs", "outputs", "nodes", "functions", "tensors", "other",
};

struct DiffValueToPython {
    py::object operator()(std::monostate) const { return py::none(); }
    py::object operator()(auto number) const { return py::cast(number); }
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
    return py::make_tuple(kChanges.at(static_cast<std::size_t>(change.kind)),
                          to_str_or_none(change.in_a), to_str_or_none(change.in_b),
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
                          elements, to_str_or_none(tensor->failure));
}

py::tuple diff_to_python(const compare::Item& item) {
    py::list changes =
        list_of(item.changes, [](const Change& each) { return diff_to_python(each); });
    const bool only_b = item.in_a.empty();
    return py::make_tuple(kSectionNames.at(static_cast<std::size_t>(item.section)),
                          to_str(only_b ? item.name_in_b : item.name), to_str_or_none(item.in_a),
                          to_str_or_none(item.in_b), item.moved, changes,
                          to_str(only_b ? item.op_type_in_b : item.op_type),
                          diff_to_python(item.tensor));
}

py::tuple diff_to_python(const Differences& differences) {
    py::list changes = list_of(differences.changes, [](const auto& each) {
        return py::make_tuple(kSectionNames.at(static_cast<std::size_t>(each.first)),
                              diff_to_python(each.second));
    });
    py::list items =
        list_of(differences.items, [](const auto& each) { return diff_to_python(each); });
    return py::make_tuple(changes, items, differences.left_out);
}

bool& ignored(compare::Options& options, const std::string& word) {
    if (word == "metadata") return options.ignores_metadata;
    if (word == "docs") return options.ignores_docs;
    if (word == "names") return options.ignores_names;
    throw py::value_error("ignore takes metadata, docs and names, not " + word);
}

// `ignore`: a word, or several.
std::unique_ptr<compare::ModelDifference> compare_models(const DocumentPtr& a, const DocumentPtr& b,
                                                         unsigned threads, double atol, double rtol,
                                                         const py::object& ignore, bool cast) {
    if (!(atol >= 0 && rtol >= 0)) throw py::value_error("atol and rtol must be at least 0");
    compare::Options options{.absolute = atol, .relative = rtol, .casts = cast};
    const bool is_word = py::isinstance<py::str>(ignore);
    const py::object words = is_word ? py::object(py::make_tuple(ignore)) : ignore;
    for (const py::handle word : words) ignored(options, to_printable(py::str(word))) = true;
    std::unique_ptr<compare::ModelDifference> made;
    work_and_tell(threads, py::none(),
                  [&](auto&) { made = std::make_unique<compare::ModelDifference>(a, b, options); });
    return made;
}

py::tuple finish_diff(compare::ModelDifference& self, unsigned threads, const py::object& tell) {
    Differences found;
    work_and_tell(threads, tell, [&](auto& done) { found = self.finish(done); });
    return diff_to_python(found);
}

// The list keeps the bytes alive.
std::vector<std::string_view> keys_of(const py::list& list) {
    std::vector<std::string_view> keys;
    for (const py::handle each : list) {
        if (!py::isinstance<py::bytes>(each)) throw py::type_error("a key is bytes");
        keys.push_back(py::reinterpret_borrow<py::bytes>(each));
    }
    return keys;
}

py::list match_lists(const py::list& old_keys, const py::list& new_keys) {
    return list_of(compare::ascending_pairs(keys_of(old_keys), keys_of(new_keys)),
                   [](const auto& pair) { return py::make_tuple(pair.first, pair.second); });
}

}  // namespace

void bind_compare(py::module_& module) {
    py::class_<compare::ModelDifference>(module, "ModelDifference",
                                         "Two models that are being compared; see onnxmap.diff.")
        .def_property_readonly(
            "nbytes", [](const compare::ModelDifference& self) { return self.nbytes(); },
            "The bytes of the large tensors of each model, which finish() compares.")
        .def("finish", finish_diff, py::arg("threads"), py::arg("tell"),
             R"(Compare the large tensors and return what differs. Call it once.

Args:
    threads: how many threads compare; 0 for as many as help.
    tell: None, or a function that is called with the bytes done, some 20 times a second.

Returns:
    Changes outside of items, items, and how many differences were left out.)");
    module.def("match_lists", match_lists, py::arg("old"), py::arg("new"),
               R"(Return the positions of equal keys in two lists of bytes, as ascending pairs.

They are the ends of the lists, and as many as possible between them. There, a key that occurs twice
in a list has no partner.)");
    module.def("compare_models", guarded(compare_models), py::arg("a"), py::arg("b"),
               py::arg("threads"), py::arg("atol"), py::arg("rtol"), py::arg("ignore"),
               py::arg("cast"), "Walk over two models and note what differs; see `onnxmap.diff`.");
}

}  // namespace onnxmap::bindings
