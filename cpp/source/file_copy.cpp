#include "source/file_copy.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "source/window.hpp"

namespace onnxmap::source {

namespace {

class CopyFeed final : public ByteFeed {
  public:
    explicit CopyFeed(const FileCopy& copy) : copy_(copy), file_(copy.file()) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return copy_.size(); }

    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) override {
        const std::uint64_t left = copy_.size() - offset;
        pages_ahead_.walk_to(*file_, offset, read_ahead_.skipped(offset));
        return copy_.resident(offset, std::min(read_ahead_.next(offset, least), left));
    }

    void keep(std::uint64_t offset, std::uint64_t nbytes) override {
        static_cast<void>(copy_.resident(offset, nbytes));
    }

  private:
    const FileCopy& copy_;
    std::shared_ptr<const os::File> file_;
    ReadAhead read_ahead_;
    PagesAhead pages_ahead_;
};

}  // namespace

FileCopy::FileCopy(os::File file, std::shared_ptr<const os::WayToFile> way)
    : RangeCopy(Reads::below_the_mutex), file_(std::move(file), std::move(way)) {
    size_ = file_.identity().size;
    path_ = file_.path();
}

std::unique_ptr<ByteFeed> FileCopy::feed() {
    take_addresses();
    return std::make_unique<CopyFeed>(*this);
}

void FileCopy::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    file_.read(offset, out);
}

std::optional<os::FileIdentity> FileCopy::identity() const { return file_.identity(); }

void FileCopy::look_for_changes() const { file_.check_unchanged(); }

void FileCopy::add_way(std::shared_ptr<const os::WayToFile> way) const {
    file_.add_way(std::move(way));
}

}  // namespace onnxmap::source
