// The state that the tensors of one model share: its bytes, its external files, and the handling of
// faults.
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

/// While an object of this class exists, active() is true in its thread.
template <class Purpose>
class InThisThread {
  public:
    InThisThread() noexcept { ++depth_; }
    ~InThisThread() { --depth_; }
    InThisThread(const InThisThread&) = delete;
    InThisThread& operator=(const InThisThread&) = delete;

    [[nodiscard]] static bool active() noexcept { return depth_ > 0; }

  private:
    static inline thread_local int depth_ = 0;
};

/// The thread does not report tolerated faults.
using TolerateQuietly = InThisThread<struct Quietness>;
/// Faults are errors for the thread, also those of a store that tolerates them.
using TolerateNothing = InThisThread<struct Strictness>;

struct Store {
    std::shared_ptr<const source::Source> source;  // of the model itself
    ExternalFiles external;
    std::uint64_t max_external_entries;
    std::uint64_t max_segments;  // a tensor with more can be read only through its first segment
    /// If set: a tensor with faults that onnx tolerates is read as onnx reads it, and this function
    /// is called with each fault. Any thread may call it.
    std::function<void(const Error&, const Header&)> tolerate;
    bool watch = true;  // notice files that change
    /// Finds the source of bytes that an edit added; null if there is none.
    std::function<std::shared_ptr<const source::Source>(ByteView)> added = {};

    /// Whether a fault that onnx tolerates is no error.
    [[nodiscard]] bool tolerates() const noexcept { return tolerate && !TolerateNothing::active(); }

    /// Whether the model was loaded with these bytes.
    [[nodiscard]] bool holds(ByteView bytes) const noexcept {
        const auto offset = static_cast<std::uint64_t>(bytes.data() - source->data());
        // Another source may begin where this one ends.
        const bool inside = offset <= source->size() && bytes.size() <= source->size() - offset;
        return bytes.data() == nullptr || inside;
    }
    /// The source that holds these bytes of the model. Throws Error `file.changed` if there is
    /// none.
    [[nodiscard]] std::shared_ptr<const source::Source> source_of(ByteView bytes) const;

    /// Throws Error `file.changed` if the file is watched and has changed. Does not check again if
    /// it was checked at `since` or later.
    void check_unchanged(const source::Source& file, source::Timestamp since) const {
        if (watch) file.check_unchanged(since);
    }
    /// Checks a file after it was read: if it was cut within a page, the bytes after its end read
    /// as zeros without a fault. `now`: the time after reading.
    void check_after_reading(const source::Source& file,
                             source::Timestamp now = source::now()) const {
        check_unchanged(file, file.checked_after_reading() ? now : source::kRecently);
    }
};

/// Throws a fault of the tensor. If the store tolerates faults, reports it instead.
void tolerate_or_fail(const Header& header, const Store& store, const char* code,
                      const std::string& message);

}  // namespace onnxmap::tensor
