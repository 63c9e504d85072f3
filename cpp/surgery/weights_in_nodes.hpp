// Weights that a save does not see, because they are in Constant nodes.
#pragma once

#include <memory>

#include "model/document.hpp"
#include "save/save_plan.hpp"

namespace onnxmap::surgery {

/// Throws Error `save.no_weights` if a save with these options, for which the model has no weights,
/// would find some after a call that the error names. It tries the calls on copies.
void refuse_if_in_nodes(const std::shared_ptr<const model::Document>& document,
                        const save::PlanOptions& options);

}  // namespace onnxmap::surgery
