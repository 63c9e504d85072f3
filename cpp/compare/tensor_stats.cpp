#include "compare/tensor_stats.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "os/fault_handler.hpp"
#include "os/parallel.hpp"
#include "read/tasks.hpp"
#include "source/owned_bytes.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::compare {

namespace {

using read::Task;
using tensor::ValueStats;

// Bytes that a thread sums at a time. If they were read into a buffer, they stay in the
// second-level cache meanwhile.
constexpr std::uint64_t kReadAtOnce = 1 << 20;

// For a file that is not in memory: how many tasks ahead its pages are asked for. 32 MiB keep a
// disk busy.
constexpr std::size_t kAskedAhead = 32;

// Tasks that are done before the results of their blocks are joined. This bounds the memory for the
// results: a task has one block, or eight in a remote file.
constexpr std::size_t kTasksAtOnce = 4096;

// Buffers that threads take in turns. Fresh memory would cost page faults for each read.
class Buffers {
  public:
    using Buffer = std::unique_ptr<std::uint8_t[]>;

    explicit Buffers(std::uint64_t nbytes) : nbytes_(nbytes) {}

    template <class Work>
    void with(Work&& work) {
        Buffer buffer = take();
        work(buffer.get());
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(buffer));
    }

  private:
    Buffer take() {
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                Buffer buffer = std::move(free_.back());
                free_.pop_back();
                return buffer;
            }
        }
        return std::make_unique_for_overwrite<std::uint8_t[]>(nbytes_);
    }

    const std::uint64_t nbytes_;
    std::mutex mutex_;
    std::vector<Buffer> free_;
};

// A source that splits a long read into many at once gets long reads.
std::uint64_t read_nbytes(const source::Source& source) {
    const std::uint64_t nbytes = source.read_habits().nbytes;
    return source.splits_reads() ? std::max(nbytes, kReadAtOnce) : kReadAtOnce;
}

std::uint64_t longest_read(const StatsPlan& plan) {
    std::uint64_t longest = kReadAtOnce;
    for (const auto& source : plan.stored().sources())
        longest = std::max(longest, read_nbytes(*source));
    return longest;
}

// Calls visit(begin, end) for the blocks of begin .. end, which begins with a block.
template <class Visit>
void for_each_block(const onnx::DataTypeInfo& type, std::uint64_t begin, std::uint64_t end,
                    Visit&& visit) {
    const std::uint64_t count = tensor::block_count(type);
    for (; begin < end; begin += std::min(count, end - begin)) {
        os::leave_if_stopped();
        visit(begin, std::min(begin + count, end));
    }
}

class StatsReader {
  public:
    StatsReader(const StatsPlan& plan, std::atomic<std::uint64_t>& done)
        : plan_(plan), done_(done), results_(plan.results()), buffers_(longest_read(plan)) {}

    std::vector<TensorStats> read() {
        os::renew_fault_handler();
        return source::guard_reads(plan_.stored().document().source(), [&] {
            read::make_tasks(plan_.stored(), plan_.items(), *this);
            run_tasks();
            for (const StatsItem& item : plan_.items()) {
                if (item.is_whole) read_whole(item);
            }
            plan_.stored().check_again(plan_.items());
            std::erase_if(results_, [](const TensorStats& each) { return each.type == nullptr; });
            return std::move(results_);
        });
    }

    // For read::make_tasks:

    [[nodiscard]] static bool is_in_parts(const StatsItem& item) noexcept { return !item.is_whole; }
    [[nodiscard]] static read::BatchLimits batch_limits(const source::Source& source) {
        return {read_nbytes(source), 2 * read_nbytes(source)};
    }
    [[nodiscard]] static std::uint64_t work(const StatsItem& item) noexcept {
        return item.stored_nbytes;
    }
    void add(const Task& task) {
        tasks_.push_back(task);
        if (tasks_.size() >= kTasksAtOnce) run_tasks();
    }
    void add_parts(std::size_t i) {
        const StatsItem& item = plan_.items()[i];
        const std::uint64_t blocks = read_nbytes(*plan_.stored().source(item)) / kReadAtOnce;
        const std::uint64_t most = blocks * tensor::block_count(*item.type);
        for (std::uint64_t begin = 0; begin < item.count; begin += most) {
            add(read::part(i, item, begin, std::min(begin + most, item.count)));
        }
    }

  private:
    [[nodiscard]] ValueStats& result(const StatsItem& item) noexcept {
        return results_[item.requested_at].values;
    }

