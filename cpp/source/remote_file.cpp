#include "source/remote_file.hpp"

#include <chrono>
#include <utility>

#include "base/made_once.hpp"
#include "os/weak_registry.hpp"

namespace onnxmap::source {

namespace {

// A request takes some 50 ms, and a megabyte arrives in the same time. After a jump over a payload,
// little more than a header is read; sequential reads grow to a megabyte. The first read is eight
// times the least.
constexpr WindowSize::Bounds kBounds{.least = 8 << 10, .most = 1 << 20, .near = 64 << 10};

constexpr ReadHabits kHabits{.at_once = 16, .nbytes = 8 << 20, .gap = 256 << 10};

// Each check for changes is a request.
constexpr std::chrono::seconds kLookAtServerEvery{10};

using RemoteFiles = os::WeakRegistry<std::string, const Source>;
RemoteFiles& open_remote_files() { return made_once<RemoteFiles>(); }

}  // namespace

RemoteFile::RemoteFile(std::shared_ptr<const RangeReader> reader)
    : FetchedSource(Reads::on_their_own, WindowSize(kBounds)), reader_(std::move(reader)) {
    size_ = reader_->size();
    path_ = reader_->url();
}

ReadHabits RemoteFile::read_habits() const {
    ReadHabits habits = kHabits;
    habits.at_once = reader_->at_once();
    return habits;
}

Timestamp::duration RemoteFile::check_interval() const noexcept { return kLookAtServerEvery; }

std::shared_ptr<const Source> open_shared(std::shared_ptr<const RangeReader> reader) {
    const std::string state = reader->state();
    if (auto known = open_remote_files().find(state)) return known;
    return open_remote_files().keep(state, std::make_shared<const RemoteFile>(std::move(reader)));
}

}  // namespace onnxmap::source
