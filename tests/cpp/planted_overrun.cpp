// Reads one byte past a heap block. AddressSanitizer must say so; see CMakeLists.txt.
#include <cstddef>
#include <cstdio>
#include <memory>

int main(int argc, char**) {
    const auto size = static_cast<std::size_t>(argc) * 8;  // unknown to the optimiser
    const auto block = std::make_unique<volatile unsigned char[]>(size);
    std::printf("the byte behind the block is %d, and nobody noticed\n", block[size]);
    return 1;
}
