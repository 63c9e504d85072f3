// The bound on tensors that name the same bytes. A file of a few kilobytes can name a gigabyte in a
// million tensors: whoever copies all tensors of a model calls this first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "model/document.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

/// `nbytes`: what the copies of `what` take. `sources`: each source that the tensors are in,
/// once. Throws Error `limit.overlap` if `nbytes` is more than Limits::overlap times the bytes of
/// the model and these sources. Copies of up to 256 MiB are always allowed.
void check_overlap(const Document& document,
                   std::span<const std::shared_ptr<const source::Source>> sources,
                   std::uint64_t nbytes, std::string_view what = "the tensors");

}  // namespace onnxmap::model
