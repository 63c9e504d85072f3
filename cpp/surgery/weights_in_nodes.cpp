#include "surgery/weights_in_nodes.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "model/edit_message.hpp"
#include "source/read_guard.hpp"
#include "surgery/assembly.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/inline_functions.hpp"
#include "surgery/lift_constants.hpp"

namespace onnxmap::surgery {

using onnx::field;
using save::PlanOptions;
using DocumentPtr = std::shared_ptr<const model::Document>;

namespace {

bool finds_weights(const DocumentPtr& document, PlanOptions options) {
    bool found = true;
    options.if_nothing = [&](const DocumentPtr&) { found = false; };
    try {
        save::SavePlan(std::move(options)).add({document});
    } catch (const std::exception&) {
        return false;  // the save fails for another reason, or reads less than this does
    }
    return found;
}

// Whether a save finds weights in a copy of a model whose Constant nodes are initializers.
bool finds_lifted(const model::Document& document, const PlanOptions& options, bool inlines) {
    const DocumentPtr made = empty_model(document);
    model::merge_from(*made, made->root(), {document, document.root()});
    const wire::FieldRow& version = field<"ModelProto.ir_version">;
    set_number(*made, made->root().current(), version,
               std::max(document.root().int64(version), kFirstWithFreeInitializers));
    try {
        if (inlines) static_cast<void>(inline_functions(*made, std::nullopt));
        static_cast<void>(lift_constants(*made, 0));
    } catch (const std::exception&) {  // the model has a fault
        return false;
    }
    return finds_weights(made, options);
}

}  // namespace

void refuse_if_in_nodes(const DocumentPtr& document, const PlanOptions& options) {
    PlanOptions tried = options;
    if (tried.external == PlanOptions::External::view) {
        tried.external = PlanOptions::External::file;  // no file has the copy
        tried.location = "weights";
    }
    source::guard_reads(document->source(), [&] {
        const bool in_graphs = finds_lifted(*document, tried, false);
        if (!in_graphs && !finds_lifted(*document, tried, true)) return;
        Error error("save.no_weights",
                    {"no initializer is affected, since the weights are in Constant nodes; ",
                     in_graphs ? "" : "inline_functions() and then ",
                     "lift_constants() can make them initializers"});
        tried.attributes = true;
        if (finds_weights(document, tried)) error.remedy = "attributes";
        throw error;
    });
}

}  // namespace onnxmap::surgery
