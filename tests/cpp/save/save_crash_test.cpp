// What a crash at any moment of a save leaves: a complete old or new set of files, or a model that
// is missing. An old model is never beside new data, or the other way round.
#include <doctest/doctest.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "caught.hpp"
#include "child_process.hpp"
#include "save/save_scenarios.hpp"

namespace onnxmap::test {

namespace {

bool is_recognisable(const SaveScenario& scenario, const std::string& name) {
    return scenario.new_texts().count(name) > 0 || name.ends_with(".onnxmap-old") ||
           (name.starts_with(".") && name.ends_with(".onnxmap-tmp"));
}

bool has_text(const Texts& texts, const std::string& name, const char* text) {
    const auto found = texts.find(name);
    return found != texts.end() && found->second == text;
}

// Whether no model loads with the wrong data, and nothing is lost.
bool is_sound(const SaveScenario& scenario, const Texts& texts) {
    for (const auto& [name, text] : texts) {
        if (!is_recognisable(scenario, name)) return false;
    }
    const Texts old = with_ending(texts, ".onnxmap-old");
    const auto is_kept_aside = [&](const std::string& name) {
        return std::any_of(old.begin(), old.end(), [&](const auto& file) {
            return file.first.starts_with(name + ".") && file.second == "1";
        });
    };
    for (const std::string& model : scenario.models) {
        if (has_text(texts, model, "2")) {
            for (const std::string& data : scenario.data) {
                if (!has_text(texts, data, "2")) return false;
            }
        } else if (has_text(texts, model, "1")) {
            for (const std::string& data : scenario.data) {
                if (scenario.was_there(data) && !has_text(texts, data, "1")) return false;
            }
        } else if (texts.count(model) > 0) {
            return false;  // torn
        } else if (scenario.was_there(model)) {
            if (!is_kept_aside(model)) return false;
            for (const std::string& data : scenario.data) {
                if (!scenario.was_there(data)) continue;
                if (!has_text(texts, data, "1") && !is_kept_aside(data)) return false;
            }
        }
    }
    return true;
}

// A disk that has lost power. Names that were not synced may be there or not, in any combination;
// a file that was not synced has lost its bytes.
class LostPower {
  public:
    explicit LostPower(const SaveScenario& scenario) {
        for (const std::string& name : scenario.old_files) {
            names_[name] = add("1", true);
        }
    }

    // Takes the next call. A call that failed has changed nothing.
    void take(const WriteRecord& record) {
        if (record.failed) return;
        switch (record.call) {
            case Write::open:
                if (record.name != ".") change("", record.name, add("2", false));
                break;
            case Write::sync:
                if (record.name == ".") {
                    for (const Change& one : unsynced_) apply(names_, one);
                    unsynced_.clear();
                } else {
                    files_[now(record.name)].synced = true;
                }
                break;
            case Write::rename:
            case Write::rename_to_new: change(record.name, record.to, now(record.name)); break;
            case Write::link: change("", record.to, now(record.name)); break;
            case Write::remove: change(record.name, "", 0); break;
            default: break;
        }
    }

    // Every folder that may be there after the power was lost now.
    [[nodiscard]] std::vector<Texts> folders() const {
        std::vector<Texts> all;
        REQUIRE(unsynced_.size() < 12);
        for (std::size_t kept = 0; kept < std::size_t{1} << unsynced_.size(); ++kept) {
            std::map<std::string, std::size_t> names = names_;
            for (std::size_t i = 0; i < unsynced_.size(); ++i) {
                if ((kept >> i & 1) != 0) apply(names, unsynced_[i]);
            }
            Texts texts;
            for (const auto& [name, file] : names) {
                texts[name] = files_[file].synced ? files_[file].text : "";
            }
            all.push_back(texts);
        }
        return all;
    }

  private:
    struct DiskFile {
        std::string text;
        bool synced;
    };
    struct Change {
        std::string from;  // empty: the file only gets a name
        std::string to;    // empty: it only loses one
        std::size_t file;
    };

    std::size_t add(const char* text, bool synced) {
        files_.push_back({text, synced});
        return files_.size() - 1;
    }

    static void apply(std::map<std::string, std::size_t>& names, const Change& change) {
        if (!change.from.empty()) names.erase(change.from);
        if (!change.to.empty()) names[change.to] = change.file;
    }

