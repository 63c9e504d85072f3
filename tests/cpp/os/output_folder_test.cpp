#include "os/output_folder.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "caught.hpp"
#include "child_process.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

namespace {

// Renames a file of the folder "a" to a name in "b".
int number_of_rename(const TemporaryFolder& folder, const std::string& from,
                     const std::string& to) {
    return errno_of([&] {
        const os::OutputFolder b(folder / "b", "b");
        os::OutputFolder(folder / "a", "a").rename_to_new(from, b, to, to);
        return 0;
    });
}

}  // namespace

TEST_CASE(
    "output_folder: a rename into another folder keeps a taken name, however the system renames") {
    for (const int number : {0, EINVAL, ENOSYS, EPERM}) {
        for (const int of_link : {0, EPERM, ENOTSUP}) {
            CAPTURE(number);
            CAPTURE(of_link);
            const TemporaryFolder folder;
            const std::string from = folder.write("a/f", "mine");
            const std::string taken = folder.write("b/taken", "theirs");
            WritePlan plan;
            if (number != 0) plan.never[Write::rename_to_new] = number;
            if (of_link != 0) plan.never[Write::link] = of_link;
            const WatchedWrites watched(plan);
            CHECK(number_of_rename(folder, "f", "taken") == EEXIST);
            CHECK(text_of(from) == "mine");
            CHECK(text_of(taken) == "theirs");
            CHECK(number_of_rename(folder, "missing", "new") == ENOENT);
            CHECK(number_of_rename(folder, "f", "new") == 0);
            CHECK(texts_in(folder.path() / "a").empty());
            CHECK(texts_in(folder.path() / "b") == Texts{{"new", "mine"}, {"taken", "theirs"}});
            CHECK(std::filesystem::hard_link_count(folder / "b/new") == 1);
        }
    }
}

// std::random_device of LLVM's library opens a file.
TEST_CASE("output_folder: unique names need no descriptor") {
    const Ending ending = in_child([] {
        const rlimit none{0, 0};
        if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
        return os::unique_name("a", ".b") != os::unique_name("a", ".b") ? 0 : 2;
    });
    CHECK(ending == Ending{0, 0});
}

}  // namespace onnxmap::test
