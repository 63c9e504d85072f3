// Tests of kernels run with every set that this processor has.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "kernels/kernel_set.hpp"

namespace onnxmap::test {

/// Runs `work` with each set that this processor can run.
template <class Work>
void with_each_set(Work&& work) {
    for (const kernels::KernelSet* set : kernels::supported_sets()) {
        CAPTURE(std::string(set->name));
        work(*set);
    }
}

}  // namespace onnxmap::test
