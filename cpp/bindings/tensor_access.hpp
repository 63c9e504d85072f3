// Finds and reads the values of a bound Tensor.
#pragma once

#include "bindings/handles.hpp"
#include "bindings/interpreter_lock.hpp"
#include "model/tensor.hpp"
#include "source/read_guard.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

[[nodiscard]] inline model::Tensor core_of(const Tensor& tensor) {
    return {*tensor.document, tensor.message()};
}

/// Whether finding the values may open a file or search the model for segments.
[[nodiscard]] inline bool opens_or_searches(const model::Tensor& tensor) {
    return tensor.header().external || tensor.header().has_segment;
}

/// Calls work(values) with the values of a tensor. All reads meanwhile, including NumPy's, are
/// below a guard of the file that holds the values.
template <class Work>
auto with_values(const Tensor& tensor, Work&& work) {
    const model::Tensor core = core_of(tensor);
    tensor::Values values = without_lock_if(opens_or_searches(core), [&] { return core.values(); });
    return core.naming(
        [&] { return source::guard_reads(values.source(), [&] { return work(values); }); });
}

}  // namespace onnxmap::bindings
