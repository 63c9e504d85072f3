// Checking models, and the rules.
#include <pybind11/stl.h>

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

std::string_view name_of(check::Level level) noexcept {
    switch (level) {
        case check::Level::error: return "error";
        case check::Level::warning: return "warning";
        case check::Level::hint: return "hint";
        case check::Level::strict: return "strict";
    }
    return {};
}

py::list rules() {
    py::list all;
    for (const check::RuleInfo& rule : check::rules()) {
        all.append(py::make_tuple(to_str(rule.name), to_str(name_of(rule.level)),
                                  to_str(rule.source), to_str(rule.text), to_str(rule.advice)));
    }
    return all;
}

py::tuple check_rules(const ProtoView& root, std::vector<bool> wanted, std::uint64_t most,
                      bool values) {
    const model::Document& document = *root.document;
    if (!root.message().is(document.root())) {
        throw py::value_error("the message is a part of another one");
    }
    if (wanted.size() != check::rules().size()) throw py::value_error("one flag for each rule");
    const check::Findings findings = without_lock_if(
        true, [&] { return check::check(document, {std::move(wanted), most, values}); });
    py::list found;
    for (const check::Finding& each : findings.found()) {
        found.append(py::make_tuple(static_cast<std::size_t>(each.rule), to_str(each.where),
                                    to_str(each.message)));
    }
    return py::make_tuple(found, findings.counts());
}

}  // namespace

void bind_check(py::module_& module) {
    module.def("rules", rules,
               "Return the rules that check_rules() knows: name, level, source, text, advice.");
    module.def("check_rules", guarded(check_rules), py::arg("root"), py::arg("wanted"),
               py::arg("most"), py::arg("values"),
               "Return the findings in a model (rule, path, message), and how many each rule has.");
}

}  // namespace onnxmap::bindings
