#include "bulk/read_items.hpp"

#include <algorithm>
#include <utility>

#include "base/byte_ranges.hpp"
#include "base/error.hpp"
#include "os/fault_handler.hpp"
#include "os/parallel.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bulk {

namespace {

using tensor::Conversion;
using tensor::packed_nbytes;

// The work that one thread does at a time: elements of one item, or a batch, which is several whole
// items that lie close together.
struct Task {
    std::uint32_t first;  // item
    std::uint32_t items;
    std::uint64_t begin;  // element, of a single item
    std::uint64_t count;
    const source::Source* source;
    ByteRange range;  // of its file
};

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
        return source::guard_reads(plan_.document().source(), [&] { return read_below_guard(); });
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
        plan_tasks();
        for (std::size_t i = 0; i < std::min(kAskedAhead, tasks_.size()); ++i) request(tasks_[i]);
        os::for_each_range(tasks_.size(), 1, [&](std::uint64_t i, std::uint64_t) {
            const Task& task = tasks_[i];
            if (i + kAskedAhead < tasks_.size()) request(tasks_[i + kAskedAhead]);
            if (task.items == 1) {
                read_part(task);
            } else {
                read_batch(task);
            }
        });
        plan_.check_again(items_);
        return std::move(arrays_);
    }

    [[nodiscard]] std::uint64_t small_nbytes() const noexcept {
        std::uint64_t sum = 0;
        for (const Item& item : items_) sum += source::Slabs::taken(item.nbytes());
        return sum;
    }

    void read_whole(std::size_t i) {
        os::leave_if_stopped();
        const Item& item = items_[i];
        plan_.tensor(item).naming([&] {
            tensor::Values values = plan_.values(item);
            source::guard_reads(values.source(), [&] {
                values.check_count();  // before memory is allocated by the shape
                arrays_[i] = slabs_.allocate(item.nbytes());
                values.read(item.conversion(), arrays_[i].bytes);
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

    void plan_tasks() {
        for (std::size_t i = 0; i < items_.size();) {
            if (items_[i].reading != Reading::parts || items_[i].count == 0) {
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
    }

    [[nodiscard]] std::size_t end_of_batch(std::size_t first) const {
        const source::Source& source = *plan_.source(items_[first]);
        const std::uint64_t most = buffer_nbytes(source);
        const std::uint64_t gap = source.read_habits().gap;
        std::uint64_t end = items_[first].stored_end();
        std::uint64_t made = items_[first].nbytes();
        std::size_t next = first + 1;
        for (; next < items_.size(); ++next) {
            const Item& item = items_[next];
            if (item.reading != Reading::parts || item.source != items_[first].source) break;
            if (item.offset > end + gap) break;
            end = std::max(end, item.stored_end());
            if (end - items_[first].offset > most) break;
            // Many items may share the same bytes, so the task's range does not limit its work.
            made += item.nbytes();
            if (made > kMadeAtOnce) break;
        }
        return next;
    }

    void split(std::size_t i) {
        const Item& item = items_[i];
        const std::uint64_t nbytes = plan_.source(item)->read_habits().nbytes;
        // A multiple of eight elements is a whole number of bytes at any element width.
        const std::uint64_t most =
            std::max<std::uint64_t>(nbytes / item.made->itemsize() & ~7ULL, 8);
        for (std::uint64_t begin = 0; begin < item.count; begin += most) {
            const std::uint64_t count = std::min(most, item.count - begin);
            const std::uint64_t offset = item.offset + packed_nbytes(begin, item.type->bits);
            const std::uint64_t end = offset + packed_nbytes(count, item.type->bits);
            tasks_.push_back({number(i), 1, begin, count, plan_.source(item).get(), {offset, end}});
        }
    }

    void add_batch(std::size_t first, std::size_t behind) {
        const auto items = items_.subspan(first, behind - first);
        std::uint64_t end = 0;
        for (const Item& item : items) end = std::max(end, item.stored_end());
        tasks_.push_back({number(first),
                          number(items.size()),
                          0,
                          0,
                          plan_.source(items.front()).get(),
                          {items.front().offset, end}});
    }

    // Asks for the task's pages. The system's read-ahead follows one sequential thread; the
    // positions of several threads look random to it.
    void request(const Task& task) const {
        source::prefetch_absent(*task.source, task.range.begin, task.range.end,
                                [&](std::uint64_t from, std::uint64_t to) {
                                    if (on_absent_) on_absent_(items_[task.first], from, to);
                                });
    }

    void read_part(const Task& task) {
        const Item& item = items_[task.first];
        const source::Source& source = *task.source;
        const Conversion conversion = item.conversion();
        const std::uint64_t bits = item.type->bits;
        const std::uint64_t itemsize = item.made->itemsize();
        const auto out = arrays_[task.first].bytes.subspan(task.begin * itemsize);
        const std::uint64_t offset = task.range.begin;
        if (conversion.is_copy()) {
            source.read_file(offset, out.first(task.count * itemsize));
        } else {
            const std::uint64_t most = std::max<std::uint64_t>(buffer_nbytes(source) / bits * 8, 8);
            std::vector<std::uint8_t> buffer(
                packed_nbytes(std::min(most, task.count), item.type->bits));
            for (std::uint64_t at = 0; at < task.count; at += most) {
                const std::uint64_t here = std::min(most, task.count - at);
                const auto bytes = std::span(buffer).first(packed_nbytes(here, item.type->bits));
                source.read_file(offset + at * bits / 8, bytes);
                conversion.stored(bytes.data(), here, out.data() + at * itemsize);
            }
        }
        done_.fetch_add(task.count * itemsize, std::memory_order_relaxed);
    }

    void read_batch(const Task& task) {
        const auto items = items_.subspan(task.first, task.items);
        const std::uint64_t begin = task.range.begin;
        std::vector<std::uint8_t> buffer(task.range.nbytes());
        task.source->read_file(begin, buffer);
        std::uint64_t nbytes = 0;
        for (std::size_t i = 0; i < items.size(); ++i) {
            const Item& item = items[i];
            item.conversion().stored(buffer.data() + (item.offset - begin), item.count,
                                     arrays_[task.first + i].bytes.data());
            nbytes += item.nbytes();
        }
        done_.fetch_add(nbytes, std::memory_order_relaxed);
    }

    [[nodiscard]] static std::uint32_t number(std::size_t i) noexcept {
        return static_cast<std::uint32_t>(i);
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
