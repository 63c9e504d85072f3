#include "bulk/tensor_stream.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "base/byte_ranges.hpp"
#include "bulk/read_items.hpp"
#include "bulk/stream_pages.hpp"
#include "os/parallel.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::bulk {

class TensorStream::Run : public std::enable_shared_from_this<Run> {
  public:
    Run(std::shared_ptr<const Plan> plan, StreamOptions options)
        : plan_(std::move(plan)),
          items_(plan_->items()),
          // Giving back lags behind, and a mapping may take in more pages than were asked for.
          room_(options.window - options.window / 4),
          threads_(options.threads == 0 ? plan_->stored().reads_at_once() : options.threads),
          pages_(*plan_, options.window) {}

    [[nodiscard]] bool is_forked() const noexcept { return os::process_number() != process_; }

    State next(std::chrono::milliseconds patience, Step& step) {
        const std::unique_lock reader(reader_, std::try_to_lock);
        if (!reader) {
            throw std::invalid_argument(
                "another thread is reading this stream; open a stream for each thread");
        }
        if (!start()) return State::end;
        if (taken_ == items_.size()) {
            end(true);
            return State::end;
        }
        const Item& item = items_[taken_];
        try {
            if (!wait_for(item, patience, step.array)) return stopped_ ? State::end : State::later;
            if (item.reading == Reading::view) plan_->stored().check_again(std::span(&item, 1));
        } catch (const os::Stopped&) {
            return State::end;
        } catch (...) {
            end(false);
            throw;
        }
        step.item = item;
        // Releases pages first: the room that this makes allows more to be prefetched at once.
        if (item.reading == Reading::view) {
            pages_.reader_at(item);
        } else {
            pages_.reader_left();
        }
        take();
        return State::ready;
    }

    // `done`: whether the reader is done with the last tensor that it got.
    void end(bool done) noexcept {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        prepared_.notify_all();
        moved_.notify_all();
        const std::lock_guard joining(joining_);
        if (!leader_.joinable()) return;
        // Garbage collection may end a stream in a thread that works for the stream: the leader, or
        // a thread that the leader waits for.
        if (os::works_for(stopped_)) {
            leader_.detach();
            return;
        }
        leader_.join();
        pages_.release_all(done);
    }

  private:
    struct Hold {
        std::size_t until;  // the reader has reached this item
        std::uint64_t nbytes;
    };

    bool start() {
        const std::lock_guard lock(mutex_);
        if (stopped_) return false;
        if (started_) return true;
        const bool has_work = std::ranges::any_of(
            items_, [](const Item& item) { return item.reading != Reading::text; });
        started_ = true;  // even if no thread can be started
        if (has_work) {
            try {
                leader_ = std::thread([run = shared_from_this()] { run->lead(); });
            } catch (const std::system_error&) {
                is_led_ = false;
            }
        }
        return true;
    }

    // Returns whether the item is ready. Sets `array` to its memory if the item is fresh.
    bool wait_for(const Item& item, std::chrono::milliseconds patience,
                  source::ArrayMemory& array) {
        if (!item.is_fresh()) return true;
        std::unique_lock lock(mutex_);
        if (!is_led_ && prepared_end_ <= taken_) {
            lock.unlock();
            const std::size_t end = read_fresh(taken_);
            lock.lock();
            prepared_end_ = end;
        }
        if (!stopped_ && !failure_ && prepared_end_ <= taken_) {
            reader_waits_ = true;
            moved_.notify_one();
            prepared_.wait_for(lock, patience,
                               [&] { return stopped_ || failure_ || prepared_end_ > taken_; });
        }
        if (stopped_) return false;
        if (prepared_end_ <= taken_) {
            if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
            return false;
        }
        array = std::move(arrays_.front());
        arrays_.pop_front();
        return true;
    }

    void take() {
        {
            const std::lock_guard lock(mutex_);
            ++taken_;
            reader_waits_ = false;
            while (!holds_.empty() && holds_.front().until < taken_) {
                ahead_ -= holds_.front().nbytes;
                holds_.pop_front();
            }
        }
        moved_.notify_one();
    }

    void lead() {
        const os::WithThreadBudget budget({threads_, &stopped_});
        try {
            for (std::size_t i = 0; i < items_.size();) {
                switch (items_[i].reading) {
                    case Reading::text: ++i; break;
                    case Reading::view: i = bring_views(i); break;
                    default: i = read_fresh(i);
                }
                {
                    const std::lock_guard lock(mutex_);
                    prepared_end_ = i;
                }
                prepared_.notify_one();
            }
        } catch (const os::Stopped&) {
        } catch (...) {
            {
                const std::lock_guard lock(mutex_);
                failure_ = std::current_exception();
            }
            prepared_.notify_one();
        }
    }

