// Hostile locations of external data, in a folder of traps, under every policy, also if the kernel
// forbids or fails calls. Three rules must hold. Nothing outside the model's folders is ever
// opened. Only regular files are opened for reading. The verdict is that of a table of the tree.
//
// The input has two bytes of choices, perhaps failures of system calls, the targets of two links,
// and the location.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "contain/location.hpp"
#include "fuzz/custom_mutator.hpp"
#include "fuzz/hostile_tree.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/watched_calls.hpp"
#include "fuzz/work_limit.hpp"
#include "os/descriptor_pool.hpp"
#include "tensor/external_data.hpp"

namespace onnxmap::fuzz {

namespace {

constexpr std::array kErrors = {ENOSYS, EPERM, EACCES, EMFILE, ENOENT, EAGAIN,
                                EXDEV,  EINTR, EIO,    ENOMEM, ELOOP,  ENOTDIR};
constexpr std::size_t kMostFailures = 4;
constexpr long kProcMagic = 0x9fa0;

struct Choices {
    contain::LinkPolicy links;
    bool allow_hardlinks;
    bool second_root;
    bool read;
    bool no_openat2;
    bool no_proc;
    bool failures;
    Swap swap;        // made after the location was opened
    bool close_held;  // closes all that is open after that
};

class Input {
  public:
    explicit Input(ByteView bytes) : left_(bytes) {}

    [[nodiscard]] std::uint8_t byte() {
        if (left_.empty()) return 0;
        const std::uint8_t first = left_.front();
        left_ = left_.subspan(1);
        return first;
    }
    [[nodiscard]] std::string_view text() {
        const std::size_t asked = byte() % 128;
        const std::size_t length = std::min(asked, left_.size());
        const std::string_view text = as_text(left_.first(length));
        left_ = left_.subspan(length);
        return text;
    }
    [[nodiscard]] std::string_view rest() const { return as_text(left_); }

  private:
    ByteView left_;
};

Choices choices_of(std::uint8_t bits, std::uint8_t later) {
    constexpr contain::LinkPolicy kPolicies[] = {
        contain::LinkPolicy::contained, contain::LinkPolicy::contained, contain::LinkPolicy::strict,
        contain::LinkPolicy::trusted};
    const auto bit = [&](unsigned i) { return (bits >> i & 1) != 0; };
    return {kPolicies[bits & 3],
            bit(2),
            bit(3),
            bit(4),
            bit(5),
            bit(6),
            bit(7),
            static_cast<Swap>(later % 8 % kSwaps),
            (later & 8) != 0};
}

/// Whether docs/security promises that the text is refused. Shares no code with tensor/location.
bool is_unsafe_text(std::string_view location) {
    if (location.find('\0') != std::string_view::npos) return true;
    if (location.starts_with('/') || location.starts_with('\\')) return true;
    for (const std::string_view separators : {"/", "/\\"}) {
        int depth = 0;
        for (std::string_view left = location; !left.empty();) {
            const std::size_t end = std::min(left.find_first_of(separators), left.size());
            const std::string_view name = left.substr(0, end);
            if (name == "..") --depth;
            if (!name.empty() && name != "." && name != "..") ++depth;
            if (depth < 0) return true;
            left.remove_prefix(std::min(end + 1, left.size()));
        }
    }
    return false;
}

struct Outcome {
    // Of an Error; "errno" of a FileError; "memory" if there was none; empty: opened.
    std::string code;
    std::uint64_t inode = 0;
};

Outcome open(const tensor::ExternalFiles& files, std::string_view location) {
    try {
        const auto source = files.open(location, "tensor");
        touch(source->resident(0, source->size()));
        return {"", source->identity().value_or(os::FileIdentity()).inode};
    } catch (const Error& error) {
        touch(as_bytes(std::string_view(error.what())));
        return {error.code};
    } catch (const FileError&) {
        return {"errno"};
    } catch (const std::bad_alloc&) {
        return {"memory"};  // of the calls that fail, one was mmap
    }
}

std::string_view code_of(Expected::What what) {
    switch (what) {
        case Expected::What::refused: return "ext.unsafe_path";
        case Expected::What::missing: return "ext.missing";
        case Expected::What::folder: return "ext.location";
        case Expected::What::not_regular: return "ext.not_regular";
        default: return "";
    }
}

void check_opened(const HostileTree& tree, const Choices& choices, int descriptor, int flags) {
    struct stat status{};
    struct statfs system{};
    require(::fstat(descriptor, &status) == 0 && ::fstatfs(descriptor, &system) == 0,
            "what was opened cannot be looked at");
    const bool reads = (flags & O_PATH) == 0;
    if (reads) {
        // Folders are listed to find a name like that of a missing file.
        require(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode), "a special file was opened");
        require(system.f_type != kProcMagic, "a file of the kernel was opened for reading");
    }
    if (choices.links == contain::LinkPolicy::trusted) return;
    // To see that a folder is another one now, the core must open its path.
    if (choices.swap == Swap::root_for_link && S_ISDIR(status.st_mode)) return;
    // A second hard link may be looked at, but not opened.
    if (choices.swap == Swap::file_for_hard_link) return;
    require(tree.is_inside(status.st_dev, status.st_ino), "something outside was opened");
    require(!reads || S_ISDIR(status.st_mode) || status.st_nlink == 1 || choices.allow_hardlinks,
            "a file with another name was opened for reading");
}

// An open file stays the same. Opening the name again gives the same file or an error.
void check_after_swap(HostileTree& tree, const Choices& choices, std::string_view location,
                      const tensor::ExternalFiles& files, const Outcome& before) {
    {
        const UnwatchedCalls own;
        tree.swap(choices.swap);
    }
    if (choices.close_held) os::close_held();
    try {
        const auto source = files.open(location, "tensor");
        source->check_unchanged();
        const auto file = source->file();
        require(file->identity().inode == before.inode, "a file became another");
        std::array<std::uint8_t, 4> bytes{};
        file->read(0, bytes);
    } catch (const Error& error) {
        touch(as_bytes(std::string_view(error.what())));
    } catch (const FileError&) {
    } catch (const std::bad_alloc&) {
        require(choices.failures, "there was no memory");
    }
    const UnwatchedCalls own;
    tree.swap_back(choices.swap);
}

void check_verdict(const Outcome& outcome, const Expected& expected, bool failures) {
    using enum Expected::What;
    if (expected.what == unknown) return;
    if (outcome.code.empty()) {
        require(expected.what == file, "something was opened that must not be");
        require(outcome.inode == expected.inode, "another file was opened");
    } else if (!failures) {
        const std::string difference =
            outcome.code + ", and it should be " + std::string(code_of(expected.what));
        if (outcome.code != code_of(expected.what)) fail(difference.c_str());
    }
}

}  // namespace

