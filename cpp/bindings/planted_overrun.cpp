// Only in a sanitized extension: AddressSanitizer must report this, or it would not report
// anything.
#include <memory>

extern "C" [[gnu::visibility("default")]] int onnxmap_planted_overrun(int nbytes);

/// Reads one byte behind a block of `nbytes`.
extern "C" int onnxmap_planted_overrun(int nbytes) {
    const auto size = static_cast<unsigned>(nbytes);
    const auto block = std::make_unique<volatile unsigned char[]>(size);
    return block[size];
}
