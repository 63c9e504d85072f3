// Whether the system reads far enough ahead to bring many tensors by touching their pages in order.
#pragma once

#include <cstdint>
#include <span>

#include "bulk/plan.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::bulk {

class ReadAhead {
  public:
    /// Bytes that the system reads ahead in a file.
    using Of = std::uint64_t (*)(const source::Source&);

    /// In bytes. Of less, it does not matter how it is brought.
    static constexpr std::uint64_t kLeast = 4 << 20;

    /// `items`: a part of the plan's. A read-ahead of more than `most` bytes is not used.
    ReadAhead(const Plan& plan, std::span<const Item> items, std::uint64_t most,
              Of of = &source::read_ahead_nbytes)
        : plan_(plan), items_(items), most_(most), of_(of) {}

    /// Selects the file of this item for is_far(), and returns its read-ahead in bytes. Returns 0
    /// for a file of less than kLeast.
    std::uint64_t enter(const Item& item);

    /// Whether pages are best touched in order from `begin` on, in item `first`: the system reads
    /// far ahead, and neighbours follow for long enough.
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
    Of of_;
    std::uint64_t nbytes_ = 0;
    Range run_{0, 0};  // of neighbours, in the file that was entered
};

}  // namespace onnxmap::bulk
