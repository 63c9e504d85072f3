#include "contain/link_walk.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::contain {

namespace {

constexpr unsigned kMostLinks = 40;    // as the kernel's own limit
constexpr unsigned kMostSteps = 4096;  // limits the cost of nested links; no path has more names

}  // namespace

LinkWalk::LinkWalk(std::vector<std::shared_ptr<const os::Folder>> roots, bool follow_links)
    : follow_links_(follow_links) {
    for (auto& root : roots) {
        std::string real = root->real_path();
        roots_.push_back({std::move(root), std::move(real)});
    }
}

void LinkWalk::push(std::string_view path) {
    const auto later = static_cast<std::ptrdiff_t>(pending_.size());
    os::for_each_component(path, "/", [&](std::string_view name) {
        if (!name.empty() && name != ".") pending_.emplace_back(name);
    });
    std::reverse(pending_.begin() + later, pending_.end());
}

void LinkWalk::count_step() {
    if (++steps_ > kMostSteps) throw FileError(ELOOP, path());
}

std::string LinkWalk::path() const {
    if (!inside()) return outside_;
    std::string path = root_->real_path;
    for (const std::string& name : below_) path = os::joined(path, name);
    return path;
}

os::FoundObject LinkWalk::look_up(const std::string& name) {
    count_step();
    return {here_, name, os::AtLink::the_link, name};
}

void LinkWalk::enter(os::FoundObject folder) {
    here_ = folder.open_folder();
    below_.push_back(folder.name());
}

void LinkWalk::follow(const std::string& target) {
    if (!follow_links_) throw Refused(Refusal::is_link, path());
    if (++links_ > kMostLinks) throw FileError(ELOOP, path());
    // A target with a slash at its end must be a folder.
    if (pending_.empty() && (target.ends_with('/') || target.ends_with("/."))) to_folder_ = true;
    push(target);
    if (target.starts_with('/')) settle("/");
}

// Goes down folders that were not links when they were found. If one is a link now, another process
// is changing the tree.
void LinkWalk::go_down(const std::vector<std::string>& names) {
    here_ = root_->folder->open();
    below_.clear();
    for (const std::string& name : names) {
        os::FoundObject folder = look_up(name);
        if (folder.status().kind == os::FileKind::link) {
            throw Refused(Refusal::leads_outside, name);
        }
        enter(std::move(folder));
    }
}

void LinkWalk::go_up() {
    if (inside() && !below_.empty()) {
        std::vector<std::string> names = std::move(below_);
        names.pop_back();
        go_down(names);
        return;
    }
    std::string up = path();
    if (up.empty()) throw Refused(Refusal::leads_outside, up);  // the current path is unknown
    up.resize(std::max<std::size_t>(up.rfind('/'), 1));
    settle(up);
}

void LinkWalk::step_outside(const std::string& name) {
    count_step();
    const std::string path = os::joined(outside_, name);
    if (const auto target = os::link_target(path)) {
        follow(*target);
        return;
    }
    // Whether a file exists outside the folders must not be revealed.
    const bool passable = errno == EINVAL && (pending_.empty() || os::is_folder(path));
    if (!passable) throw Refused(Refusal::leads_outside, path);
    settle(path);
}

// The walk is now at another path without links. The text of the path decides whether it is in a
// root, and descriptors decide where it leads.
void LinkWalk::settle(const std::string& path) {
    for (const Root& root : roots_) {
        const auto rest = os::path_below(path, root.real_path);
        if (!rest) continue;
        std::vector<std::string> ahead = std::move(pending_);
        pending_.clear();
        push(*rest);
        std::vector<std::string> names(pending_.rbegin(), pending_.rend());
        pending_ = std::move(ahead);
        root_ = &root;
        go_down(names);
        return;
    }
    root_ = nullptr;
    here_ = nullptr;
    outside_ = path;
}

os::FoundObject LinkWalk::find(std::string_view location) {
    root_ = &roots_.front();
    go_down({});
    push(location);
    while (!pending_.empty()) {
        const std::string name = std::move(pending_.back());
        pending_.pop_back();
        if (name == "..") {
            go_up();
        } else if (!inside()) {
            step_outside(name);
        } else {
            os::FoundObject found = look_up(name);
            const bool is_folder = found.status().kind == os::FileKind::folder;
            if (found.status().kind == os::FileKind::link) {
                follow(found.link_target());
            } else if (pending_.empty()) {
                if (to_folder_ && !is_folder) throw FileError(ENOTDIR, name);
                return found;
            } else {
                enter(std::move(found));
            }
        }
    }
    // The path ends at a folder: "..", or a link to a folder.
    if (!inside()) throw Refused(Refusal::leads_outside, outside_);
    throw FileError(EISDIR, path());
}

}  // namespace onnxmap::contain
