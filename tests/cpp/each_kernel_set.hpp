// Runs tests of kernels with every set that this processor supports.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "kernels/kernel_set.hpp"

namespace onnxmap::test {

/// Calls `work` with each set that this processor supports.
template <class Work>
void with_each_set(Work&& work) {
    for (const kernels::KernelSet* set : kernels::supported_sets()) {
        CAPTURE(std::string(set->name));
        work(*set);
    }
}

}  // namespace onnxmap::test
