// Each system call of a save fails once. Afterwards all names are what they were before, or the
// save is complete.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "caught.hpp"
#include "child_process.hpp"
#include "opened.hpp"
#include "plain_os.hpp"
#include "save/save_scenarios.hpp"

namespace onnxmap::test {

namespace {

// POSIX has no such copies, so the first one fails already.
const std::size_t kEndOfCopies = kPlainOs ? 4 : 7;

struct Outcome {
    std::optional<FileError> error;
    std::optional<WriteRecord> failed;  // the call that the plan let fail
    save::SaveResult result;
};

Outcome save_with(const SaveScenario& scenario, const TemporaryFolder& folder, WritePlan plan) {
    Outcome outcome;
    const std::size_t fails_at = plan.fails_at;
    const WatchedWrites watched(std::move(plan));
    try {
        outcome.result = scenario.save_in(folder);
    } catch (const FileError& error) {
        outcome.error = error;
    }
    if (fails_at < watched.records().size()) outcome.failed = watched.records()[fails_at];
    return outcome;
}

void check_outcome(const SaveScenario& scenario, const TemporaryFolder& folder,
                   const Outcome& outcome, int number) {
    Texts texts = texts_in(folder.path());
    const Write call = outcome.failed->call;
    if (call == Write::remove && !outcome.error) {
        // The save is complete; an old file is left and reported.
        REQUIRE(outcome.result.left_over.size() == 1);
        const std::string left = outcome.result.left_over[0];
        CHECK(left.ends_with(".onnxmap-old"));
        CHECK(text_of(left) == "1");
        REQUIRE(texts.erase(std::filesystem::path(left).filename().string()) == 1);
    }
    // A lone model cannot be undone once it has replaced an old one. All others can.
    const bool undone = outcome.error && texts == scenario.old_texts();
    const bool complete = texts == scenario.new_texts();
    CHECK((undone || complete));
    if (outcome.error) {
        CHECK(outcome.error->number == number);
        CHECK(outcome.error->path.starts_with(folder.path().string()));
        CHECK(outcome.error->path.find("onnxmap-") == std::string::npos);
        const bool is_of_names = call == Write::rename || call == Write::rename_to_new ||
                                 call == Write::link || call == Write::remove;
        CHECK((number != EINTR || is_of_names));
        if (!undone) {
            CHECK((call == Write::sync && outcome.failed->name == "."));
            CHECK(!scenario.old_texts().empty());
        }
    } else {
        CHECK(complete);
        const bool retried = number == EINTR && call != Write::rename;
        // A file without attributes, or whose ACL stays, gets no more permissions.
        const bool is_of_attributes =
            call == Write::set_attribute || call == Write::remove_attribute;
        // A lock that cannot be given back goes with its descriptor.
        CHECK((retried || is_of_attributes || call == Write::remove || call == Write::unlock ||
               call == Write::rename_to_new || call == Write::link));
    }
}

}  // namespace

TEST_CASE("save_failures: each call fails once") {
    for (const SaveScenario& scenario : save_scenarios()) {
        for (const auto& never : lesser_systems()) {
            for (const int number : {EIO, EINTR, ENOSPC, EDQUOT, EFBIG, EACCES}) {
                // The others are all treated alike, so a few saves show it.
                const bool is_rare = number != EIO && number != EINTR;
                if (is_rare && (!never.empty() || !scenario.title.starts_with("an old "))) continue;
                std::size_t calls = 0;
                for (bool failed = true; failed; ++calls) {
                    const TemporaryFolder folder;
                    scenario.prepare(folder);
                    CAPTURE(scenario.title);
                    CAPTURE(number);
                    CAPTURE(calls);
                    CAPTURE(never.size());
                    const Outcome outcome = save_with(
                        scenario, folder, {.fails_at = calls, .number = number, .never = never});
                    failed = outcome.failed.has_value();
                    if (failed) {
                        check_outcome(scenario, folder, outcome, number);
                    } else {
                        CHECK(!outcome.error);
                        CHECK(texts_in(folder.path()) == scenario.new_texts());
                    }
                }
                CHECK(calls > 6);
            }
        }
    }
}

TEST_CASE("save_failures: calls that write little at once") {
    for (const SaveScenario& scenario : save_scenarios()) {
        const TemporaryFolder folder;
        scenario.prepare(folder);
        const Outcome outcome = save_with(scenario, folder, {.most_at_once = 1});
        CHECK(!outcome.error);
        CHECK(texts_in(folder.path()) == scenario.new_texts());
    }
    // A disk that is full after some of the bytes.
    const TemporaryFolder folder;
    folder.write("m", "old");
    for (std::size_t call = 2; call < 6; ++call) {
        const WatchedWrites watched({.fails_at = call, .number = ENOSPC, .most_at_once = 10});
        CHECK(errno_of([&] {
                  return save::save_files(list_of(model_file(folder / "m", std::string(60, 'n'))));
              }) == ENOSPC);
        CHECK(watched.records()[call].call == Write::write);
        CHECK(texts_in(folder.path()) == Texts{{"m", "old"}});
    }
}

TEST_CASE("save_failures: a failed sync is not repeated") {
    for (const SaveScenario& scenario : save_scenarios()) {
        const TemporaryFolder folder;
        scenario.prepare(folder);
        const WatchedWrites watched({.never = {{Write::sync, EIO}}});
        CHECK(errno_of([&] { return scenario.save_in(folder); }) == EIO);
        CHECK(watched.count(Write::sync) == 1);
        CHECK(texts_in(folder.path()) == scenario.old_texts());
    }
}

TEST_CASE("save_failures: a file system that cannot sync folders") {
    for (const int number : {EINVAL, ENOTSUP}) {
        const TemporaryFolder folder;
        // 0: the folder is opened; 1: the file; 2: written; 3: synced; 4: closed; 5: the folder is
        // locked; 6: the file is renamed.
        const WatchedWrites watched({.fails_at = 7, .number = number});
        static_cast<void>(save::save_files(list_of(model_file(folder / "m", "2"))));
        CHECK(watched.records()[7].call == Write::sync);
        CHECK(texts_in(folder.path()) == Texts{{"m", "2"}});
    }
}

TEST_CASE("save_failures: copies by the kernel that fail at any call are done by reading") {
    const TemporaryFolder source_folder;
    std::string text(100'000, 'x');
    for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
    const std::string path = source_folder.write("source", text);
    for (const auto mode : {source::IoMode::mmap, source::IoMode::read}) {
        const auto source = open_source(path, mode);
        for (const int number : {EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM, EBADF, ETXTBSY, EIO}) {
            // 0: the folder is opened; 1: the file; 2: the header is written; 3: the first copy.
            for (std::size_t call = 3; call < kEndOfCopies; ++call) {
                const TemporaryFolder folder;
                auto files = list_of(model_file(folder / "m", "h"));
                files[0].parts.range(source, 1, text.size() - 2);
                files[0].parts.copy("footer");
                const WatchedWrites watched(
                    {.fails_at = call, .number = number, .most_at_once = 30'000});
                const auto result = save::save_files(files);
                CHECK(result.nbytes.copied == text.size() - 2);
                CHECK((text_of(folder / "m") == "h" + text.substr(1, text.size() - 2) + "footer"));
                CHECK(watched.records()[call].call == Write::copy);
                // After a failure, it is not tried again.
                CHECK(watched.count(Write::copy) == call - 2);
            }
        }
    }
}

TEST_CASE("save_failures: a source that changes while it is copied leaves the old file") {
    const TemporaryFolder sources;
    const TemporaryFolder folder;
    folder.write("m", "old");
    for (const bool cut : {true, false}) {
        const std::string path = sources.write("source", std::string(3'000'000, 'x'));
        auto files = list_of(model_file(folder / "m", ""));
        files[0].parts.range(open_source(path, source::IoMode::mmap), 0, 3'000'000);
        const WatchedWrites watched({.before = [&](std::size_t call) {
            if (call != 2) return;
            cut ? std::filesystem::resize_file(path, 1'000'000)
                : static_cast<void>(sources.write("source", std::string(4'000'000, 'y')));
        }});
        CHECK(code_of([&] { return save::save_files(files); }) == "file.changed");
        CHECK(texts_in(folder.path()) == Texts{{"m", "old"}});
    }
}

TEST_CASE("save_failures: a callback that raises at any call") {
    const TemporaryFolder folder;
    folder.write("m", "old");
    const std::size_t descriptors = open_descriptors();
    std::size_t calls = 0;
    for (bool raised = true; raised; ++calls) {
        raised = false;
        save::SaveOptions options;
        options.progress = [&, left = calls](auto, auto) mutable {
            if (left-- > 0) return;
            raised = true;
            throw std::domain_error("interrupted");
        };
        auto files = list_of(model_file(folder / "m", "new"), data_file(folder / "w", ""));
        for (int i = 0; i < 2000; ++i) files[1].parts.copy(std::string(10'000, 'x'));
        try {
            static_cast<void>(save::save_files(files, options));
        } catch (const std::domain_error&) {
            CHECK(texts_in(folder.path()) == Texts{{"m", "old"}});
            CHECK(open_descriptors() == descriptors);
        }
    }
    CHECK(calls > 6);
    CHECK(text_of(folder / "m") == "new");
}

TEST_CASE("save_failures: a file that may not grow further") {
    const TemporaryFolder folder;
    SaveScenario{"", {"m", "w"}, {}, {}}.prepare(folder);
    const auto ending = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{100'000, 100'000};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return -2;
        auto files = list_of(model_file(folder / "m", "2"), data_file(folder / "w", ""));
        files[1].parts.zeros(150'000);
        return errno_of([&] { return save::save_files(files); });
    });
    CHECK(ending == Ending{EFBIG, 0});
    CHECK(texts_in(folder.path()) == Texts{{"m", "1"}, {"w", "1"}});
}

}  // namespace onnxmap::test
