// What the tensors of one model share: its bytes, its external files, what is overlooked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "source/source.hpp"
#include "tensor/external_data.hpp"
#include "tensor/header.hpp"

namespace onnxmap::tensor {

/// While one lives, this thread looks at tensors and tells nobody what it overlooks.
class OverlookQuietly {
  public:
    OverlookQuietly() noexcept { ++depth_; }
    ~OverlookQuietly() { --depth_; }
    OverlookQuietly(const OverlookQuietly&) = delete;
    OverlookQuietly& operator=(const OverlookQuietly&) = delete;

    [[nodiscard]] static bool active() noexcept { return depth_ > 0; }

  private:
    static inline thread_local int depth_ = 0;
};

struct Store {
    std::shared_ptr<const source::Source> source;  // of the model itself
    ExternalFiles external;
    std::uint64_t max_external_entries;
    std::uint64_t max_overlap;  // the most segments of a tensor that is read through each
    /// Set: a tensor that is wrong in a way that onnx overlooks is read as onnx reads it, and this
    /// is told about it. Called by any thread.
    std::function<void(const Error&, const Header&)> overlook;
    bool watch = true;  // notice files that change

    /// Throws Error `file.changed` where a file that is watched has changed, and was not looked at
    /// since `since`.
    void check_unchanged(const source::Source& file, source::Moment since) const {
        if (watch) file.check_unchanged(since);
    }
};

/// Throws a fault of the tensor, or where the store overlooks faults, tells about it.
void overlook_or_fail(const Header& header, const Store& store, const char* code,
                      const std::string& message);

}  // namespace onnxmap::tensor