MessagePart message_of(ByteView) { return {}; }

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    static fuzz::HostileTree tree;
    fuzz::Input input({data, size});
    const std::uint8_t bits = input.byte();
    const fuzz::Choices choices = fuzz::choices_of(bits, input.byte());
    fuzz::CallPlan plan;
    plan.openat2_fails = choices.no_openat2 ? ENOSYS : 0;
    plan.no_proc = choices.no_proc;
    if (choices.failures) {
        for (std::size_t left = 1 + input.byte() % fuzz::kMostFailures; left > 0; --left) {
            const unsigned call = input.byte();
            plan.failures.push_back({call, fuzz::kErrors[input.byte() % fuzz::kErrors.size()]});
        }
    }
    const std::string_view first = input.text();
    tree.set_links(first, input.text());
    const std::string_view location = input.rest();

    const fuzz::WorkLimit limit(size);
    plan.on_open = [&](int descriptor, int flags) {
        fuzz::check_opened(tree, choices, descriptor, flags);
    };
    tensor::ExternalFolder external;
    external.root = tree.model();
    external.policy = {choices.links, choices.allow_hardlinks};
    external.mode = choices.read ? source::IoMode::read : source::IoMode::mmap;
    fuzz::Outcome outcome;
    {
        const fuzz::WatchedCalls watched(std::move(plan));
        try {
            if (choices.second_root) {
                const os::File model = os::File::open(tree.model_file());
                external.model_folder = os::real_folder_of(tree.model_file(), model.identity());
                fuzz::require(
                    choices.failures || choices.no_proc || external.model_folder != nullptr,
                    "the folder of the model file is not found");
            }
            const tensor::ExternalFiles files(external);
            outcome = fuzz::open(files, location);
            // The second time gives the known source, or fails alike.
            if (!choices.failures) {
                fuzz::require(fuzz::open(files, location).code == outcome.code,
                              "the same name is judged in two ways");
            }
            if (outcome.code.empty()) {
                fuzz::check_after_swap(tree, choices, location, files, outcome);
            }
        } catch (const FileError&) {
            fuzz::require(choices.failures, "a folder that is there cannot be opened");
            return 0;
        } catch (const Error& error) {
            fuzz::require(choices.failures, error.code.c_str());
            return 0;
        }
    }
    if (fuzz::is_unsafe_text(location)) {
        fuzz::require(location.empty() || outcome.code == "ext.unsafe_path",
                      "an unsafe text is not refused as one");
        fuzz::require(!contain::is_safe_location(location), "an unsafe text is called safe");
        return 0;
    }
    try {
        contain::check_location(location);
    } catch (const contain::LocationFault& fault) {
        fuzz::require(outcome.code == fault.code && !contain::is_safe_location(location),
                      "the text of a location is judged in two ways");
        return 0;
    }
    fuzz::require(contain::is_safe_location(location), "a safe text is called unsafe");
    if (choices.links == contain::LinkPolicy::trusted) return 0;
    const fuzz::Rules rules = {choices.links == contain::LinkPolicy::contained,
                               choices.allow_hardlinks, choices.second_root};
    fuzz::check_verdict(outcome, tree.verdict(location, rules), choices.failures);
    return 0;
}