    std::size_t bring_views(std::size_t first) {
        StreamPages::Cursor at{first, 0};
        while (at.item < items_.size() && items_[at.item].reading == Reading::view) {
            const StreamPages::Chunk chunk = pages_.next(at);
            wait_for_room(chunk.first, chunk.last, chunk.nbytes());
            pages_.prefetch(chunk);
        }
        return at.item;
    }

    std::size_t read_fresh(std::size_t first) {
        std::uint64_t nbytes = items_[first].resident_nbytes();
        std::size_t end = first + 1;
        // Takes several items at a time: one by one, small items would not be read in parallel.
        while (end < items_.size() && items_[end].is_fresh() && nbytes <= room_ / 4 &&
               items_[end].resident_nbytes() <= room_ / 4 - nbytes) {
            nbytes += items_[end++].resident_nbytes();
        }
        // Small arrays share memory until the last of them is gone.
        wait_for_room(first, end == first + 1 ? first : end, nbytes);
        std::mutex mutex;
        std::vector<std::pair<const source::Source*, ByteRange>> absent;
        auto memory =
            read_items(*plan_, items_.subspan(first, end - first), done_,
                       [&](const Item& item, std::uint64_t begin, std::uint64_t stop) {
                           const std::lock_guard lock(mutex);
                           absent.push_back({plan_->stored().source(item).get(), {begin, stop}});
                       });
        for (const auto& [source, range] : absent) {
            source::evict(*source, range.begin, range.nbytes());
        }
        const std::lock_guard lock(mutex_);
        for (source::ArrayMemory& array : memory) arrays_.push_back(std::move(array));
        return end;
    }

    // Waits until `nbytes` bytes of items from `first` on may be resident, or the reader waits for
    // them. They count until the reader has reached item `until`.
    void wait_for_room(std::size_t first, std::size_t until, std::uint64_t nbytes) {
        std::unique_lock lock(mutex_);
        const auto is_current = [&] { return taken_ > first; };
        // The item that the reader waits for comes even if the window is full: memory may be given
        // back only after the reader has got the item.
        const auto is_due = [&] { return reader_waits_ && taken_ >= first; };
        moved_.wait(lock, [&] {
            return stopped_ || is_current() || is_due() || !is_led_ || holds_.empty() ||
                   (ahead_ <= room_ && nbytes <= room_ - ahead_);
        });
        if (stopped_) throw os::Stopped{};
        if (is_current()) return;
        ahead_ += nbytes;
        holds_.push_back({until, nbytes});
    }

    const std::shared_ptr<const Plan> plan_;
    const std::span<const Item> items_;
    const std::uint64_t room_;
    const unsigned threads_;
    const int process_ = os::process_number();
    StreamPages pages_;
    std::atomic<std::uint64_t> done_ = 0;

    std::mutex reader_;
    std::mutex joining_;
    std::thread leader_;

    std::mutex mutex_;  // of all members below
    std::condition_variable prepared_;
    std::condition_variable moved_;
    std::atomic<bool> stopped_ = false;
    bool started_ = false;
    bool is_led_ = true;            // otherwise no thread could start, and the reader reads
    bool reader_waits_ = false;     // for item taken_
    std::size_t taken_ = 0;         // items that the reader has got; the last is its current one
    std::size_t prepared_end_ = 0;  // items before this one are ready
    std::deque<source::ArrayMemory> arrays_;  // of ready fresh items that the reader has not got
    std::exception_ptr failure_;              // to be thrown at item prepared_end_
    std::uint64_t ahead_ = 0;                 // the sum of holds_
    std::deque<Hold> holds_;
};

TensorStream::TensorStream(std::shared_ptr<const Plan> plan, StreamOptions options)
    : run_(std::make_shared<Run>(std::move(plan), options)) {}

TensorStream::~TensorStream() { stop(); }

TensorStream::State TensorStream::next(std::chrono::milliseconds patience, Step& step) {
    if (run_->is_forked()) {
        throw std::runtime_error(
            "a stream cannot be used in a forked process; open a new one there");
    }
    return run_->next(patience, step);
}

void TensorStream::stop() noexcept {
    if (!run_->is_forked()) {
        run_->end(false);
        return;
    }
    // The stream's thread does not exist in the child and may have held any lock, so nothing of the
    // run may be touched.
    static_cast<void>(new std::shared_ptr<Run>(run_));  // NOLINT: without memory, a child may end
}

}  // namespace onnxmap::bulk
