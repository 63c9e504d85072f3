#include "bulk/read_items.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "bulk/read_ahead.hpp"
#include "os/fault_handler.hpp"
#include "os/parallel.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bulk {

namespace {

using tensor::Conversion;
using tensor::packed_nbytes;

// Bytes of a file.
struct Range {
    const source::Source* source;
    std::uint64_t begin;
    std::uint64_t end;

    [[nodiscard]] std::uint64_t nbytes() const noexcept { return end - begin; }
};

// The work that one thread does at a time: elements of one item, or several whole items that are
// neighbours.
struct Task {
    std::uint32_t first;  // item
    std::uint32_t items;
    std::uint64_t begin;  // element, of a single item
    std::uint64_t count;
    Range range;
    bool in_order = false;   // its pages are touched after those of earlier tasks
    bool is_mapped = false;  // its pages were mapped here, and must be released
};

// For a file that is not in memory: how many tasks ahead its pages are asked for. 32 MiB keep a
// disk busy.
constexpr std::size_t kAskedAhead = 16;

// The most bytes of arrays that one task makes. Between tasks the thread checks whether to stop.
constexpr std::uint64_t kMadeAtOnce = 8 << 20;

// Bytes per read if the bytes do not go straight into an array: small neighbours, and values that
// are converted. For a local file they fit into the second-level cache.
std::uint64_t buffer_nbytes(const source::Source& source) {
    const std::uint64_t nbytes = source.read_habits().nbytes;
    return source.splits_reads() ? nbytes : nbytes / 8;
}

class Reader {
  public:
    Reader(const Plan& plan, std::span<const Item> items, std::atomic<std::uint64_t>& done,
           const OnAbsent& on_absent, ReadAhead::Ask ask_read_ahead)
        : plan_(plan),
          items_(items),
          done_(done),
          on_absent_(on_absent),
          ask_read_ahead_(ask_read_ahead),
          slabs_(small_nbytes()) {
        arrays_.resize(items.size());
    }

    std::vector<source::ArrayMemory> read() {
        os::renew_fault_handler();
        return source::guard_reads(plan_.document().source(), [&] { return read_below_guard(); });
    }

  private:
    // Releases the pages that the system mapped around the tasks, even if reading them fails.
    class ReleaseAtEnd {
      public:
        explicit ReleaseAtEnd(const Reader& reader) : reader_(reader) {}
        ReleaseAtEnd(const ReleaseAtEnd&) = delete;
        ReleaseAtEnd& operator=(const ReleaseAtEnd&) = delete;
        ~ReleaseAtEnd() {
            for (const Task& task : reader_.tasks_) {
                if (task.is_mapped) release(task.range, os::kMappedAround);
            }
        }

      private:
        const Reader& reader_;
    };

