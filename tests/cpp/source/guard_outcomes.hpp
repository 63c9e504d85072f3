// The result of a guard's check, and the end of a process that reads without a guard.
#pragma once

#include <string>

#include "caught.hpp"
#include "child_process.hpp"
#include "source/mapped_pages.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::test {

/// The code of the error that the guard's check gives; "accepted" if there is none.
[[nodiscard]] inline std::string code(const source::ReadGuard& guard) {
    return code_of([&] {
        guard.check();
        return 0;
    });
}

/// How a child process ends that reads a page without a guard.
[[nodiscard]] inline Ending read_unguarded(const MappedPages& pages, std::size_t number) {
    return in_child([&] { return pages.byte_of(number); });
}

}  // namespace onnxmap::test
