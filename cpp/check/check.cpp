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
    const tensor::TolerateNothing strictly;
    const source::Timestamp timestamp = document.check_for_changes();
    source::guard_reads(document.source(), [&] {
        Checking checking{document, findings, timestamp, options.values};
        const FieldPath root{nullptr, nullptr};
        if (document.is_model()) {
            check_model(checking, document.root(), root);
        } else {
            check_operator_set(checking, document.root(), root);
        }
    });
    static_cast<void>(document.check_for_changes());
    return findings;
}

}  // namespace onnxmap::check
