// Names that come out of untrusted files: what they may open, and that nothing else is opened.
#include "io/contained_open.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "caught.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

// A model folder, and beside it what a model must never reach.
class Tree {
  public:
    Tree() {
        folder.write("outside/secret.bin", "secret");
        folder.write("model/w.bin", "weights");
        folder.write("model/sub/w.bin", "below");
        folder.write("model/..w.bin", "dots");
        fs::create_symlink("w.bin", model / "link_in");
        fs::create_symlink("../outside/secret.bin", model / "link_out");
        fs::create_symlink(folder.path() / "outside/secret.bin", model / "link_absolute");
        fs::create_symlink("../outside", model / "dir_out");
        fs::create_symlink("sub", model / "dir_in");
        fs::create_symlink("loop", model / "loop");
        fs::create_symlink("missing", model / "dangling");
        REQUIRE(::mkfifo((model / "fifo").c_str(), 0600) == 0);
        make_socket();
    }

    [[nodiscard]] std::string read(const std::string& name) const {
        const io::File file = io::Folder(model.string()).open(name);
        Bytes out(file.size());
        file.read(0, out);
        return std::string(as_text(out));
    }
    [[nodiscard]] int refusal(const std::string& name) const {
        return errno_of([&] { return read(name); });
    }
    [[nodiscard]] std::string code(const std::string& name) const {
        return code_of([&] { return read(name); });
    }

    TemporaryFolder folder;
    fs::path model = folder.path() / "model";

  private:
    void make_socket() const {
        const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = (model / "socket").string();
        REQUIRE(path.size() < sizeof address.sun_path);
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
                0);
        ::close(descriptor);
    }
};

// Runs the call on a thread for which the kernel answers openat2 with this errno, as old kernels
// and sandboxes do. False where the sandbox of the test itself forbids that.
bool run_without_openat2(int number, const std::function<void()>& call) {
    bool possible = false;
    std::thread thread([&] {
        sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
            BPF_STMT(BPF_RET | BPF_K,
                     SECCOMP_RET_ERRNO | (static_cast<unsigned>(number) & SECCOMP_RET_DATA)),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
        possible = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
        if (possible) call();
    });
    thread.join();
    return possible;
}

// What holds with openat2 and without.
void check_what_never_opens(const Tree& tree) {
    CHECK(tree.refusal("../outside/secret.bin") == EXDEV);
    CHECK(tree.refusal("sub/../../outside/secret.bin") == EXDEV);
    CHECK(tree.refusal("..") == EXDEV);
    for (const char* link : {"link_out", "link_absolute", "dir_out/secret.bin", "loop"}) {
        CAPTURE(link);
        const int number = tree.refusal(link);
        const bool refused = number == ELOOP || number == EXDEV;
        CHECK(refused);
    }
    CHECK(tree.refusal("missing") == ENOENT);
    CHECK(tree.refusal("w.bin/x") == ENOTDIR);
    CHECK(tree.refusal(std::string(300, 'n')) == ENAMETOOLONG);
    CHECK(tree.code("sub") == "ext.not_regular");
    CHECK(tree.code("fifo") == "ext.not_regular");
    CHECK(tree.code("socket") == "ext.not_regular");
    CHECK(tree.read("w.bin") == "weights");
    CHECK(tree.read("sub/w.bin") == "below");
    CHECK(tree.read("./sub//w.bin") == "below");
    CHECK(tree.read("..w.bin") == "dots");
}

}  // namespace

TEST_CASE("contained_open: files below the folder open and nothing else does") {
    const Tree tree;
    const std::size_t before = open_descriptors();
    check_what_never_opens(tree);
    CHECK(open_descriptors() == before);
}

TEST_CASE("contained_open: links and dots that stay inside are followed") {
    const Tree tree;
    CHECK(tree.read("link_in") == "weights");
    CHECK(tree.read("dir_in/w.bin") == "below");
    CHECK(tree.read("sub/../w.bin") == "weights");
    CHECK(tree.refusal("dangling") == ENOENT);
}

TEST_CASE("contained_open: errors name the file") {
    const Tree tree;
    const io::Folder folder(tree.model.string());
    CHECK(folder.path() == tree.model.string());
    try {
        static_cast<void>(folder.open("missing"));
        FAIL("opened");
    } catch (const FileError& error) {
        CHECK(error.path == (tree.model / "missing").string());
    }
    const auto error = error_of([&] { return folder.open("fifo"); });
    REQUIRE(error);
    CHECK(error->file == (tree.model / "fifo").string());
}

TEST_CASE("contained_open: a folder that is none is refused") {
    const Tree tree;
    CHECK(errno_of([&] { return io::Folder((tree.model / "w.bin").string()).path().size(); }) ==
          ENOTDIR);
    CHECK(errno_of([&] { return io::Folder(tree.folder / "nowhere").path().size(); }) == ENOENT);
}

TEST_CASE("contained_open: the folder that was opened counts and not its name") {
    const Tree tree;
    const io::Folder folder(tree.model.string());
    fs::rename(tree.model, tree.folder.path() / "moved");
    fs::create_directory_symlink(tree.folder.path() / "outside", tree.model);
    tree.folder.write("outside/w.bin", "planted");
    const io::File file = folder.open("w.bin");
    Bytes out(file.size());
    file.read(0, out);
    CHECK(as_text(out) == "weights");
}

TEST_CASE("contained_open: without openat2 the walk refuses the same") {
    const Tree tree;
    const std::size_t before = open_descriptors();
    for (const int number : {ENOSYS, EPERM, EINVAL}) {
        CAPTURE(number);
        int links = 0;
        const bool possible = run_without_openat2(number, [&] {
            check_what_never_opens(tree);
            // Stricter than openat2, on purpose: the walk follows no link at all.
            links = tree.refusal("link_in");
        });
        if (!possible) {
            MESSAGE("no seccomp here: the walk was not tested");
            return;
        }
        CHECK(links == ELOOP);
    }
    CHECK(open_descriptors() == before);
}

}  // namespace onnxmap::test
