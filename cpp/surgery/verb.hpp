// What each verb opens before it edits.
#pragma once

#include <utility>

#include "model/document.hpp"
#include "model/edit_message.hpp"
#include "onnx/message.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::surgery {

/// Calls work(), which edits a model, or one graph or function of it. Reads of the loaded file are
/// below a guard, and names that work() has views of stay in memory until it ends. Throws Error
/// `file.changed`, and `edit.removed` if `edited` is no longer part of the model.
template <class Work>
decltype(auto) run_verb(const model::Document& document, const onnx::Message& edited, Work&& work) {
    static_cast<void>(document.check_for_changes());
    model::check_editable(document, edited);
    const model::Edits::KeptFields kept(document.editable());
    return source::guard_reads(document.source(), std::forward<Work>(work));
}

template <class Work>
decltype(auto) run_verb(const model::Document& document, Work&& work) {
    return run_verb(document, document.root(), std::forward<Work>(work));
}

}  // namespace onnxmap::surgery
