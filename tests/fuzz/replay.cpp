// Gives the files of directories to a fuzz target, without libFuzzer:
//     replay_TARGET DIRECTORY...
// The work that an input makes is not limited here: clang counts it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/work_limit.hpp"

namespace onnxmap::fuzz {

WorkLimit::WorkLimit(std::size_t input_nbytes) noexcept : input_nbytes_(input_nbytes), before_(0) {}
WorkLimit::~WorkLimit() = default;

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    int inputs = 0;
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::exists(argv[i])) continue;  // no input showed a fault yet
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            if (!entry.is_regular_file()) continue;
            std::fprintf(stderr, "%s\n", entry.path().c_str());  // the last one is at fault
            std::ifstream file(entry.path(), std::ios::binary);
            const std::vector<char> read{std::istreambuf_iterator<char>(file), {}};
            // Of its exact size, so that a sanitizer sees a read behind it.
            const std::vector<std::uint8_t> input(read.begin(), read.end());
            LLVMFuzzerTestOneInput(input.data(), input.size());
            ++inputs;
        }
    }
    std::printf("%d inputs\n", inputs);
    return inputs > 100 ? 0 : 1;
}
