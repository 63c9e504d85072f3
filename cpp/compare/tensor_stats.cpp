#include "compare/tensor_stats.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "os/fault_handler.hpp"
#include "os/parallel.hpp"
#include "source/owned_bytes.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::compare {

namespace {

using tensor::packed_nbytes;
using tensor::ValueStats;

// Bytes that a thread sums at a time. If they were read into a buffer, they stay in the
// second-level cache meanwhile.
constexpr std::uint64_t kReadAtOnce = 1 << 20;

// For a file that is not in memory: how many tasks ahead its pages are asked for. 32 MiB keep a
// disk busy.
constexpr std::size_t kAskedAhead = 32;

// Blocks that are summed before they are joined. This bounds the memory for their results.
constexpr std::size_t kBlocksAtOnce = 4096;

// What one thread reads at a time: blocks of one item, or a batch, which is several whole items
// that lie close together.
struct Task {
    std::uint32_t first;  // item
    std::uint32_t items;
    std::uint64_t begin;  // element, of a single item
    std::uint64_t end;
    std::uint64_t offset;  // of the first byte in the source
    std::uint64_t nbytes;
    std::size_t slot;  // of the result of the first block, of a single item
};

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
    for (const auto& source : plan.sources()) longest = std::max(longest, read_nbytes(*source));
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
        return source::guard_reads(plan_.document().source(), [&] {
            read_parts();
            for (const StatsItem& item : plan_.items()) {
                if (item.is_whole) read_whole(item);
            }
            plan_.check_again();
            return std::move(results_);
        });
    }

  private:
    [[nodiscard]] ValueStats& result(const StatsItem& item) noexcept {
        return results_[item.result].values;
    }

    void read_whole(const StatsItem& item) {
        os::leave_if_stopped();
        plan_.tensor(item).naming([&] {
            tensor::Values values = plan_.values(item);
            source::guard_reads(values.source(), [&] {
                values.check_count();  // before memory is allocated by the shape
                source::OwnedBytes bytes(item.nbytes());
                values.read(tensor::Conversion::none(*item.type), bytes.writable());
                sum_decoded(item, bytes.data());
                values.for_each_range([&](const auto& source, auto offset, auto nbytes) {
                    source::release(*source, offset, nbytes);
                });
            });
        });
        // Decoding reads through the mapping, and the mapped pages would count as this process's
        // memory.
        plan_.release(item);
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

    void read_parts() {
        const auto items = plan_.items();
        for (std::size_t i = 0; i < items.size();) {
            if (items[i].is_whole || items[i].count == 0) {
                ++i;
                continue;
            }
            const std::size_t end = end_of_batch(i);
            if (end > i + 1) {
                add_batch(i, end);
                i = end;
            } else {
                split(i++);
            }
        }
        run_tasks();
    }

    // Many items may share the same bytes, so their own bytes count, too.
    [[nodiscard]] std::size_t end_of_batch(std::size_t first) const {
        const auto items = plan_.items();
        const source::Source& source = plan_.source(items[first]);
        const std::uint64_t most = read_nbytes(source);
        const std::uint64_t gap = source.read_habits().gap;
        std::uint64_t end = items[first].stored_end();
        std::uint64_t read = items[first].stored_nbytes;
        std::size_t next = first + 1;
        for (; next < items.size(); ++next) {
            const StatsItem& item = items[next];
            if (item.is_whole || item.source != items[first].source) break;
            if (item.offset > end + gap) break;
            end = std::max(end, item.stored_end());
            read += item.stored_nbytes;
            if (end - items[first].offset > most || read > 2 * most) break;
        }
        return next;
    }

    void add_batch(std::size_t first, std::size_t behind) {
        const auto items = plan_.items().subspan(first, behind - first);
        std::uint64_t end = 0;
        for (const StatsItem& item : items) end = std::max(end, item.stored_end());
        const std::uint64_t offset = items.front().offset;
        add_task({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(items.size()), 0, 0,
                  offset, end - offset, 0},
                 0);
    }

    void split(std::size_t i) {
        const StatsItem& item = plan_.items()[i];
        const std::uint64_t block = tensor::block_count(*item.type);
        const std::uint64_t blocks = read_nbytes(plan_.source(item)) / kReadAtOnce;
        const std::uint64_t bits = item.type->bits;
        for (std::uint64_t begin = 0; begin < item.count; begin += blocks * block) {
            const std::uint64_t end = std::min(begin + blocks * block, item.count);
            add_task({static_cast<std::uint32_t>(i), 1, begin, end, item.offset + begin * bits / 8,
                      packed_nbytes(end - begin, item.type->bits), 0},
                     (end - begin + block - 1) / block);
        }
    }

    void add_task(Task task, std::size_t blocks) {
        task.slot = slots_;
        slots_ += blocks;
        tasks_.push_back(task);
        if (slots_ >= kBlocksAtOnce || tasks_.size() >= kBlocksAtOnce) run_tasks();
    }

    void run_tasks() {
        blocks_.assign(slots_, ValueStats());
        for (std::size_t i = 0; i < std::min(kAskedAhead, tasks_.size()); ++i) request(tasks_[i]);
        os::for_each_range(tasks_.size(), 1, [&](std::uint64_t i, std::uint64_t) {
            if (i + kAskedAhead < tasks_.size()) request(tasks_[i + kAskedAhead]);
            run(tasks_[i]);
        });
        for (const Task& task : tasks_) join(task);
        tasks_.clear();
        slots_ = 0;
    }

    // Asks for the pages of the task that are not in memory. The system's read-ahead follows one
    // sequential thread; the positions of several threads look random to it.
    void request(const Task& task) const {
        source::prefetch_absent(plan_.source(plan_.items()[task.first]), task.offset,
                                task.offset + task.nbytes, [](std::uint64_t, std::uint64_t) {});
    }

    void run(const Task& task) {
        const StatsItem& first = plan_.items()[task.first];
        const source::Source& source = plan_.source(first);
        if (source.viewable()) {
            // Under a guard, lost pages read as zeros, and the guard throws at the end.
            source::guard_reads(source, [&] { sum(task, source.data() + task.offset); });
            release(task, source);
        } else {
            buffers_.with([&](std::uint8_t* buffer) {
                source.read_file(task.offset, {buffer, task.nbytes});
                sum(task, buffer);
            });
        }
    }

    // Mapped pages count as memory of this process. A page may be mapped together with the pages
    // before it, which an earlier task has released.
    static void release(const Task& task, const source::Source& source) noexcept {
        const std::uint64_t before = std::min(task.offset, os::kMappedAround);
        source::release(source, task.offset - before, task.nbytes + before);
    }

    void sum(const Task& task, const std::uint8_t* bytes) {
        const auto items = plan_.items().subspan(task.first, task.items);
        if (task.items == 1) {
            sum_blocks(items.front(), task, bytes);
        } else {
            for (const StatsItem& item : items) sum_item(item, bytes + (item.offset - task.offset));
        }
    }

    void sum_blocks(const StatsItem& item, const Task& task, const std::uint8_t* bytes) {
        std::size_t slot = task.slot;
        for_each_block(*item.type, task.begin, task.end, [&](std::uint64_t begin, auto end) {
            blocks_[slot++] =
                sum(item, begin, end, bytes + (begin - task.begin) * item.type->bits / 8);
        });
        done_.fetch_add(task.nbytes, std::memory_order_relaxed);
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
            plan_.tensor(item).naming([&] { plan_.values(item).check_padding(); });
        }
        return tensor::block_stats(*item.type, true, bytes, end - begin);
    }

    void join(const Task& task) {
        if (task.items > 1) return;
        const StatsItem& item = plan_.items()[task.first];
        const std::uint64_t block = tensor::block_count(*item.type);
        const std::size_t count = (task.end - task.begin + block - 1) / block;
        for (std::size_t i = 0; i < count; ++i) result(item).add(blocks_[task.slot + i]);
    }

    const StatsPlan& plan_;
    std::atomic<std::uint64_t>& done_;
    std::vector<TensorStats> results_;
    Buffers buffers_;
    std::vector<Task> tasks_;
    std::size_t slots_ = 0;
    std::vector<ValueStats> blocks_;
};

}  // namespace

std::vector<TensorStats> read_stats(const StatsPlan& plan, std::atomic<std::uint64_t>& done) {
    return StatsReader(plan, done).read();
}

}  // namespace onnxmap::compare
