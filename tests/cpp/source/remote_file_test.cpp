#include "source/remote_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "caught.hpp"
#include "random_bytes.hpp"
#include "sample_models.hpp"
#include "structure_of.hpp"

namespace onnxmap::test {

namespace {

struct Range {
    std::uint64_t offset, nbytes;
};

// Bytes in memory that are read like those of a server. It records the requests.
class RecordingServer final : public source::RangeReader {
  public:
    explicit RecordingServer(Bytes bytes, std::string state = "state")
        : bytes_(std::move(bytes)), state_(std::move(state)) {}

    [[nodiscard]] const std::string& url() const noexcept override { return url_; }
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    [[nodiscard]] const std::string& state() const noexcept override { return state_; }
    [[nodiscard]] unsigned at_once() const noexcept override { return 3; }

    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        {
            const std::lock_guard lock(mutex_);
            asked_.push_back({offset, out.size()});
        }
        if (meanwhile) meanwhile(offset);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    }
    void check_unchanged() const override { ++looks; }

    [[nodiscard]] std::vector<Range> asked() const {
        const std::lock_guard lock(mutex_);
        return asked_;
    }

    std::function<void(std::uint64_t)> meanwhile;
    mutable std::atomic<int> looks = 0;

  private:
    Bytes bytes_;
    std::string state_;
    std::string url_ = "https://example.org/m.onnx";
    mutable std::mutex mutex_;
    mutable std::vector<Range> asked_;
};

}  // namespace

TEST_CASE("remote_file: tells its URL, size and state") {
    const auto requests = std::make_shared<const RecordingServer>(random_bytes(1000));
    source::RemoteFile file(requests);
    CHECK(file.size() == 1000);
    CHECK(file.path() == requests->url());
    CHECK(std::string(file.kind()) == "remote");
    CHECK_FALSE(file.viewable());
    CHECK(file.read_habits().at_once == 3);
    CHECK(requests->asked().empty());
}

TEST_CASE("remote_file: few requests read the structure of a model, and none its payload") {
    constexpr std::size_t kPayload = 1 << 20;
    Bytes graph = blob(1, node("Conv"));
    for (int i = 0; i < 20; ++i) {
        graph = join(graph, blob(5, raw_tensor("w", Bytes(kPayload, 0x77))));
    }
    const auto requests =
        std::make_shared<const RecordingServer>(model(join(graph, blob(2, "graph"))));
    source::RemoteFile file(requests);
    CHECK(model_structure(*file.feed()).child_parts.size() == 1);
    std::uint64_t moved = 0;
    for (const Range& range : requests->asked()) moved += range.nbytes;
    CHECK(requests->asked().size() <= 22);
    CHECK(moved < 400'000);
}

TEST_CASE("remote_file: sequential reads make larger and larger requests") {
    Bytes graph;
    const Bytes one = blob(1, node("Conv"));
    for (int i = 0; i < 300'000; ++i) graph.insert(graph.end(), one.begin(), one.end());
    const auto requests = std::make_shared<const RecordingServer>(model(graph));
    source::RemoteFile file(requests);
    static_cast<void>(model_structure(*file.feed()));
    const auto asked = requests->asked();
    REQUIRE(asked.size() >= 2);
    CHECK(asked[0].nbytes == 64 << 10);
    CHECK(asked.size() <= 5 + requests->size() / (512 << 10));
}

TEST_CASE("remote_file: a request waits for no other") {
    // The first request can only end after the second. A lock during a request would be a deadlock.
    const Bytes bytes = random_bytes(100'000);
    auto requests = std::make_shared<RecordingServer>(bytes);
    std::mutex mutex;
    std::condition_variable changed;
    bool second_done = false;
    std::atomic<bool> in_time = true;
    requests->meanwhile = [&](std::uint64_t offset) {
        if (offset != 0) return;
        std::unique_lock lock(mutex);
        const auto done = [&] { return second_done; };
        if (!changed.wait_for(lock, std::chrono::seconds(20), done)) in_time = false;
    };
    source::RemoteFile file(requests);
    static_cast<void>(file.feed());
    std::thread first([&] { CHECK(shows(file.resident(0, 1000), bytes, 0)); });
    std::thread second([&] {
        CHECK(shows(file.resident(500, 5000), bytes, 500));
        const std::lock_guard lock(mutex);
        second_done = true;
        changed.notify_all();
    });
    first.join();
    second.join();
    CHECK(in_time);
}

TEST_CASE("remote_file: bytes that a view may show are not written again") {
    const Bytes bytes = random_bytes(10'000);
    const auto requests = std::make_shared<const RecordingServer>(bytes);
    source::RemoteFile file(requests);
    static_cast<void>(file.feed());
    const ByteView seen = file.resident(100, 100);
    auto* const there = const_cast<std::uint8_t*>(seen.data());
    there[5] = static_cast<std::uint8_t>(~there[5]);  // writing the bytes again would undo this
    static_cast<void>(file.resident(0, 10'000));
    CHECK(seen[5] != bytes[105]);
    CHECK(requests->asked().size() == 2);
    static_cast<void>(file.resident(3000, 4000));
    CHECK(requests->asked().size() == 2);
}

TEST_CASE("remote_file: many threads may request overlapping ranges") {
    const Bytes bytes = random_bytes(1 << 20);
    source::RemoteFile file(std::make_shared<const RecordingServer>(bytes));
    static_cast<void>(file.feed());
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937_64 random(seed);
            for (int i = 0; i < 200; ++i) {
                const std::uint64_t offset = random() % bytes.size();
                const std::uint64_t nbytes =
                    std::min<std::uint64_t>(random() % 20'000, bytes.size() - offset);
                if (!shows(file.resident(offset, nbytes), bytes, offset)) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("remote_file: a failed request leaves nothing behind") {
    const Bytes bytes = random_bytes(10'000);
    auto requests = std::make_shared<RecordingServer>(bytes);
    requests->meanwhile = [](std::uint64_t) { throw std::runtime_error("no"); };
    source::RemoteFile file(requests);
    static_cast<void>(file.feed());
    CHECK_THROWS_AS(static_cast<void>(file.resident(10, 100)), std::runtime_error);
    requests->meanwhile = nullptr;
    CHECK(shows(file.resident(0, 10'000), bytes, 0));
}

TEST_CASE("remote_file: a check counts for ten seconds, unless one is demanded now") {
    const auto requests = std::make_shared<const RecordingServer>(random_bytes(10));
    source::RemoteFile file(requests);
    file.check_unchanged(source::kRecently);
    CHECK(requests->looks == 0);
    file.check_unchanged();
    CHECK(requests->looks == 1);
    file.check_unchanged(source::kRecently);
    CHECK(requests->looks == 1);
}

TEST_CASE("remote_file: a file in one state has one source") {
    const auto open = [](const char* state) {
        return source::open_shared(std::make_shared<const RecordingServer>(Bytes(10), state));
    };
    const auto first = open("a");
    CHECK(open("a") == first);
    CHECK(open("b") != first);
}

}  // namespace onnxmap::test
