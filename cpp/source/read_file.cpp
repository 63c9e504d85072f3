#include "source/read_file.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "source/window.hpp"

namespace onnxmap::source {

namespace {

class ReadFileFeed final : public ByteFeed {
  public:
    explicit ReadFileFeed(const ReadFile& source) : source_(source), file_(source.file()) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return source_.size(); }

    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) override {
        const std::uint64_t left = source_.size() - offset;
        pages_ahead_.walk_to(*file_, offset, window_size_.skipped(offset));
        return source_.resident(offset, std::min(window_size_.next(offset, least), left));
    }

    void keep(std::uint64_t offset, std::uint64_t nbytes) override {
        static_cast<void>(source_.resident(offset, nbytes));
    }

  private:
    const ReadFile& source_;
    std::shared_ptr<const os::File> file_;
    WindowSize window_size_;
    PagesAhead pages_ahead_;
};

}  // namespace

ReadFile::ReadFile(os::File file, std::shared_ptr<const os::WayToFile> way)
    : FetchedSource(Reads::below_the_mutex), file_(std::move(file), std::move(way)) {
    size_ = file_.identity().size;
    path_ = file_.path();
}

std::unique_ptr<ByteFeed> ReadFile::feed() {
    take_addresses();
    return std::make_unique<ReadFileFeed>(*this);
}

void ReadFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    file_.read(offset, out);
}

std::optional<os::FileIdentity> ReadFile::identity() const { return file_.identity(); }

void ReadFile::look_for_changes() const { file_.check_unchanged(); }

void ReadFile::add_way(std::shared_ptr<const os::WayToFile> way) const {
    file_.add_way(std::move(way));
}

}  // namespace onnxmap::source
