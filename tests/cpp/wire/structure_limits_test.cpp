// The limits of depth and of the number of tensors. A file cannot choose how much stack or memory
// is used.
#include <doctest/doctest.h>

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "sample_models.hpp"
#include "structure_of.hpp"

namespace onnxmap::test {

namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers times(std::size_t count, const Numbers& part, Numbers begin = {}) {
    for (std::size_t i = 0; i < count; ++i) begin.insert(begin.end(), part.begin(), part.end());
    return begin;
}

// Fields of graph > node > attribute > g: each subgraph is three levels.
Bytes subgraphs(std::size_t count) { return nested(times(count, {1, 5, 6}, {7})); }

// graph > input > type, then two levels for each sequence type.
Bytes sequence_types(std::size_t count) { return nested(times(count, {4, 1}, {7, 11, 2})); }

Bytes groups(std::size_t count) {
    return join(repeat(count, tag(999, WireType::start_group)),
                repeat(count, tag(999, WireType::end_group)));
}

// Calls it on a thread with this many bytes of stack.
void run_on_stack(std::size_t nbytes, const std::function<void()>& call) {
    pthread_attr_t attributes;
    REQUIRE(::pthread_attr_init(&attributes) == 0);
    REQUIRE(::pthread_attr_setstacksize(&attributes, nbytes) == 0);
    pthread_t thread{};
    const auto start = [](void* argument) -> void* {
        (*static_cast<const std::function<void()>*>(argument))();
        return nullptr;
    };
    auto copy = call;
    REQUIRE(::pthread_create(&thread, &attributes, start, &copy) == 0);
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("limits: a hundred levels below the model are read, and one more is refused") {
    CHECK(verdict_of(subgraphs(33)) == Verdict{});  // 1 + 3 * 33 = 100
    CHECK(verdict_of(subgraphs(34)).code == "limit.depth");
    CHECK(verdict_of(sequence_types(48)) == Verdict{});  // 3 + 2 * 48 = 99
    CHECK(verdict_of(sequence_types(49)).code == "limit.depth");
    CHECK(verdict_of(groups(100)) == Verdict{});
    CHECK(verdict_of(groups(101)).code == "limit.depth");
    CHECK(verdict_of(blob(7, groups(99))) == Verdict{});
    CHECK(verdict_of(blob(7, groups(100))).code == "limit.depth");
}

TEST_CASE("limits: an empty message is a level, too") {
    const Numbers sequence = times(48, {4, 1}, {7, 11, 2});  // 99 levels
    CHECK(verdict_of(nested(sequence, blob(4, Bytes{}))) == Verdict{});
    CHECK(verdict_of(nested(sequence, blob(4, blob(1, Bytes{})))).code == "limit.depth");
    CHECK(verdict_of(nested(sequence, blob(4, blob(1, Bytes{}))), [] {
              auto options = model_options();
              options.max_depth = 101;
              return options;
          }()) == Verdict{});
}

TEST_CASE("limits: the error for depth has the offset of the tag that goes too deep") {
    auto options = model_options();
    options.max_depth = 0;
    CHECK(verdict_of(scalar(1, 8), options) == Verdict{});
    CHECK(verdict_of(join(scalar(1, 8), blob(7, Bytes{})), options) == Verdict{"limit.depth", 2});
    CHECK(verdict_of(group(999), options) == Verdict{"limit.depth", 0});
    options.max_depth = 1;
    CHECK(verdict_of(blob(7, blob(2, "g")), options) == Verdict{});
    CHECK(verdict_of(blob(7, blob(1, node("A"))), options) == Verdict{"limit.depth", 2});
    options.max_depth = 100'000;
    CHECK(verdict_of(groups(100'000), options) == Verdict{});
}

TEST_CASE("limits: 100 000 levels are refused on a small stack") {
    const std::vector<Bytes> inputs = {
        repeat(100'000, tag(999, WireType::start_group)),
        nested(times(33'000, {1, 5, 6}, {7})),
    };
    for (const Bytes& input : inputs) {
        Verdict by_default;
        Verdict unlimited;
        run_on_stack(256 << 10, [&] {
            by_default = verdict_of(input);
            auto options = model_options();
            options.max_depth = 1'000'000;
            unlimited = verdict_of(input, options);
        });
        CHECK(by_default.code == "limit.depth");
        CHECK(unlimited.code != "limit.depth");
    }
}

TEST_CASE("limits: tensors in all places are counted") {
    auto options = model_options();
    options.max_payload_messages = 3;
    const Bytes tensor = blob(5, scalar(2, 1));
    const Bytes sparse = blob(15, join(blob(1, Bytes{}), blob(2, Bytes{})));
    CHECK(verdict_of(blob(7, repeat(3, tensor)), options) == Verdict{});
    CHECK(verdict_of(blob(7, repeat(4, tensor)), options) ==
          Verdict{"limit.tensors", 2 + 3 * tensor.size()});
    CHECK(verdict_of(blob(7, join(tensor, sparse)), options) == Verdict{});
    CHECK(verdict_of(blob(7, join(sparse, sparse)), options).code == "limit.tensors");
    const Bytes attribute_tensor = blob(1, blob(5, blob(5, Bytes{})));
    CHECK(verdict_of(blob(7, repeat(4, attribute_tensor)), options).code == "limit.tensors");
    options.payload_message = nullptr;
    CHECK(verdict_of(blob(7, repeat(4, tensor)), options) == Verdict{});
}

}  // namespace onnxmap::test
