#include "fuzz/hostile_tree.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <filesystem>
#include <system_error>

namespace onnxmap::fuzz {

namespace {

namespace fs = std::filesystem;

// The limit of Linux. Source: path_resolution(7).
constexpr int kMostLinks = 40;
// A path of more names may be given up before its end, to bound the work.
constexpr std::size_t kMostNames = 100;

std::string join(const std::string& folder, std::string_view name) {
    return folder + (folder == "/" ? "" : "/") + std::string(name);
}

bool is_below(const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder + "/");
}

void require_success(int result, const std::string& path) {
    if (result != 0) throw std::system_error(errno, std::generic_category(), path);
}

struct stat status_of(const std::string& path) {
    struct stat status{};
    require_success(::lstat(path.c_str(), &status), path);
    return status;
}

std::deque<std::string> names_of(std::string_view path) {
    std::deque<std::string> names;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view name = path.substr(0, slash);
        if (!name.empty() && name != ".") names.emplace_back(name);
        path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return names;
}

}  // namespace

HostileTree::HostileTree()
    : top_(fs::canonical(folder_.path()).string()), model_(top_ + "/model"), real_(top_ + "/real") {
    for (fs::path above = top_; above != above.root_path(); above = above.parent_path()) {
        nodes_[above.string()] = {Kind::folder, "", 0, false};
    }
    nodes_["/"] = {Kind::folder, "", 0, false};
    for (const char* name : {"model", "model/sub", "model/sub/deep", "real", "real/sub", "outside",
                             "outside/sub", "model2"}) {
        add_folder(join(top_, name));
    }
    for (const char* name :
         {"model/w.bin", "model/sub/w.bin", "model/sub/deep/w.bin", "model/a..b", "model/.w",
          "real/w.bin", "real/sub/w.bin", "real/model.onnx", "outside/w.bin", "outside/linked",
          "outside/canary", "outside/sub/canary", "model2/canary", "canary", "model/two"}) {
        add_file(join(top_, name));
    }
    add_hard_link(model_ + "/two_names", model_ + "/two");
    add_hard_link(model_ + "/hard", top_ + "/outside/linked");
    add_special(model_ + "/fifo");
    add_special(top_ + "/outside/fifo");

    const std::pair<const char*, std::string> links[] = {
        {"model/model.onnx", "../real/model.onnx"},
        {"model/in", "w.bin"},
        {"model/in_absolute", model_ + "/w.bin"},
        {"model/folder", "sub"},
        {"model/slash", "w.bin/"},
        {"model/folder_slash", "sub/"},
        {"model/dot", "."},
        {"model/up", ".."},
        {"model/sub/up", ".."},
        {"model/root", "/"},
        {"model/proc", "/proc/self"},
        {"model/null", "/dev/null"},
        {"model/out", "../outside/canary"},
        {"model/out_absolute", top_ + "/outside/canary"},
        {"model/out_folder", "../outside"},
        {"model/out_missing", "../outside/nothing"},
        {"model/beside", "../model2/canary"},
        {"model/missing", "nothing"},
        {"model/back", "../outside/to_model"},
        {"model/to_real", "../real/w.bin"},
        {"model/to_fifo", "fifo"},
        {"model/to_hard", "hard"},
        {"model/loop", "loop"},
        {"model/loop1", "sub/loop2"},
        {"model/sub/loop2", "../loop1"},
        {"real/to_model", "../model/w.bin"},
        {"real/out", "../outside/canary"},
        {"outside/to_model", "../model/w.bin"},
        {"outside/to_folder", "../model"},
        {"outside/sub/to_real", top_ + "/real"},
    };
    for (const auto& [path, target] : links) add_link(join(top_, path), target);
    for (int i = 0; i < kMostLinks + 2; ++i) {
        const std::string number = std::to_string(i);
        add_link(model_ + "/chain" + number, i == 0 ? "w.bin" : "chain" + std::to_string(i - 1));
    }
    note_inside(model_);
    note_inside(real_);
    for (const auto& [path, node] : nodes_) {
        if (is_below(path, model_) || is_below(path, real_)) note_inside(path);
    }
}

void HostileTree::set_links(std::string_view first, std::string_view second) {
    const std::pair<std::string, std::string_view> links[] = {
        {model_ + "/dynamic1", first.substr(0, first.find('\0'))},
        {top_ + "/outside/dynamic2", second.substr(0, second.find('\0'))},
    };
    for (const auto& [path, target] : links) {
        const auto known = nodes_.find(path);
        if (known != nodes_.end() ? known->second.target == target : target.empty()) continue;
        if (known != nodes_.end()) {
            forget_inside(path);
            ::unlink(path.c_str());
            nodes_.erase(known);
        }
        if (target.empty()) continue;
        add_link(path, target);
        if (is_below(path, model_)) note_inside(path);
    }
}

