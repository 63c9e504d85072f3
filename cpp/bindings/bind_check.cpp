// Checking models, and the rules.
#include <pybind11/stl.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "check/check.hpp"
#include "check/rules.hpp"

namespace onnxmap::bindings {

namespace {

py::list rules() {
    constexpr std::array kLevels = {"error", "warning", "hint", "strict"};  // of check::Level
    constexpr std::array kRequirements = {"MUST", "SHOULD", "readers differ", "advice"};
    return list_of(check::rules(), [&](const check::RuleInfo& rule) {
        return py::make_tuple(to_str(rule.name), kLevels.at(static_cast<std::size_t>(rule.level)),
                              kRequirements.at(static_cast<std::size_t>(rule.requirement)),
                              to_str(rule.source), to_str(rule.text), to_str(rule.advice));
    });
}

py::tuple check_rules(const ProtoView& root, std::vector<bool> wanted, std::uint64_t most,
                      bool values) {
    const model::Document& document = *root.document;
    if (!root.message().is(document.root())) {
        throw py::value_error("the message is a part of another one");
    }
    if (wanted.size() != check::rules().size()) throw py::value_error("one flag for each rule");
    const check::Findings findings =
        without_lock([&] { return check::check(document, {std::move(wanted), most, values}); });
    const py::list found = list_of(findings.found(), [](const check::Finding& each) {
        return py::make_tuple(static_cast<std::size_t>(each.rule), to_str(each.where),
                              to_str(each.message));
    });
    return py::make_tuple(found, findings.counts());
}

}  // namespace

void bind_check(py::module_& module) {
    module.def("rules", rules,
               "Return the rules that check_rules() knows: name, level, requirement, source, "
               "text, advice.");
    module.def("check_rules", guarded(check_rules), py::arg("root"), py::arg("wanted"),
               py::arg("most"), py::arg("values"),
               "Return the findings in a model (rule, path, message), and how many each rule has.");
}

}  // namespace onnxmap::bindings
