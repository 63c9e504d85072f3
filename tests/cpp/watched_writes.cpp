#include "watched_writes.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

namespace onnxmap::test {

namespace {

WatchedWrites* watched = nullptr;

const os::WriteCalls& system_calls = os::kSystemWriteCalls;

// Makes the call, unless the plan lets it fail.
template <class Call>
auto call_or_fail(Write call, std::string name, std::string to, Call&& make) -> decltype(make()) {
    if (const int number = WatchedWrites::current().begin(call, std::move(name), std::move(to))) {
        errno = number;
        return -1;
    }
    const auto result = make();
    if (result < 0) WatchedWrites::current().set_failed();
    return result;
}

std::string name_of(int file) { return WatchedWrites::current().name_of(file); }

std::size_t at_once(std::size_t nbytes) {
    return std::min(nbytes, WatchedWrites::current().most_at_once());
}

const os::WriteCalls kWatchedCalls{
    .open =
        [](int folder, const char* name, int flags, mode_t mode) {
            const bool is_folder = (flags & O_DIRECTORY) != 0;
            const std::string known = is_folder ? "." : name;
            return call_or_fail(Write::open, known, {}, [&] {
                const int opened = system_calls.open(folder, name, flags, mode);
                WatchedWrites::current().set_name(opened, known);
                return opened;
            });
        },
    .write =
        [](int file, const void* bytes, std::size_t nbytes) {
            return call_or_fail(Write::write, name_of(file), {},
                                [&] { return system_calls.write(file, bytes, at_once(nbytes)); });
        },
    .write_at =
        [](int file, const void* bytes, std::size_t nbytes, off_t offset) {
            return call_or_fail(Write::write_at, name_of(file), {}, [&] {
                return system_calls.write_at(file, bytes, at_once(nbytes), offset);
            });
        },
    .copy =
        [](int from, off_t offset, int to, std::size_t nbytes) {
            return call_or_fail(Write::copy, name_of(to), {}, [&] {
                return system_calls.copy(from, offset, to, at_once(nbytes));
            });
        },
    .cut =
        [](int file, off_t nbytes) {
            return call_or_fail(Write::cut, name_of(file), {},
                                [&] { return system_calls.cut(file, nbytes); });
        },
    .set_times =
        [](int file, const timespec* times) {
            return call_or_fail(Write::set_times, name_of(file), {},
                                [&] { return system_calls.set_times(file, times); });
        },
    .lock =
        [](int file) {
            return call_or_fail(Write::lock, name_of(file), {},
                                [&] { return system_calls.lock(file); });
        },
    .unlock =
        [](int file) {
            return call_or_fail(Write::unlock, name_of(file), {},
                                [&] { return system_calls.unlock(file); });
        },
    .set_owner =
        [](int file, uid_t user, gid_t group) {
            return call_or_fail(Write::set_owner, name_of(file), {},
                                [&] { return system_calls.set_owner(file, user, group); });
        },
    .set_mode =
        [](int file, mode_t mode) {
            return call_or_fail(Write::set_mode, name_of(file), {},
                                [&] { return system_calls.set_mode(file, mode); });
        },
    .set_attribute =
        [](int file, const char* name, const void* value, std::size_t nbytes) {
            return call_or_fail(Write::set_attribute, name_of(file), name, [&] {
                return system_calls.set_attribute(file, name, value, nbytes);
            });
        },
    .remove_attribute =
        [](int file, const char* name) {
            return call_or_fail(Write::remove_attribute, name_of(file), name,
                                [&] { return system_calls.remove_attribute(file, name); });
        },
    .sync = [](int file) { return call_or_fail(Write::sync, name_of(file), {}, [] { return 0; }); },
    .close =
        [](int file) {
            const std::string name = name_of(file);
            system_calls.close(file);  // it is closed also if the call fails
            return call_or_fail(Write::close, name, {}, [] { return 0; });
        },
    .rename =
        [](int from_folder, const char* from, int to_folder, const char* to) {
            return call_or_fail(Write::rename, from, to, [&] {
                return system_calls.rename(from_folder, from, to_folder, to);
            });
        },
    .rename_to_new =
        [](int from_folder, const char* from, int to_folder, const char* to) {
            return call_or_fail(Write::rename_to_new, from, to, [&] {
                return system_calls.rename_to_new(from_folder, from, to_folder, to);
            });
        },
    .link =
        [](int from_folder, const char* from, int to_folder, const char* to) {
            return call_or_fail(Write::link, from, to, [&] {
                return system_calls.link(from_folder, from, to_folder, to);
            });
        },
    .remove =
        [](int folder, const char* name) {
            return call_or_fail(Write::remove, name, {},
                                [&] { return system_calls.remove(folder, name); });
        },
    .make_folder =
        [](int folder, const char* name) {
            return call_or_fail(Write::make_folder, name, {},
                                [&] { return system_calls.make_folder(folder, name); });
        },
    .remove_folder =
        [](int folder, const char* name) {
            return call_or_fail(Write::remove_folder, name, {},
                                [&] { return system_calls.remove_folder(folder, name); });
        },
};

}  // namespace

WatchedWrites::WatchedWrites(WritePlan plan) : plan_(std::move(plan)) {
    watched = this;
    os::write_calls = &kWatchedCalls;
}

WatchedWrites::~WatchedWrites() {
    os::write_calls = &os::kSystemWriteCalls;
    watched = nullptr;
}

WatchedWrites& WatchedWrites::current() noexcept { return *watched; }

std::size_t WatchedWrites::count(Write call) const {
    return static_cast<std::size_t>(
        std::count_if(records_.begin(), records_.end(),
                      [&](const WriteRecord& record) { return record.call == call; }));
}

void WatchedWrites::set_failed() {
    const std::lock_guard lock(mutex_);
    records_.back().failed = true;
}

std::string WatchedWrites::name_of(int descriptor) {
    const std::lock_guard lock(mutex_);
    return names_[descriptor];
}

void WatchedWrites::set_name(int descriptor, std::string name) {
    const std::lock_guard lock(mutex_);
    names_[descriptor] = std::move(name);
}

int WatchedWrites::begin(Write call, std::string name, std::string to) {
    const std::lock_guard lock(mutex_);
    const std::size_t index = records_.size();
    if (plan_.before) plan_.before(index);
    int number = 0;
    if (index == plan_.fails_at || (plan_.and_all_later && index > plan_.fails_at)) {
        number = plan_.number;
    } else if (const auto never = plan_.never.find(call); never != plan_.never.end()) {
        number = never->second;
    }
    records_.push_back({call, std::move(name), std::move(to), number != 0});
    return number;
}

}  // namespace onnxmap::test
