// A buffer as a model, with nothing readable before its first byte or behind its last. A read
// outside it is noticed even in code that no sanitizer sees: system calls, the C library, vector
// loads.
#include <sanitizer/asan_interface.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fuzz/custom_mutator.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "onnx/schema.hpp"
#include "placed_bytes.hpp"
#include "source/source.hpp"

namespace onnxmap::fuzz {

namespace {

constexpr std::size_t kLargest = 1 << 20;

class PlacedSource final : public source::Source {
  public:
    explicit PlacedSource(ByteView placed) {
        data_ = placed.data();
        size_ = placed.size();
    }
    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }
};

/// Places inputs and watches over the bytes around them.
class DocumentMessage {
  public:
    /// `shift` 0: before a page that cannot be read. Up to 15: that many bytes before it, which
    /// gives every alignment. 16: behind such a page.
    DocumentMessage(ByteView bytes, unsigned shift) {
        static test::GuardedPages pages(kLargest);
        std::uint8_t* const end = pages.last(0);
        if (shift == 16) {
            view_ = pages.place_first(bytes);
        } else {
            std::uint8_t* const at = end - shift - bytes.size();
            std::copy(bytes.begin(), bytes.end(), at);
            view_ = {at, bytes.size()};
            hidden_ = {end - shift, shift};
            ASAN_POISON_MEMORY_REGION(hidden_.data(), hidden_.size());
        }
    }
    ~DocumentMessage() { ASAN_UNPOISON_MEMORY_REGION(hidden_.data(), hidden_.size()); }
    DocumentMessage(const DocumentMessage&) = delete;
    DocumentMessage& operator=(const DocumentMessage&) = delete;

    [[nodiscard]] ByteView view() const noexcept { return view_; }

  private:
    ByteView view_;
    ByteView hidden_;
};

}  // namespace

MessagePart message_of(ByteView input) { return {input, &onnx::message<"ModelProto">}; }

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    if (size > fuzz::kLargest - 16) return 0;
    const ByteView input(data, size);
    const fuzz::WorkLimit limit(size);
    const std::uint64_t ways = fuzz::hash_of(input);
    const fuzz::DocumentMessage placed(input,
                                       ways % 32 < 16 ? 0 : 1 + static_cast<unsigned>(ways) % 16);
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    fuzz::load_and_read(std::make_shared<fuzz::PlacedSource>(placed.view()), options, true,
                        fuzz::InputBytes::constant);
    return 0;
}
