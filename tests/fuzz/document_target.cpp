// A buffer as a model: loaded, and everything in it read.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fuzz/custom_mutator.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::fuzz {

MessagePart message_of(ByteView input) { return {input, &onnx::message<"ModelProto">}; }

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    const ByteView input(data, size);
    const fuzz::WorkLimit limit(size);
    const std::uint64_t ways = fuzz::hash_of(input);
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    options.scan_packed = ways % 4 != 1;
    if (ways % 4 == 2)
        options.tolerate = [](const Error& error) { fuzz::touch(as_bytes(error.path)); };
    fuzz::load_and_read(std::make_shared<test::MemorySource>(input), options, true,
                        options.scan_packed ? fuzz::InputBytes::constant : fuzz::InputBytes::lazy);
    return 0;
}
