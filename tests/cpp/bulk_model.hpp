// A model whose external data are in sources of this test. They are read in small pieces. A test
// can count the reads, hold them up and make them fail.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "bulk/plan.hpp"
#include "loaded_model.hpp"
#include "memory_source.hpp"
#include "model/graph.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

/// Bytes without addresses: each tensor is read into memory of its own.
class ObservedSource final : public source::Source {
  public:
    ObservedSource(ByteView bytes, source::ReadHabits habits) : copy_(bytes), habits_(habits) {
        data_ = copy_.data();
        size_ = bytes.size();
    }
    [[nodiscard]] const char* kind() const noexcept override { return "read"; }
    [[nodiscard]] bool viewable() const noexcept override { return viewable_; }
    [[nodiscard]] source::ReadHabits read_habits() const override { return habits_; }
    void read_file(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        {
            std::unique_lock lock(mutex_);
            reads_.emplace_back(offset, out.size());
            moved_.notify_all();
            moved_.wait(lock, [&] { return allowed_ > 0; });
            --allowed_;
        }
        if (on_read) on_read(offset);
        read(offset, out);
    }

    using Reads = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    /// Offset and size of each read so far, including the reads that are held up.
    [[nodiscard]] Reads reads() const {
        const std::lock_guard lock(mutex_);
        return reads_;
    }
    /// Lets only `count` more reads end.
    void allow(std::int64_t count) {
        const std::lock_guard lock(mutex_);
        allowed_ = count;
        moved_.notify_all();
    }
    /// Waits until this many reads have begun.
    void wait_for_reads(std::size_t count) const {
        std::unique_lock lock(mutex_);
        moved_.wait(lock, [&] { return reads_.size() >= count; });
    }
    void show() noexcept { viewable_ = true; }

    std::function<void(std::uint64_t offset)> on_read;

  private:
    HeapCopy copy_;
    source::ReadHabits habits_;
    bool viewable_ = false;
    mutable std::mutex mutex_;
    mutable std::condition_variable moved_;
    mutable std::int64_t allowed_ = INT64_MAX;
    mutable Reads reads_;
};

/// A model that is read through an ObservedSource.
struct BulkModel {
    /// `initializers` are TensorProtos.
    explicit BulkModel(const std::vector<Bytes>& initializers,
                       source::ReadHabits habits = {2, 64, 4}, model::Limits limits = {}) {
        Bytes graph;
        for (const Bytes& one : initializers) append(graph, blob(5, one));
        source = std::make_shared<ObservedSource>(model(graph), habits);
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        options.limits = limits;
        document = std::make_shared<const model::Document>(source, options);
        positions.resize(initializers.size());
        std::iota(positions.begin(), positions.end(), 0);
    }

    [[nodiscard]] std::shared_ptr<const bulk::Plan> plan(const bulk::Options& options = {}) const {
        const model::Graph graph = main_graph(document);
        return std::make_shared<const bulk::Plan>(graph.initializers(), positions, options);
    }

    std::shared_ptr<ObservedSource> source;
    std::shared_ptr<const model::Document> document;
    std::vector<std::uint32_t> positions;
};

/// Bytes that differ from their neighbours.
[[nodiscard]] inline Bytes counting(std::size_t count, std::size_t seed = 0) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + seed);
    }
    return bytes;
}

/// A TensorProto of any type with raw_data.
[[nodiscard]] inline Bytes typed_tensor(std::uint64_t type, std::uint64_t count, const Bytes& raw) {
    return join(scalar(1, count), scalar(2, type), blob(8, "t"), blob(9, raw));
}

}  // namespace onnxmap::test
