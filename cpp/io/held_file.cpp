#include "io/held_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::io {

namespace {

// Models that share a file, and spellings of its name, may be many; a few ways are enough.
constexpr std::size_t kMostWays = 8;

class Path final : public WayToFile {
  public:
    explicit Path(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] File open() const override { return File::open(path_); }
    [[nodiscard]] FileIdentity look() const override {
        const Descriptor object =
            open_descriptor([&] { return ::open(path_.c_str(), O_PATH | O_CLOEXEC); });
        if (!object) throw FileError(errno, path_);
        return identity_of(object.number(), path_);
    }

  private:
    std::string path_;
};

// What one of the ways gives that is the file, or nothing. Where the process has no descriptor or
// memory left, nobody can tell: that is thrown.
template <class Try>
auto first_of(const std::vector<std::shared_ptr<const WayToFile>>& ways, Try&& attempt)
    -> decltype(attempt(*ways[0])) {
    for (const auto& way : ways) {
        try {
            if (auto found = attempt(*way)) return found;
        } catch (const FileError& error) {
            const int number = error.code().value();
            if (number == EMFILE || number == ENFILE || number == ENOMEM) throw;
        } catch (const std::runtime_error&) {
            // It leads elsewhere by now: to another folder, out of where it may be.
        }
    }
    return {};
}

}  // namespace

std::shared_ptr<const WayToFile> way_by_path(std::string path) {
    return std::make_shared<const Path>(std::move(path));
}

HeldFile::HeldFile(File file, std::shared_ptr<const WayToFile> way)
    : path_(file.path()), identity_(file.identity()), ways_{std::move(way)} {
    held_.keep(std::make_shared<const File>(std::move(file)));
}

void HeldFile::add_way(std::shared_ptr<const WayToFile> way) {
    const std::lock_guard lock(mutex_);
    if (ways_.size() >= kMostWays) ways_.erase(ways_.begin());
    ways_.push_back(std::move(way));
}

std::vector<std::shared_ptr<const WayToFile>> HeldFile::ways() const {
    const std::lock_guard lock(mutex_);
    return {ways_.rbegin(), ways_.rend()};
}

std::shared_ptr<const File> HeldFile::find() const {
    return std::static_pointer_cast<const File>(held_.find());
}

std::shared_ptr<const File> HeldFile::open() const {
    if (auto file = find()) return file;
    auto file = first_of(ways(), [&](const WayToFile& way) -> std::shared_ptr<const File> {
        auto opened = std::make_shared<const File>(way.open());
        return opened->identity().same_file(identity_) ? opened : nullptr;
    });
    if (!file) {
        Error error("file.changed",
                    quoted(path_) + " cannot be opened again: it is gone or another file by now");
        error.file = path_;
        throw error;
    }
    held_.keep(file);
    return file;
}

void HeldFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    open()->read(offset, out);
}

void HeldFile::check_unchanged() const {
    std::optional<FileIdentity> now;
    if (const auto file = find()) {
        now = file->identity_now();
    } else {
        now = first_of(ways(), [&](const WayToFile& way) -> std::optional<FileIdentity> {
            const FileIdentity found = way.look();
            return found.same_file(identity_) ? std::optional(found) : std::nullopt;
        });
    }
    if (now) io::check_unchanged(path_, identity_, *now);
}

}  // namespace onnxmap::io
