#include "check/check.hpp"

#include "check/checking.hpp"
#include "check/model_check.hpp"
#include "check/operator_set_check.hpp"
#include "onnx/schema.hpp"
#include "source/read_guard.hpp"
#include "tensor/store.hpp"

namespace onnxmap::check {

Findings check(const model::Document& document, const Options& options) {
    Findings findings(options.wanted, options.most);
    const tensor::OverlookNothing strictly;
    const source::Moment moment = document.look_for_changes();
    source::guard_reads(document.source(), [&] {
        Checking checking{document, findings, moment, options.values};
        const Place root{nullptr, nullptr};
        if (document.is_model()) {
            check_model(checking, document.root(), root);
        } else {
            check_operator_set(checking, document.root(), root);
        }
    });
    static_cast<void>(document.look_for_changes());
    return findings;
}

}  // namespace onnxmap::check
