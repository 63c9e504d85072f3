#include "io/owned_bytes.hpp"

#include <new>

namespace onnxmap::io {

namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void OwnedBytes::Free::operator()(std::uint8_t* memory) const noexcept {
    ::operator delete[](memory, kAlignment);
}

OwnedBytes::OwnedBytes(std::uint64_t nbytes)
    : memory_(static_cast<std::uint8_t*>(::operator new[](nbytes, kAlignment))) {
    data_ = memory_.get();
    size_ = nbytes;
}

}  // namespace onnxmap::io