    std::vector<source::ArrayMemory> read_below_guard() {
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (items_[i].reading == Reading::parts)
                arrays_[i] = slabs_.allocate(items_[i].nbytes());
        }
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (items_[i].reading == Reading::whole) read_whole(i);
        }
        plan_tasks();
        for (std::size_t i = 0; i < std::min(kAskedAhead, tasks_.size()); ++i) ask_for(tasks_[i]);
        const ReleaseAtEnd release_at_end(*this);
        os::for_each_range(tasks_.size(), 1, [&](std::uint64_t i, std::uint64_t) {
            const Task& task = tasks_[i];
            if (i + kAskedAhead < tasks_.size()) ask_for(tasks_[i + kAskedAhead]);
            const bool is_mapped = bring_until(i);
            if (task.items == 1) {
                read_part(task);
            } else {
                read_neighbours(task);
            }
            if (is_mapped) release(task.range, 0);
        });
        plan_.look_again(items_);
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
            const std::size_t end = end_of_neighbours(i);
            if (end > i + 1) {
                add_neighbours(i, end);
                i = end;
            } else {
                split(i++);
            }
        }
        // A caller with `on_absent` drops the pages that are passed to it. It would not learn of
        // pages that the system reads ahead.
        if (!on_absent_) find_those_in_order();
    }

    // If the read-ahead is large, pages that are touched in order are read in large pieces. Pages
    // that the system is asked for are read one by one.
    void find_those_in_order() {
        std::uint64_t nbytes = 0;
        for (const Task& task : tasks_) nbytes += task.range.nbytes();
        if (nbytes < ReadAhead::kLeast) return;
        ReadAhead read_ahead(plan_, items_, UINT64_MAX, ask_read_ahead_);
        const source::Source* entered = nullptr;
        bool can_populate = false;
        for (Task& task : tasks_) {
            const Range& range = task.range;
            if (std::exchange(entered, range.source) != range.source) {
                can_populate = source::can_populate(*range.source);
                if (can_populate) read_ahead.enter(items_[task.first]);
            }
            task.in_order = can_populate && read_ahead.is_far(task.first, range.begin, range.end);
        }
    }

    [[nodiscard]] std::size_t end_of_neighbours(std::size_t first) const {
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
            tasks_.push_back({number(i), 1, begin, count, {plan_.source(item).get(), offset, end}});
        }
    }

    void add_neighbours(std::size_t first, std::size_t behind) {
        const auto items = items_.subspan(first, behind - first);
        std::uint64_t end = 0;
        for (const Item& item : items) end = std::max(end, item.stored_end());
        const Range range{plan_.source(items.front()).get(), items.front().offset, end};
        tasks_.push_back({number(first), number(items.size()), 0, 0, range});
    }

    // Asks for the task's pages. The system's read-ahead follows one sequential thread; the
    // positions of several threads look random to it.
    void ask_for(const Task& task) const {
        if (task.in_order) return;
        const Range& range = task.range;
        source::prefetch_absent(*range.source, range.begin, range.end,
                                [&](std::uint64_t from, std::uint64_t to) {
                                    if (on_absent_) on_absent_(items_[task.first], from, to);
                                });
    }

    // Touches the pages of the tasks up to this one, in order, and waits for them. Meanwhile other
    // threads copy the pages brought before. Returns whether this task's pages were mapped.
    bool bring_until(std::size_t task) {
        if (!tasks_[task].in_order || !is_absent(tasks_[task].range)) return false;
        const std::lock_guard lock(bringing_);
        // Earlier tasks are done: their pages may be absent again, and nobody needs them.
        brought_ = std::max(brought_, task - std::min(task, kAskedAhead));
        for (; brought_ <= task; ++brought_) {
            os::leave_if_stopped();
            Task& next = tasks_[brought_];
            const Range& range = next.range;
            next.is_mapped = next.in_order && is_absent(range);
            if (next.is_mapped) source::populate(*range.source, range.begin, range.nbytes());
        }
        return tasks_[task].is_mapped;
    }

    // Whether any page of the range is absent from the page cache.
    [[nodiscard]] static bool is_absent(const Range& range) {
        bool is_absent = false;
        source::tell_absent(*range.source, range.begin, range.end,
                            [&](std::uint64_t, std::uint64_t) { is_absent = true; });
        return is_absent;
    }

    static void release(const Range& range, std::uint64_t around) noexcept {
        const std::uint64_t begin = range.begin - std::min(range.begin, around);
        const std::uint64_t end = range.end + std::min(range.source->size() - range.end, around);
        source::release(*range.source, begin, end - begin);
    }

    void read_part(const Task& task) {
        const Item& item = items_[task.first];
        const source::Source& source = *task.range.source;
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

    void read_neighbours(const Task& task) {
        const auto items = items_.subspan(task.first, task.items);
        const std::uint64_t begin = task.range.begin;
        std::vector<std::uint8_t> buffer(task.range.nbytes());
        task.range.source->read_file(begin, buffer);
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
    const ReadAhead::Ask ask_read_ahead_;
    source::Slabs slabs_;
    std::vector<source::ArrayMemory> arrays_;
    std::vector<Task> tasks_;

    std::mutex bringing_;
    std::size_t brought_ = 0;  // tasks before it are brought
};

}  // namespace

std::vector<source::ArrayMemory> read_items(const Plan& plan, std::span<const Item> items,
                                            std::atomic<std::uint64_t>& done,
                                            const OnAbsent& on_absent,
                                            ReadAhead::Ask ask_read_ahead) {
    return Reader(plan, items, done, on_absent, ask_read_ahead).read();
}

}  // namespace onnxmap::bulk
