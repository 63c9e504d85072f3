// What a stream reads ahead of its reader. The reads of the source can be held up.
#include "bulk/tensor_stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bulk_model.hpp"
#include "caught.hpp"
#include "threads_of_process.hpp"

namespace onnxmap::test {

namespace {

using bulk::TensorStream;
using State = TensorStream::State;

constexpr std::chrono::milliseconds kForEver{60'000};
constexpr std::chrono::milliseconds kNotAtAll{0};

std::vector<Bytes> tensors_of(const std::vector<std::size_t>& sizes) {
    std::vector<Bytes> made;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        made.push_back(raw_tensor(std::to_string(i), counting(sizes[i], i)));
    }
    return made;
}

// One read for each tensor.
constexpr source::ReadHabits kWhole{1, 1 << 20, 0};

}  // namespace

TEST_CASE("tensor_stream: every tensor comes in order with every window") {
    const std::vector<std::vector<std::size_t>> models = {
        {},
        {0},
        {10},
        {10, 10, 5000},
        {5000, 10, 10},
        {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
        {900, 900, 900},
        {0, 0, 3000, 0, 0, 700, 1, 1, 3000, 3000, 0}};
    for (const auto& sizes : models) {
        for (const std::uint64_t window : {1ULL, 100ULL, 1000ULL, 4000ULL, 1ULL << 40}) {
            for (const bool viewable : {false, true}) {
                CAPTURE(window);
                const BulkModel made(tensors_of(sizes));
                if (viewable) made.source->show();
                TensorStream stream(made.plan({nullptr, !viewable, true}), {window, 2});
                TensorStream::Step step;
                for (std::size_t i = 0; i < sizes.size(); ++i) {
                    REQUIRE(stream.next(kForEver, step) == State::ready);
                    CHECK(step.item.requested_at == i);
                    if (viewable) continue;
                    CHECK(join(ByteView(step.array.bytes)) == counting(sizes[i], i));
                }
                CHECK(stream.next(kForEver, step) == State::end);
                CHECK(stream.next(kForEver, step) == State::end);
            }
        }
    }
}

TEST_CASE("tensor_stream: no more is read ahead than fits into three quarters of the window") {
    const BulkModel made(tensors_of(std::vector<std::size_t>(20, 1000)), kWhole);
    // A window of 3000 bytes holds batches of one tensor each, three of them ahead of the reader.
    TensorStream stream(made.plan(), {4000, 1});
    TensorStream::Step step;
    made.source->allow(0);
    CHECK(stream.next(kNotAtAll, step) == State::later);
    made.source->allow(100);
    made.source->wait_for_reads(3);
    REQUIRE(stream.next(kForEver, step) == State::ready);
    for (std::size_t got = 1; got < 20; ++got) {
        // The fourth tensor is read as soon as the first is taken; a fifth is not.
        made.source->wait_for_reads(std::min<std::size_t>(got + 3, 20));
        CHECK(made.source->reads().size() <= got + 3);
        REQUIRE(stream.next(kForEver, step) == State::ready);
    }
}

TEST_CASE("tensor_stream: it starts nothing before the first call, and leaves nothing behind") {
    const std::size_t before = threads_of_process();
    const BulkModel made(tensors_of({1000, 1000, 1000}), kWhole);
    {
        TensorStream stream(made.plan(), {4000, 1});
        CHECK(threads_of_process(before) == before);
    }
    CHECK(made.source->reads().empty());
    {
        TensorStream stream(made.plan(), {4000, 1});
        TensorStream::Step step;
        REQUIRE(stream.next(kForEver, step) == State::ready);
    }
    CHECK(threads_of_process(before) == before);
}

TEST_CASE("tensor_stream: another thread stops it while the reader waits") {
    const BulkModel made(tensors_of({1000, 1000}), kWhole);
    made.source->allow(0);
    TensorStream stream(made.plan(), {4000, 1});
    State state = State::ready;
    std::thread reader([&] {
        TensorStream::Step step;
        state = stream.next(kForEver, step);
    });
    made.source->wait_for_reads(1);
    std::thread stopper([&] { stream.stop(); });
    reader.join();  // the read is still held up
    CHECK(state == State::end);
    made.source->allow(100);
    stopper.join();
    CHECK(made.source->reads().size() == 1);
    TensorStream::Step step;
    CHECK(stream.next(kForEver, step) == State::end);
    stream.stop();
}

TEST_CASE("tensor_stream: only one thread may use a stream at a time") {
    const BulkModel made(tensors_of({1000}), kWhole);
    made.source->allow(0);
    TensorStream stream(made.plan(), {4000, 1});
    State state = State::end;
    std::thread reader([&] {
        TensorStream::Step step;
        state = stream.next(kForEver, step);
    });
    made.source->wait_for_reads(1);  // the reader is inside, because it waits for this read
    TensorStream::Step step;
    CHECK_THROWS_AS(static_cast<void>(stream.next(kForEver, step)), std::invalid_argument);
    made.source->allow(100);
    reader.join();
    CHECK(state == State::ready);
}

TEST_CASE("tensor_stream: an error comes in place of the first tensor that could not be read") {
    const BulkModel made(tensors_of({1000, 1000, 1000, 1000}), kWhole);
    const std::uint64_t third = made.plan()->items()[2].offset;
    made.source->on_read = [&](std::uint64_t offset) {
        if (offset == third) throw FileError(5, "the file");
    };
    TensorStream stream(made.plan(), {1 << 12, 1});
    TensorStream::Step step;
    CHECK(stream.next(kForEver, step) == State::ready);
    CHECK(stream.next(kForEver, step) == State::ready);
    CHECK(errno_of([&] { return stream.next(kForEver, step); }) == 5);
    CHECK(stream.next(kForEver, step) == State::end);
}

TEST_CASE("tensor_stream: views never wait, and reading a view reads no bytes") {
    const BulkModel made(tensors_of({1000, 1000, 1000}), kWhole);
    made.source->show();
    made.source->allow(0);
    TensorStream stream(made.plan({nullptr, false, true}), {100, 1});
    TensorStream::Step step;
    for (int i = 0; i < 3; ++i) CHECK(stream.next(kNotAtAll, step) == State::ready);
    CHECK(stream.next(kNotAtAll, step) == State::end);
    CHECK(made.source->reads().empty());
}

}  // namespace onnxmap::test
