// Checks a document against the rules of the specification (rules.def), without reading values.
#pragma once

#include <cstdint>
#include <vector>

#include "check/findings.hpp"
#include "model/document.hpp"

namespace onnxmap::check {

struct Options {
    std::vector<bool> wanted;   // for each rule, whether to look for it
    std::uint64_t most = 1000;  // findings of a rule that are kept; the others are counted
    bool values = false;        // whether to read what only the values of tensors tell
};

/// All findings in a ModelProto or an OperatorSetProto. Reads no values of tensors, except in typed
/// fields of small ones; see Options::values. Linear in the size of the structure, however it is
/// nested and whatever names it has. Throws Error `file.changed`, and FileError.
[[nodiscard]] Findings check(const model::Document& document, const Options& options);

}  // namespace onnxmap::check
