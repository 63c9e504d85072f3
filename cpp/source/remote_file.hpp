// A file that is not in the file system, such as a file behind a URL. A RangeReader reads ranges of
// it. Each range is a request, which takes time and has its own cost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/no_copy.hpp"
#include "source/fetched_source.hpp"

namespace onnxmap::source {

/// Reads ranges of one file in one state. Safe to share between threads. Its exceptions reach the
/// caller unchanged.
class RangeReader : NoCopy {
  public:
    virtual ~RangeReader() = default;

    [[nodiscard]] virtual const std::string& url() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
    /// A text that identifies the file and its state.
    [[nodiscard]] virtual const std::string& state() const noexcept = 0;
    /// The number of concurrent requests that helps.
    [[nodiscard]] virtual unsigned at_once() const noexcept = 0;

    /// Fills `out`, or throws. A long range is read by several requests at once.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;

    /// Throws if the state of the file has changed.
    virtual void check_unchanged() const = 0;
};

/// A folder at a URL. Safe to share between threads.
class RemoteFolder : NoCopy {
  public:
    virtual ~RemoteFolder() = default;

    /// The URL of a file in the folder. The text of `location` was checked and stays in the folder.
    [[nodiscard]] virtual std::string url_of(std::string_view location) const = 0;

    /// Opens a file. Throws FileError if it is missing or forbidden, and what its reader throws.
    [[nodiscard]] virtual std::shared_ptr<const RangeReader> open(
        std::string_view location) const = 0;
};

class RemoteFile final : public FetchedSource {
  public:
    explicit RemoteFile(std::shared_ptr<const RangeReader> reader);

    [[nodiscard]] const char* kind() const noexcept override { return "remote"; }
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        reader_->read(offset, out);
    }
    [[nodiscard]] bool splits_reads() const noexcept override { return true; }
    [[nodiscard]] ReadHabits read_habits() const override;
    [[nodiscard]] std::string remote_state() const override { return reader_->state(); }
    [[nodiscard]] Timestamp::duration check_interval() const noexcept override;
    [[nodiscard]] bool checked_after_reading() const noexcept override { return false; }

  private:
    void check_for_changes() const override { reader_->check_unchanged(); }

    std::shared_ptr<const RangeReader> reader_;
};

/// A source for the file. If this process already has a source of the file in the same state,
/// returns that source.
[[nodiscard]] std::shared_ptr<const Source> open_shared(std::shared_ptr<const RangeReader> reader);

}  // namespace onnxmap::source
