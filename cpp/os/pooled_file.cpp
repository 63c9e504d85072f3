#include "os/pooled_file.hpp"

#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/made_once.hpp"
#include "os/found_object.hpp"

namespace onnxmap::os {

namespace {

// Many models may share a file, with many spellings of its name; a few locators suffice.
constexpr std::size_t kMostLocators = 8;

struct PooledFiles {
    ForkSafeMutex mutex;
    std::set<PooledFile*> all;
};

PooledFiles& pooled_files() { return made_once<PooledFiles>(); }

class Name final : public FileLocator {
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
    [[nodiscard]] FileIdentity identify() const override { return find().status().identity; }

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

std::shared_ptr<const File> open_if_there(const FileLocator& locator, const FileIdentity& file) {
    return if_it_leads_there([&]() -> std::shared_ptr<const File> {
        auto opened = locator.open(file);
        if (!opened || !opened->identity().same_file(file)) return nullptr;
        return std::make_shared<const File>(std::move(*opened));
    });
}

}  // namespace

std::optional<FileIdentity> find_same_file(const FileLocator& locator, const FileIdentity& file) {
    return if_it_leads_there([&]() -> std::optional<FileIdentity> {
        const FileIdentity found = locator.identify();
        return found.same_file(file) ? std::optional(found) : std::nullopt;
    });
}

std::shared_ptr<const FileLocator> path_locator(std::string path) {
    std::string name = path;
    return std::make_shared<const Name>(nullptr, std::move(name), std::move(path));
}

std::shared_ptr<const FileLocator> folder_locator(std::shared_ptr<const Folder> folder,
                                                  const std::string& name) {
    std::string path = joined(folder->path(), name);
    return std::make_shared<const Name>(std::move(folder), name, std::move(path));
}

PooledFile::PooledFile(File file, std::shared_ptr<const FileLocator> locator)
    : path_(file.path()),
      identity_(file.identity()),
      expected_(identity_),
      locators_{std::move(locator)} {
    held_.keep(std::make_shared<const File>(std::move(file)));
    const std::lock_guard lock(pooled_files().mutex);
    pooled_files().all.insert(this);
}

PooledFile::~PooledFile() {
    const std::lock_guard lock(pooled_files().mutex);
    pooled_files().all.erase(this);
}

void record_append(const FileIdentity& before, const FileIdentity& after) {
    const std::lock_guard lock(pooled_files().mutex);
    for (PooledFile* const file : pooled_files().all) {
        if (file->expected_ == before || file->identity_ == before) file->expected_ = after;
    }
}

void PooledFile::add_locator(std::shared_ptr<const FileLocator> locator) {
    const std::lock_guard lock(mutex_);
    if (locators_.size() >= kMostLocators) locators_.erase(locators_.begin());
    locators_.push_back(std::move(locator));
}

std::vector<std::shared_ptr<const FileLocator>> PooledFile::locators() const {
    const std::lock_guard lock(mutex_);
    return {locators_.rbegin(), locators_.rend()};
}

std::shared_ptr<const File> PooledFile::find() const {
    return std::static_pointer_cast<const File>(held_.find());
}

std::shared_ptr<const File> PooledFile::open() const {
    if (auto file = find()) return file;
    std::shared_ptr<const File> file;
    for (const auto& locator : locators()) {
        file = open_if_there(*locator, identity_);
        if (file) break;
    }
    if (!file) {
        fail_at("file.changed", path_,
                " cannot be opened again: it was moved, deleted or replaced by another file");
    }
    held_.keep(file);
    return file;
}

void PooledFile::check_unchanged() const {
    std::optional<FileIdentity> now;
    if (const auto file = find()) {
        now = file->status().identity;
    } else {
        for (const auto& locator : locators()) {
            now = find_same_file(*locator, identity_);
            if (now) break;
        }
    }
    if (!now) return;
    {
        const std::lock_guard lock(pooled_files().mutex);
        if (*now == expected_) return;
    }
    check_same_state(path_, identity_, *now);
}

}  // namespace onnxmap::os
