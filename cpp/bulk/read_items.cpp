#include "bulk/read_items.hpp"

#include <algorithm>
#include <utility>

#include "os/fault_handler.hpp"
#include "read/tasks.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bulk {

namespace {

using read::Task;
using tensor::Conversion;
using tensor::packed_nbytes;

// For a file that is not in memory: how many tasks ahead its pages are asked for. 32 MiB keep a
// disk busy.
constexpr std::size_t kAskedAhead = 16;

// The most bytes of arrays that one task makes. Between tasks the thread checks whether to stop.
constexpr std::uint64_t kMadeAtOnce = 8 << 20;

// Bytes per read if the bytes do not go straight into an array: batches, and values that are
// converted. For a local file they fit into the second-level cache.
std::uint64_t buffer_nbytes(const source::Source& source) {
    const std::uint64_t nbytes = source.read_habits().nbytes;
    return source.splits_reads() ? nbytes : nbytes / 8;
}

class Reader {
  public:
    Reader(const Plan& plan, std::span<const Item> items, std::atomic<std::uint64_t>& done,
           const OnAbsent& on_absent)
        : plan_(plan), items_(items), done_(done), on_absent_(on_absent), slabs_(small_nbytes()) {
        arrays_.resize(items.size());
    }

    std::vector<source::ArrayMemory> read() {
        os::renew_fault_handler();
        return source::guard_reads(plan_.stored().document().source(),
                                   [&] { return read_below_guard(); });
    }

    // For read::make_tasks:

    [[nodiscard]] static bool is_in_parts(const Item& item) noexcept {
        return item.reading == Reading::parts;
    }
    [[nodiscard]] static read::BatchLimits batch_limits(const source::Source& source) {
        return {buffer_nbytes(source), kMadeAtOnce};
    }
    [[nodiscard]] static std::uint64_t work(const Item& item) noexcept { return item.nbytes(); }
    void add(const Task& task) { tasks_.push_back(task); }
    void add_parts(std::size_t i) {
        const Item& item = items_[i];
        const std::uint64_t nbytes = plan_.stored().source(item)->read_habits().nbytes;
        const std::uint64_t most =
            std::max<std::uint64_t>(nbytes / item.made->itemsize() & ~7ULL, 8);
        for (std::uint64_t begin = 0; begin < item.count; begin += most) {
            add(read::part(i, item, begin, std::min(begin + most, item.count)));
        }
    }

  private:
    std::vector<source::ArrayMemory> read_below_guard() {
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (items_[i].reading == Reading::parts)
                arrays_[i] = slabs_.allocate(items_[i].nbytes());
        }
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (items_[i].reading == Reading::whole) read_whole(i);
        }
        read::make_tasks(plan_.stored(), items_, *this);
        read::run_tasks(
            tasks_.size(), kAskedAhead, [&](std::size_t i) { request(tasks_[i]); },
            [&](std::size_t i) {
                if (tasks_[i].tensors == 1) {
                    read_part(tasks_[i]);
                } else {
                    read_batch(tasks_[i]);
                }
            });
        plan_.stored().check_again(items_);
        return std::move(arrays_);
    }

    [[nodiscard]] std::uint64_t small_nbytes() const noexcept {
        std::uint64_t sum = 0;
        for (const Item& item : items_) sum += source::Slabs::taken(item.nbytes());
        return sum;
    }

    void read_whole(std::size_t i) {
        const Item& item = items_[i];
        plan_.stored().read_whole(item, [&](const tensor::Values& values) {
            arrays_[i] = slabs_.allocate(item.nbytes());
            values.read(item.conversion(), arrays_[i].bytes);
        });
        done_.fetch_add(item.nbytes(), std::memory_order_relaxed);
    }

    void request(const Task& task) const {
        source::prefetch_absent(source_of(task), task.range.begin, task.range.end,
                                [&](std::uint64_t from, std::uint64_t to) {
                                    if (on_absent_) on_absent_(items_[task.first], from, to);
                                });
    }

    [[nodiscard]] const source::Source& source_of(const Task& task) const noexcept {
        return *plan_.stored().source(items_[task.first]);
    }

    void read_part(const Task& task) {
        const Item& item = items_[task.first];
        const source::Source& source = source_of(task);
        const std::uint64_t count = task.end - task.begin;
        const Conversion conversion = item.conversion();
        const std::uint64_t bits = item.type->bits;
        const std::uint64_t itemsize = item.made->itemsize();
        const auto out = arrays_[task.first].bytes.subspan(task.begin * itemsize);
        const std::uint64_t offset = task.range.begin;
        if (conversion.is_copy()) {
            source.read_file(offset, out.first(count * itemsize));
        } else {
            const std::uint64_t most = std::max<std::uint64_t>(buffer_nbytes(source) / bits * 8, 8);
            std::vector<std::uint8_t> buffer(packed_nbytes(std::min(most, count), item.type->bits));
            for (std::uint64_t at = 0; at < count; at += most) {
                const std::uint64_t here = std::min(most, count - at);
                const auto bytes = std::span(buffer).first(packed_nbytes(here, item.type->bits));
                source.read_file(offset + at * bits / 8, bytes);
                conversion.stored(bytes.data(), here, out.data() + at * itemsize);
            }
        }
        done_.fetch_add(count * itemsize, std::memory_order_relaxed);
    }

    void read_batch(const Task& task) {
        const auto items = items_.subspan(task.first, task.tensors);
        const std::uint64_t begin = task.range.begin;
        std::vector<std::uint8_t> buffer(task.range.nbytes());
        source_of(task).read_file(begin, buffer);
        std::uint64_t nbytes = 0;
        for (std::size_t i = 0; i < items.size(); ++i) {
            const Item& item = items[i];
            item.conversion().stored(buffer.data() + (item.offset - begin), item.count,
                                     arrays_[task.first + i].bytes.data());
            nbytes += item.nbytes();
        }
        done_.fetch_add(nbytes, std::memory_order_relaxed);
    }

    const Plan& plan_;
    std::span<const Item> items_;
    std::atomic<std::uint64_t>& done_;
    const OnAbsent& on_absent_;
    source::Slabs slabs_;
    std::vector<source::ArrayMemory> arrays_;
    std::vector<Task> tasks_;
};

}  // namespace

std::vector<source::ArrayMemory> read_items(const Plan& plan, std::span<const Item> items,
                                            std::atomic<std::uint64_t>& done,
                                            const OnAbsent& on_absent) {
    return Reader(plan, items, done, on_absent).read();
}

}  // namespace onnxmap::bulk
