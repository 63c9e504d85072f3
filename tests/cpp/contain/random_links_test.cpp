// Random trees full of links. The walk, the kernel and an oracle must give one verdict on every
// name. The oracle follows the text of links, slowly and without descriptors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "contain/contained_open.hpp"
#include "contain/opened_text.hpp"
#include "sanitized.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders[] = {"model",  "model/a", "model/a/b", "real",
                                    "real/a", "out",     "out/a"};
constexpr const char* kNames[] = {"a", "b", "c", "d", "w.bin"};

class RandomTree {
  public:
    explicit RandomTree(std::uint64_t seed) : random_(seed) {
        for (const char* name : kFolders) fs::create_directories(top / name);
        for (const char* name : kFolders) {
            for (const char* entry : kNames) {
                const fs::path path = top / name / entry;
                if (fs::exists(fs::symlink_status(path))) continue;
                const std::uint64_t kind = random_() % 8;
                if (kind == 0) continue;
                if (kind == 1) {
                    folder.write((fs::path(name) / entry).string(), path.string());
                } else {
                    fs::create_symlink(target(), path);
                }
            }
        }
    }

    /// A name of one to four components below the model's folder. `..` never leaves that folder.
    [[nodiscard]] std::string location() {
        std::string name;
        int depth = 0;
        for (std::uint64_t left = 1 + random_() % 4; left > 0; --left) {
            const bool up = depth > 0 && random_() % 5 == 0;
            depth += up ? -1 : 1;
            name += (name.empty() ? "" : "/") + std::string(up ? ".." : any(kNames));
        }
        return name;
    }
    [[nodiscard]] Roots roots() const {
        return {os::Folder::open_shared((top / "model").string()),
                os::Folder::open_shared((top / "real").string())};
    }

    TemporaryFolder folder;
    fs::path top = fs::canonical(folder.path());

  private:
    template <std::size_t N>
    const char* any(const char* const (&names)[N]) {
        return names[random_() % N];
    }

    fs::path target() {
        fs::path path;
        if (random_() % 3 == 0) path = top / any(kFolders);
        for (std::uint64_t left = 1 + random_() % 4; left > 0; --left) {
            switch (random_() % 6) {
                case 0:
                case 1: path /= ".."; break;
                case 2: path /= any(kFolders); break;
                default: path /= any(kNames);
            }
        }
        return path;
    }

    std::mt19937_64 random_;
};

bool is_below(const fs::path& path, const fs::path& root) {
    const auto [end, rest] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
    return end == root.end();
}

class Oracle {
  public:
    explicit Oracle(const RandomTree& tree) : roots_{tree.top / "model", tree.top / "real"} {}

    [[nodiscard]] std::string verdict(const std::string& location) const {
        fs::path at = roots_[0];
        std::deque<fs::path> pending = components(location);
        for (int links = 0; !pending.empty();) {
            const fs::path name = pending.front();
            pending.pop_front();
            if (name == "..") {
                if (!fs::is_directory(at)) return missing(at, ENOTDIR);
                at = at.parent_path();
                continue;
            }
            if (!fs::is_directory(at)) return missing(at, ENOTDIR);
            const fs::path next = at / name;
            const fs::file_status status = fs::symlink_status(next);
            if (!fs::exists(status)) return missing(at, ENOENT);
            if (!fs::is_symlink(status)) {
                at = next;
                continue;
            }
            if (++links > 40) return errno_text(ELOOP);
            const fs::path target = fs::read_symlink(next);
            if (target.is_absolute()) at = "/";
            const std::deque<fs::path> ahead = components(target.relative_path());
            pending.insert(pending.begin(), ahead.begin(), ahead.end());
        }
        if (!inside(at)) return kOutside;
        return fs::is_directory(at) ? errno_text(EISDIR) : at.string();
    }

  private:
    static std::deque<fs::path> components(const fs::path& path) {
        return {path.begin(), path.end()};
    }
    [[nodiscard]] bool inside(const fs::path& path) const {
        return is_below(path, roots_[0]) || is_below(path, roots_[1]);
    }
    [[nodiscard]] std::string missing(const fs::path& in, int number) const {
        return inside(in) ? errno_text(number) : kOutside;
    }

    fs::path roots_[2];
};

std::string text(const fs::path& path) { return path.string(); }

}  // namespace

TEST_CASE("random_links: the kernel, the walk and the oracle give the same verdict") {
    std::map<std::string, int> verdicts;  // counted by kind, because each kind must occur
    for (std::uint64_t seed = 0; seed < (kSanitized ? 30 : 80); ++seed) {
        RandomTree tree(seed);
        const Oracle oracle(tree);
        const Roots roots = tree.roots();
        for (int i = 0; i < 100; ++i) {
            const std::string location = tree.location();
            const std::string expected = oracle.verdict(location);
            CAPTURE(seed);
            CAPTURE(location);
            // The content of every file is its own path.
            REQUIRE(walk(roots, location) == expected);
            REQUIRE(open_contained(roots, location) == expected);
            const bool is_file = expected.starts_with('/');
            const fs::path full = fs::path(tree.top / "model" / location);
            std::error_code failure;
            const fs::path real = fs::canonical(full, failure);
            if (is_file) REQUIRE(text(real) == expected);
            // A name opens exactly if the system finds a regular file in a root.
            const bool reachable =
                !failure && fs::is_regular_file(real) &&
                (is_below(real, tree.top / "model") || is_below(real, tree.top / "real"));
            REQUIRE(is_file == reachable);
            // Without links on the way, the strict policy gives the same verdict.
            const std::string strict =
                open_contained(roots, location, {contain::LinkPolicy::strict});
            REQUIRE((strict == expected || strict == refusal_text(contain::Refusal::is_link)));
            REQUIRE(walk(roots, location, false) == strict);
            ++verdicts[is_file ? "file" : expected];
        }
    }
    for (const std::string& verdict :
         {std::string("file"), kOutside, errno_text(ENOENT), errno_text(ENOTDIR),
          errno_text(EISDIR), errno_text(ELOOP)}) {
        CAPTURE(verdict);
        CHECK(verdicts[verdict] > (kSanitized ? 30 : 100));
    }
}

}  // namespace onnxmap::test
