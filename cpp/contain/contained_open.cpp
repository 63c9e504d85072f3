#include "contain/contained_open.hpp"

#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "os/file_system.hpp"

namespace onnxmap::contain {

namespace {

// Throws Refused `being_replaced` if the found object is not `file`.
void check_same_file(const os::FoundObject& found, const os::FileIdentity& file,
                     const std::string& path) {
    if (!found.status().identity.same_file(file)) throw Refused(Refusal::being_replaced, path);
}

class Location final : public os::FileLocator {
  public:
    Location(std::shared_ptr<const ContainedOpen> opener, std::string relative_path)
        : opener_(std::move(opener)), relative_path_(std::move(relative_path)) {}

    [[nodiscard]] std::optional<os::File> open(const os::FileIdentity& file) const override {
        return opener_->open_again(relative_path_, file);
    }
    [[nodiscard]] os::FileIdentity identify() const override {
        return opener_->look(relative_path_);
    }

  private:
    std::shared_ptr<const ContainedOpen> opener_;
    std::string relative_path_;
};

}  // namespace

std::shared_ptr<const os::FileLocator> location_locator(std::shared_ptr<const ContainedOpen> opener,
                                                        std::string relative_path) {
    return std::make_shared<const Location>(std::move(opener), std::move(relative_path));
}

ContainedOpen::ContainedOpen(std::vector<std::shared_ptr<const os::Folder>> roots,
                             OpenPolicy policy)
    : roots_(std::move(roots)), policy_(policy) {}

std::string ContainedOpen::path_of(const std::string& relative_path) const {
    return os::joined(roots_.front()->path(), relative_path);
}

// One system call finds nearly all locations. If it does not find the file, for whatever reason,
// the component walk decides.
std::optional<os::FoundObject> ContainedOpen::find_by_kernel(const std::string& relative_path,
                                                             const std::string& path) const {
    const os::Beneath beneath{.leaves_folder = policy_.links == LinkPolicy::trusted,
                              .follows_links = policy_.links != LinkPolicy::strict};
    return os::find_beneath(roots_.front()->open(), relative_path, beneath, path);
}

os::FoundObject ContainedOpen::find_by_steps(const std::string& relative_path,
                                             const std::string& path) const {
    try {
        if (policy_.links != LinkPolicy::trusted) {
            LinkWalk walk(roots_, policy_.links == LinkPolicy::contained);
            return walk.find(relative_path);
        }
        return {roots_.front()->open(), relative_path, os::AtLink::its_target, path};
    } catch (const FileError& error) {
        throw FileError(error.number, path);
    }
}

void ContainedOpen::judge(const os::FoundObject& found, const std::string& path) const {
    const os::FileStatus& status = found.status();
    if (status.kind == os::FileKind::folder) throw FileError(EISDIR, path);
    if (status.kind != os::FileKind::regular ||
        os::leads_to_kernel(found.handle(), status, roots_.front()->identity().device, path)) {
        throw Refused(Refusal::not_regular, path);
    }
    const bool any_links = policy_.allow_hardlinks || policy_.links == LinkPolicy::trusted;
    if (status.names > 1 && !any_links) throw Refused(Refusal::has_hard_links, path);
}

os::File ContainedOpen::open(const std::string& relative_path) const {
    const std::string path = path_of(relative_path);
    return open_found(relative_path, path,
                      [&](const os::FoundObject& found) { judge(found, path); });
}

os::File ContainedOpen::open_again(const std::string& relative_path,
                                   const os::FileIdentity& file) const {
    const std::string path = path_of(relative_path);
    return open_found(relative_path, path,
                      [&](const os::FoundObject& found) { check_same_file(found, file, path); });
}

template <class Judge>
os::File ContainedOpen::open_found(const std::string& relative_path, const std::string& path,
                                   Judge&& judge) const {
    if (const auto found = find_by_kernel(relative_path, path)) {
        judge(*found);
        // If this throws, the name is not tried again: another file may have it now.
        if (auto file = found->open_itself(path)) return std::move(*file);
    }
    const os::FoundObject found = find_by_steps(relative_path, path);
    judge(found);
    if (auto file = found.open_itself(path)) return std::move(*file);
    if (auto file = found.open_by_name(path)) return std::move(*file);
    throw Refused(Refusal::being_replaced, path);
}

void ContainedOpen::for_each_name(const std::string& relative_folder,
                                  const os::VisitName& visit) const {
    std::shared_ptr<const os::Descriptor> folder = roots_.front()->open();
    if (!relative_folder.empty()) {
        folder = LinkWalk({roots_.front()}, false).find(relative_folder).open_folder();
    }
    os::for_each_name(*folder, path_of(relative_folder), visit);
}

os::FileIdentity ContainedOpen::look(const std::string& relative_path) const {
    const std::string path = path_of(relative_path);
    if (const auto found = find_by_kernel(relative_path, path)) return found->status().identity;
    return find_by_steps(relative_path, path).status().identity;
}

}  // namespace onnxmap::contain