    void read_whole(const StatsItem& item) {
        plan_.stored().read_whole(item, [&](const tensor::Values& values) {
            source::OwnedBytes bytes(item.nbytes());
            values.read(tensor::Conversion::none(*item.type), bytes.writable());
            sum_decoded(item, bytes.data());
        });
        done_.fetch_add(item.nbytes(), std::memory_order_relaxed);
    }

    void sum_decoded(const StatsItem& item, const std::uint8_t* elements) {
        const std::uint64_t count = tensor::block_count(*item.type);
        std::vector<ValueStats> blocks((item.count + count - 1) / count);
        os::for_each_range(item.count, count, [&](std::uint64_t begin, std::uint64_t end) {
            blocks[begin / count] = tensor::block_stats(
                *item.type, false, elements + begin * item.type->itemsize(), end - begin);
        });
        for (const ValueStats& block : blocks) result(item).add(block);
    }

    void run_tasks() {
        blocks_.resize(tasks_.size());
        read::run_tasks(
            tasks_.size(), kAskedAhead, [&](std::size_t i) { request(tasks_[i]); },
            [&](std::size_t i) { run(tasks_[i], blocks_[i]); });
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            for (const ValueStats& block : blocks_[i]) result(first_of(tasks_[i])).add(block);
        }
        tasks_.clear();
        blocks_.clear();
    }

    [[nodiscard]] const StatsItem& first_of(const Task& task) const noexcept {
        return plan_.items()[task.first];
    }

    void request(const Task& task) const {
        source::prefetch_absent(*plan_.stored().source(first_of(task)), task.range.begin,
                                task.range.end, [](std::uint64_t, std::uint64_t) {});
    }

    // Adds the results of the blocks of a single item.
    void run(const Task& task, std::vector<ValueStats>& blocks) {
        const source::Source& source = *plan_.stored().source(first_of(task));
        if (source.viewable()) {
            // Under a guard, lost pages read as zeros, and the guard throws at the end.
            source::guard_reads(source,
                                [&] { sum(task, source.data() + task.range.begin, blocks); });
            release(task, source);
        } else {
            buffers_.with([&](std::uint8_t* buffer) {
                source.read_file(task.range.begin, {buffer, task.range.nbytes()});
                sum(task, buffer, blocks);
            });
        }
    }

    // Mapped pages count as memory of this process. A page may be mapped together with the pages
    // before it, which an earlier task has released.
    static void release(const Task& task, const source::Source& source) noexcept {
        const std::uint64_t before = std::min(task.range.begin, os::kMappedAround);
        source::release(source, task.range.begin - before, task.range.nbytes() + before);
    }

    void sum(const Task& task, const std::uint8_t* bytes, std::vector<ValueStats>& blocks) {
        if (task.tensors == 1) {
            const StatsItem& item = first_of(task);
            for_each_block(*item.type, task.begin, task.end, [&](std::uint64_t begin, auto end) {
                const std::uint64_t skipped = (begin - task.begin) * item.type->bits / 8;
                blocks.push_back(sum(item, begin, end, bytes + skipped));
            });
            done_.fetch_add(task.range.nbytes(), std::memory_order_relaxed);
            return;
        }
        for (const StatsItem& item : plan_.items().subspan(task.first, task.tensors))
            sum_item(item, bytes + (item.offset - task.range.begin));
    }

    void sum_item(const StatsItem& item, const std::uint8_t* bytes) {
        for_each_block(*item.type, 0, item.count, [&](std::uint64_t begin, auto end) {
            result(item).add(sum(item, begin, end, bytes + begin * item.type->bits / 8));
        });
        done_.fetch_add(item.stored_nbytes, std::memory_order_relaxed);
    }

    [[nodiscard]] ValueStats sum(const StatsItem& item, std::uint64_t begin, std::uint64_t end,
                                 const std::uint8_t* bytes) const {
        if (end == item.count && item.type->zero_padding()) {
            plan_.stored().tensor(item).naming(
                [&] { plan_.stored().values(item).check_padding(); });
        }
        return tensor::block_stats(*item.type, true, bytes, end - begin);
    }

    const StatsPlan& plan_;
    std::atomic<std::uint64_t>& done_;
    std::vector<TensorStats> results_;
    Buffers buffers_;
    std::vector<Task> tasks_;
    std::vector<std::vector<ValueStats>> blocks_;  // by task
};

}  // namespace

std::vector<TensorStats> read_stats(const StatsPlan& plan, std::atomic<std::uint64_t>& done) {
    return StatsReader(plan, done).read();
}

}  // namespace onnxmap::compare
