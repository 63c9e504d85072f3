// Decides how absent pages are brought: by touching them in order, if the system reads far enough
// ahead, or by requests.
#pragma once

#include <cstdint>
#include <span>

#include "bulk/plan.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::bulk {

class ReadAhead {
  public:
    /// Returns how many bytes the system reads ahead in a file.
    using Ask = std::uint64_t (*)(const source::Source&);

    /// A read-ahead of at least this many bytes is far. Touching pages in order then keeps the disk
    /// busy and reads in large pieces. Pages that are asked for arrive one by one, and cost more to
    /// map and to drop. On two processors and a virtual disk, a stream of 3.4 GB takes 2.0 to 2.3 s
    /// by touching, and 2.9 to 3.4 s by asking.
    static constexpr std::uint64_t kFar = 1 << 20;
    /// The shortest run of neighbours, as a multiple of the read-ahead. Shorter runs do not pay,
    /// because the system reads past their end.
    static constexpr std::uint64_t kLongRun = 4;
    /// The fewest bytes of a long run.
    static constexpr std::uint64_t kLeast = kLongRun * kFar;

    /// `items`: a part of the plan's. A read-ahead of more than `most` bytes is not used.
    ReadAhead(const Plan& plan, std::span<const Item> items, std::uint64_t most,
              Ask ask = &source::read_ahead_nbytes)
        : plan_(plan), items_(items), most_(most), ask_(ask) {}

    /// Selects the file of this item for nbytes() and is_far().
    void enter(const Item& item);

    /// The read-ahead of the selected file in bytes; 0 for a file of less than kLeast.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

    /// Whether pages are best touched in order from `begin` on, in item `first`: the system reads
    /// far ahead, and enough neighbours follow.
    [[nodiscard]] bool is_far(std::size_t first, std::uint64_t begin, std::uint64_t end);

  private:
    struct Range {
        std::uint64_t begin;
        std::uint64_t end;
    };

    [[nodiscard]] Range run_at(std::size_t first, std::uint64_t begin, std::uint64_t end) const;

    const Plan& plan_;
    std::span<const Item> items_;
    std::uint64_t most_;
    Ask ask_;
    std::uint64_t nbytes_ = 0;
    Range run_{0, 0};  // of neighbours, in the file that was entered
};

}  // namespace onnxmap::bulk
