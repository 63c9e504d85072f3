// A file that is no file of the system: behind a URL, say. Somebody reads ranges of it for us, each
// of which is a request that takes a while and has a price of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "source/fetched_source.hpp"

namespace onnxmap::source {

/// Reads ranges of one file in one state. Safe to share between threads. What it throws reaches
/// whoever asked for the bytes as it is.
class RangeReader {
  public:
    RangeReader() = default;
    RangeReader(const RangeReader&) = delete;
    RangeReader& operator=(const RangeReader&) = delete;
    virtual ~RangeReader() = default;

    [[nodiscard]] virtual const std::string& url() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
    /// The same text for the same file in the same state, and for no other.
    [[nodiscard]] virtual const std::string& state() const noexcept = 0;
    /// Requests at a time that are of use.
    [[nodiscard]] virtual unsigned at_once() const noexcept = 0;

    /// Fills `out`, or throws. A long range is read by several requests at once.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;

    /// Throws where the file is in another state by now.
    virtual void check_unchanged() const = 0;
};

/// A folder that is named by a URL. Safe to share between threads.
class RemoteFolder {
  public:
    RemoteFolder() = default;
    RemoteFolder(const RemoteFolder&) = delete;
    RemoteFolder& operator=(const RemoteFolder&) = delete;
    virtual ~RemoteFolder() = default;

    /// URL of a file in it. `location` was judged: as text it stays in the folder.
    [[nodiscard]] virtual std::string url_of(std::string_view location) const = 0;

    /// Throws FileError for what is missing or forbidden, and what its reader throws.
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
    [[nodiscard]] Moment::duration look_every() const noexcept override;
    [[nodiscard]] bool looked_at_after_reading() const noexcept override { return false; }

  private:
    void look_for_changes() const override { reader_->check_unchanged(); }

    std::shared_ptr<const RangeReader> reader_;
};

/// A source for the file; or the one that there is in this process, if it is in the same state.
[[nodiscard]] std::shared_ptr<const Source> open_shared(std::shared_ptr<const RangeReader> reader);

}  // namespace onnxmap::source
