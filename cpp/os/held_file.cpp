#include "os/held_file.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "os/found_object.hpp"

namespace onnxmap::os {

namespace {

// Many models may share a file, with many spellings of its name; a few ways suffice.
constexpr std::size_t kMostWays = 8;

class Name final : public WayToFile {
  public:
    // Without a folder, `name` is a path. `path` is for error texts.
    Name(std::shared_ptr<const Folder> folder, std::string name, std::string path)
        : folder_(std::move(folder)), name_(std::move(name)), path_(std::move(path)) {}

    [[nodiscard]] std::optional<File> open(const FileIdentity& file) const override {
        const FoundObject found = find();
        if (!found.status().identity.same_file(file)) return std::nullopt;
        if (auto opened = found.open_itself(path_)) return opened;
        return found.open_by_name(path_);
    }
    [[nodiscard]] FileIdentity look() const override { return find().status().identity; }

  private:
    [[nodiscard]] FoundObject find() const {
        return {folder_ ? folder_->open() : nullptr, name_, AtLink::its_target, path_};
    }

    std::shared_ptr<const Folder> folder_;
    std::string name_;
    std::string path_;
};

// Returns attempt(), or nothing if the way now leads nowhere or elsewhere. Throws FileError if the
// process has no descriptor or memory left, because the answer is then unknown.
template <class Try>
auto if_it_leads_there(Try&& attempt) -> decltype(attempt()) {
    try {
        return attempt();
    } catch (const FileError& error) {
        if (is_shortage(error)) throw;
    } catch (const std::runtime_error&) {
        // The way now leads to another folder, or out of the allowed folders.
    }
    return {};
}

std::shared_ptr<const File> open_if_there(const WayToFile& way, const FileIdentity& file) {
    return if_it_leads_there([&]() -> std::shared_ptr<const File> {
        auto opened = way.open(file);
        if (!opened || !opened->identity().same_file(file)) return nullptr;
        return std::make_shared<const File>(std::move(*opened));
    });
}

}  // namespace

std::optional<FileIdentity> look_for(const WayToFile& way, const FileIdentity& file) {
    return if_it_leads_there([&]() -> std::optional<FileIdentity> {
        const FileIdentity found = way.look();
        return found.same_file(file) ? std::optional(found) : std::nullopt;
    });
}

std::shared_ptr<const WayToFile> way_by_path(std::string path) {
    std::string name = path;
    return std::make_shared<const Name>(nullptr, std::move(name), std::move(path));
}

std::shared_ptr<const WayToFile> way_in_folder(std::shared_ptr<const Folder> folder,
                                               const std::string& name) {
    std::string path = folder->path() + (folder->path().ends_with('/') ? "" : "/") + name;
    return std::make_shared<const Name>(std::move(folder), name, std::move(path));
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
    std::shared_ptr<const File> file;
    for (const auto& way : ways()) {
        file = open_if_there(*way, identity_);
        if (file) break;
    }
    if (!file) {
        Error error(
            "file.changed",
            quoted(path_) +
                " cannot be opened again: it was moved, deleted or replaced by another file");
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
        for (const auto& way : ways()) {
            now = look_for(*way, identity_);
            if (now) break;
        }
    }
    if (now) os::check_unchanged(path_, identity_, *now);
}

}  // namespace onnxmap::os
