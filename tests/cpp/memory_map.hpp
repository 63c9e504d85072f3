// The mappings of this process, as the system lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace onnxmap::test {

struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
};

[[nodiscard]] inline std::vector<Mapping> mappings() {
    std::vector<Mapping> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        Mapping mapping;
        char dash = 0;
        std::istringstream(line) >> std::hex >> mapping.begin >> dash >> mapping.end;
        found.push_back(mapping);
    }
    return found;
}

/// The number of bytes in begin .. end that are mapped.
[[nodiscard]] inline std::uint64_t mapped_between(std::uintptr_t begin, std::uintptr_t end) {
    std::uint64_t sum = 0;
    for (const Mapping& one : mappings()) {
        const std::uintptr_t first = one.begin > begin ? one.begin : begin;
        const std::uintptr_t last = one.end < end ? one.end : end;
        if (first < last) sum += last - first;
    }
    return sum;
}

}  // namespace onnxmap::test
