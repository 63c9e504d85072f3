// A buffer as a TensorProto: reads its values in every storage form, also from a file beside it,
// and converts them to every type with every set of kernels.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fuzz/custom_mutator.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "kernels/kernel_set.hpp"
#include "memory_source.hpp"
#include "model/load.hpp"
#include "onnx/schema.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::fuzz {

namespace {

/// A folder with one small data file, "w".
const std::string& data_folder() {
    static const test::TemporaryFolder folder;
    static const std::string path = [] {
        std::string content;
        for (unsigned i = 0; i < 1000; ++i) content += static_cast<char>(i * 7);
        folder.write("w", content);
        return folder.path().string();
    }();
    return path;
}

/// A model in a file that is not mapped: its values are read when asked for.
class UnmappedSource final : public source::Source {
  public:
    explicit UnmappedSource(ByteView bytes) : copy_(bytes) {
        data_ = copy_.data();
        size_ = bytes.size();
    }
    [[nodiscard]] const char* kind() const noexcept override { return "read"; }
    [[nodiscard]] bool viewable() const noexcept override { return false; }

  private:
    test::HeapCopy copy_;
};

std::shared_ptr<const model::Document> load(ByteView bytes, std::uint64_t ways) {
    model::LoadOptions options;
    options.root = &onnx::message<"TensorProto">;
    options.scan_packed = ways % 4 != 1;
    options.external.root = data_folder();
    options.external.mode = ways % 8 < 4 ? source::IoMode::mmap : source::IoMode::read;
    if (ways % 16 < 4) options.tolerate = [](const Error& error) { touch(as_bytes(error.path)); };
    std::shared_ptr<source::Source> source;
    if (ways % 32 < 16) {
        source = std::make_shared<test::MemorySource>(bytes);
    } else {
        source = std::make_shared<UnmappedSource>(bytes);
    }
    try {
        return model::load_source(std::move(source), options, false);
    } catch (const Error&) {
        return nullptr;
    }
}

}  // namespace

MessagePart message_of(ByteView input) { return {input, &onnx::message<"TensorProto">}; }

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    const ByteView input(data, size);
    const fuzz::WorkLimit limit(size);
    const std::uint64_t ways = fuzz::hash_of(input);
    const auto document = fuzz::load(input, ways);
    if (!document) return 0;
    const auto bytes = ways % 4 == 1 ? fuzz::InputBytes::lazy : fuzz::InputBytes::constant;
    std::uint64_t plain = 0;
    for (const kernels::KernelSet* set : kernels::supported_sets()) {
        fuzz::require(kernels::use_set(set->name), "a set of kernels is gone");
        const std::uint64_t hash = fuzz::read_tensor(*document, bytes);
        if (set == kernels::supported_sets().front()) plain = hash;
        fuzz::require(hash == plain, "two sets of kernels give other values");
    }
    return 0;
}
