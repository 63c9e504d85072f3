// Planted faults. They show that the sanitizers and the work limit are on; see CMakeLists.txt.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "fuzz/custom_mutator.hpp"
#include "fuzz/work_limit.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::fuzz {

MessagePart message_of(ByteView input) { return {input, &onnx::message<"ModelProto">}; }

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const onnxmap::fuzz::WorkLimit limit(size);
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    volatile int sink = 0;
    if (input.starts_with("overrun")) {
        const auto block = std::make_unique<volatile std::uint8_t[]>(size);
        sink = block[size];
    } else if (input.starts_with("overflow")) {
        sink = 0x7fff'ffff;
        sink = sink + static_cast<int>(size);
    } else if (input.starts_with("quadratic")) {
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = 0; j < size; ++j) sink = sink ^ data[j];
        }
    }
    return 0;
}