    [[nodiscard]] std::size_t now(const std::string& name) const {
        std::map<std::string, std::size_t> names = names_;
        for (const Change& one : unsynced_) apply(names, one);
        return names.at(name);
    }
    void change(const std::string& from, const std::string& to, std::size_t file) {
        unsynced_.push_back({from, to, file});
    }

    std::vector<DiskFile> files_;
    std::map<std::string, std::size_t> names_;  // on the disk
    std::vector<Change> unsynced_;
};

}  // namespace

TEST_CASE("save_crash: every call from some moment on fails, as after a kill") {
    for (const SaveScenario& scenario : save_scenarios()) {
        for (const auto& never : lesser_systems()) {
            CAPTURE(scenario.title);
            for (std::size_t call = 0;; ++call) {
                CAPTURE(call);
                const TemporaryFolder folder;
                scenario.prepare(folder);
                const WatchedWrites watched(
                    {.fails_at = call, .and_all_later = true, .never = never});
                try {
                    static_cast<void>(scenario.save_in(folder));
                } catch (const Failure&) {
                    // What is left counts.
                }
                const Texts texts = texts_in(folder.path());
                CAPTURE(line_of(texts));
                CHECK(is_sound(scenario, texts));
                if (watched.records().size() <= call) break;
            }
        }
    }
}

TEST_CASE("save_crash: power is lost after any call") {
    for (const SaveScenario& scenario : save_scenarios()) {
        for (const auto& never : lesser_systems()) {
            CAPTURE(scenario.title);
            CAPTURE(never.size());
            const TemporaryFolder folder;
            scenario.prepare(folder);
            const WatchedWrites watched({.never = never});
            static_cast<void>(scenario.save_in(folder));
            LostPower disk(scenario);
            std::size_t call = 0;
            for (const WriteRecord& record : watched.records()) {
                CAPTURE(call);
                ++call;
                disk.take(record);
                for (const Texts& texts : disk.folders()) {
                    CAPTURE(line_of(texts));
                    CHECK(is_sound(scenario, texts));
                }
            }
            // When the save returns, the new files are on the disk.
            for (const Texts& texts : disk.folders()) {
                for (const auto& [name, text] : scenario.new_texts()) {
                    CHECK(has_text(texts, name, text.c_str()));
                }
            }
        }
    }
}

TEST_CASE("save_crash: files that cannot be put back are named") {
    const SaveScenario scenario{"an old pair", {"m", "w"}, {"m"}, {"w"}};
    const TemporaryFolder folder;
    scenario.prepare(folder);
    std::size_t call = 0;
    {
        const TemporaryFolder other;
        scenario.prepare(other);
        const WatchedWrites watched;
        static_cast<void>(scenario.save_in(other));
        while (watched.records()[call].to != "w") ++call;
    }
    const WatchedWrites watched({.fails_at = call, .number = ENOSPC, .and_all_later = true});
    const auto error = error_of([&] { return scenario.save_in(folder); });
    REQUIRE(error);
    CHECK(error->code == "save.not_restored");
    const std::string text = error->what();
    const Texts left = with_ending(texts_in(folder.path()), ".onnxmap-old");
    CHECK(left.size() == 2);
    for (const auto& [name, ignored] : left) CHECK(text.find(folder / name) != std::string::npos);
    CHECK(text.find("No space left") != std::string::npos);
}

TEST_CASE("save_crash: a process that is killed at a random moment") {
    const SaveScenario scenario{"an old pair", {"m", "w"}, {"m"}, {"w"}};
    std::uint32_t random = 12345;
    for (int round = 0; round < 20; ++round) {
        const TemporaryFolder folder;
        scenario.prepare(folder);
        random = random * 1664525 + 1013904223;
        const auto after = static_cast<suseconds_t>(100 + (random >> 16) % 20'000);
        const auto ending = in_child([&] {
            std::signal(SIGALRM, [](int) { ::kill(::getpid(), SIGKILL); });
            const itimerval timer{{0, 0}, {0, after}};
            if (::setitimer(ITIMER_REAL, &timer, nullptr) != 0) return 1;
            static_cast<void>(scenario.save_in(folder));
            for (;;) ::pause();
        });
        CHECK(ending == Ending{-1, SIGKILL});
        const Texts texts = texts_in(folder.path());
        CHECK(is_sound(scenario, texts));
        // Whatever is left, the next save works.
        static_cast<void>(scenario.save_in(folder));
        CHECK(text_of(folder / "m") == "2");
        CHECK(text_of(folder / "w") == "2");
    }
}

}  // namespace onnxmap::test
