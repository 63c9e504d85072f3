// What a save asks of its caller, which may be Python.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnxmap::save {

struct Callbacks {
    /// Whether all characters of a name can be seen. Only Python knows all of Unicode.
    std::function<bool(std::string_view)> is_printable;
    /// The external locations in a model that is a text, by its path; nothing if the file is no
    /// text. Throws Failure if nobody can read it.
    std::function<std::optional<std::vector<std::string>>(const std::string&)> locations_in_text;
    std::function<void()> look = [] {};  // called in long work; may throw
};

}  // namespace onnxmap::save
