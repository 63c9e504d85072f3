// The system calls by which files are written, counted, recorded, and made to fail.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "os/write_calls.hpp"

namespace onnxmap::test {

enum class Write {
    open,
    write,
    write_at,
    copy,
    cut,
    set_times,
    lock,
    unlock,
    set_owner,
    set_mode,
    set_attribute,
    remove_attribute,
    sync,
    close,
    rename,
    rename_to_new,
    link,
    remove,
    make_folder,
    remove_folder
};

struct WriteRecord {
    Write call;
    std::string name;  // of the object, in its folder; of a synced folder: "."
    std::string to;    // of rename, rename_to_new and link
    bool failed = false;
};

struct WritePlan {
    static constexpr std::size_t kNever = ~std::size_t{0};

    std::size_t fails_at = kNever;      // the call with this number fails
    int number = 5;                     // with this errno (EIO)
    bool and_all_later = false;         // as after a crash
    std::map<Write, int> never = {};    // calls that always fail, and their errno
    std::size_t most_at_once = kNever;  // bytes that one call writes or copies
    std::function<void(std::size_t call)> before = {};
};

/// While an object of this class exists, calls follow its plan. The disk is not waited for.
class WatchedWrites {
  public:
    explicit WatchedWrites(WritePlan plan = {});
    ~WatchedWrites();
    WatchedWrites(const WatchedWrites&) = delete;
    WatchedWrites& operator=(const WatchedWrites&) = delete;

    [[nodiscard]] const std::vector<WriteRecord>& records() const noexcept { return records_; }
    [[nodiscard]] std::size_t count(Write call) const;

    // For the calls.
    [[nodiscard]] static WatchedWrites& current() noexcept;
    [[nodiscard]] int begin(Write call, std::string name, std::string to = {});
    void set_failed();
    [[nodiscard]] std::size_t most_at_once() const noexcept { return plan_.most_at_once; }
    [[nodiscard]] std::string name_of(int descriptor);
    void set_name(int descriptor, std::string name);

  private:
    WritePlan plan_;
    std::mutex mutex_;  // a file may be written by several threads
    std::vector<WriteRecord> records_;
    std::map<int, std::string> names_;
};

}  // namespace onnxmap::test
