#include "source/window.hpp"

namespace onnxmap::source {

ByteView WindowFeed::at(std::uint64_t offset, std::uint64_t least) {
    const std::uint64_t left = size_ - offset;
    if (file_) pages_ahead_.walk_to(*file_, offset, window_size_.skipped(offset));
    return read(offset, std::min(window_size_.next(offset, least), left));
}

ByteView WindowFeed::read(std::uint64_t offset, std::uint64_t nbytes) {
    if (window_.size() < nbytes) window_ = std::vector<std::uint8_t>(nbytes);
    file_->read(offset, std::span(window_).first(nbytes));
    return std::span(window_).first(nbytes);
}

}  // namespace onnxmap::source
