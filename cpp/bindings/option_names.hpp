// The names of the options of `load` that choose one of several ways. The package accepts these
// names. Its types for type checkers repeat them, and a test compares the two.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <string>
#include <string_view>

#include "contain/contained_open.hpp"
#include "source/source.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

template <class Value>
struct Choice {
    std::string_view name;
    Value value;
};

inline constexpr std::array<Choice<contain::LinkPolicy>, 3> kLinkPolicies{{
    {"contained", contain::LinkPolicy::contained},
    {"strict", contain::LinkPolicy::strict},
    {"trusted", contain::LinkPolicy::trusted},
}};
inline constexpr std::array<Choice<source::IoMode>, 3> kIoModes{{
    {"auto", source::IoMode::automatic},
    {"mmap", source::IoMode::mmap},
    {"read", source::IoMode::read},
}};
// Whether the load checks packed runs.
inline constexpr std::array<Choice<bool>, 2> kChecks{{{"full", true}, {"lazy", false}}};

/// The value of the choice with this name. Throws ValueError.
template <class Choices>
[[nodiscard]] auto value_named(const Choices& choices, std::string_view name) {
    for (const auto& choice : choices) {
        if (choice.name == name) return choice.value;
    }
    throw py::value_error("no option is named " + std::string(name));
}

/// The name of a value, which must have one.
template <class Choices>
[[nodiscard]] std::string_view name_of(const Choices& choices, auto value) {
    const auto* found = choices.data();
    while (found->value != value) ++found;
    return found->name;
}

/// All names, in the order of an error text.
template <class Choices>
[[nodiscard]] py::tuple choice_names(const Choices& choices) {
    py::tuple names(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i) names[i] = py::str(choices[i].name);
    return names;
}

}  // namespace onnxmap::bindings