std::string HostileTree::swapped_path(Swap what) const {
    if (what == Swap::root_for_link) return model_;
    return model_ + (what == Swap::folder_for_link ? "/sub" : "/w.bin");
}

void HostileTree::swap(Swap what) {
    if (what == Swap::none) return;
    const std::string path = swapped_path(what);
    fs::rename(path, top_ + "/aside");
    switch (what) {
        case Swap::file_for_hard_link: fs::create_hard_link(top_ + "/outside/w.bin", path); break;
        case Swap::file_for_fifo: require_success(::mkfifo(path.c_str(), 0600), path); break;
        case Swap::folder_for_link: fs::create_symlink(top_ + "/outside/sub", path); break;
        case Swap::root_for_link: fs::create_symlink(top_ + "/outside", path); break;
        default: fs::create_symlink(top_ + "/outside/w.bin", path);
    }
    // A link or FIFO in its place is inside, wherever it leads. A hard link to a file outside is
    // not.
    if (what != Swap::file_for_hard_link) note_inside(path);
}

void HostileTree::swap_back(Swap what) {
    if (what == Swap::none) return;
    const std::string path = swapped_path(what);
    if (what != Swap::file_for_hard_link) forget_inside(path);
    fs::remove(path);
    fs::rename(top_ + "/aside", path);
}

Expected HostileTree::verdict(std::string_view location, Rules rules) const {
    using enum Expected::What;
    std::string at = model_;
    std::deque<std::string> ahead = names_of(location);
    bool to_folder = false;
    int links = 0;
    const auto inside = [&] {
        return is_below(at, model_) || (rules.second_root && is_below(at, real_));
    };
    const auto none = [&] { return Expected{inside() ? missing : refused}; };
    while (!ahead.empty()) {
        if (ahead.size() > kMostNames) return {unknown};
        const std::string name = ahead.front();
        ahead.pop_front();
        const Node* here = find(at);
        if (here == nullptr || here->kind != Kind::folder) return none();
        if (name == "..") {
            at = at.substr(0, at.rfind('/'));
            if (at.empty()) at = "/";
            continue;
        }
        const std::string next = join(at, name);
        const Node* node = find(next);
        if (node == nullptr) {
            if (!is_below(at, top_)) return {unknown};
            return none();
        }
        if (node->kind != Kind::link) {
            at = next;
            continue;
        }
        if (!rules.follow_links) return {refused};
        if (++links > kMostLinks) return {missing};
        const std::string_view target = node->target;
        if (ahead.empty() && (target.ends_with('/') || target.ends_with("/."))) to_folder = true;
        const std::deque<std::string> names = names_of(target);
        ahead.insert(ahead.begin(), names.begin(), names.end());
        if (target.starts_with('/')) at = "/";
    }
    if (!inside()) return {refused};
    const Node* found = find(at);
    if (found->kind == Kind::folder) return {folder};
    if (to_folder) return {missing};
    if (found->kind == Kind::special) return {not_regular};
    if (found->hard_links && !rules.allow_hardlinks) return {refused};
    return {file, found->inode};
}

void HostileTree::add_folder(const std::string& path) {
    fs::create_directories(path);
    nodes_[path] = {Kind::folder, "", 0, false};
}

void HostileTree::add_file(const std::string& path) {
    folder_.write(fs::path(path).lexically_relative(top_).string(), path);
    nodes_[path] = {Kind::file, "", status_of(path).st_ino, false};
}

void HostileTree::add_hard_link(const std::string& path, const std::string& other) {
    fs::create_hard_link(other, path);
    nodes_.at(other).hard_links = true;
    nodes_[path] = nodes_.at(other);
}

void HostileTree::add_link(const std::string& path, std::string_view target) {
    fs::create_symlink(target, path);
    nodes_[path] = {Kind::link, std::string(target), 0, false};
}

void HostileTree::add_special(const std::string& path) {
    require_success(::mkfifo(path.c_str(), 0600), path);
    nodes_[path] = {Kind::special, "", 0, false};
}

void HostileTree::note_inside(const std::string& path) {
    const struct stat status = status_of(path);
    inside_.insert({status.st_dev, status.st_ino});
}

void HostileTree::forget_inside(const std::string& path) {
    const struct stat status = status_of(path);
    inside_.erase({status.st_dev, status.st_ino});
}

const HostileTree::Node* HostileTree::find(const std::string& path) const {
    const auto known = nodes_.find(path);
    return known == nodes_.end() ? nullptr : &known->second;
}

}  // namespace onnxmap::fuzz
