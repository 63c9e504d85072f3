// How many values of a tensor lie in each of some bins. The values are read in blocks, by several
// threads, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "source/owned_bytes.hpp"
#include "tensor/values.hpp"

namespace onnxmap::tensor {

/// The most bins. Each thread has a count of 8 bytes for each bin.
inline constexpr std::int64_t kMostBins = 1 << 16;

class Histogram {
  public:
    static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

    /// `values` outlive the object, and are real numbers. `sample`: about how many of them are
    /// read, in runs that are spread evenly; by default, all. Values in typed fields and segments
    /// are decoded here, all of them. Throws Error `tensor.*`, `file.changed`, FileError and
    /// std::bad_alloc.
    explicit Histogram(Values& values, std::uint64_t sample = kAll);

    struct Extremes {
        double least;
        double most;
    };
    /// Of the finite values. Nothing if there are none. Throws as the constructor, and os::Stopped.
    [[nodiscard]] std::optional<Extremes> extremes() const;

    /// How many values lie in each bin: from one edge, and below the next one. The last bin has its
    /// upper edge, too. No edge is NaN or less than the one before, and there are at least two.
    /// Throws as extremes().
    [[nodiscard]] std::vector<std::uint64_t> count(std::span<const double> edges) const;

  private:
    using Visit = std::function<void(const std::uint8_t* bytes, std::uint64_t count)>;

    [[nodiscard]] std::uint64_t run_count() const;
    void for_each_block(const Visit& visit) const;
    void visit_stored(std::uint64_t begin, std::uint64_t end, const Visit& visit) const;

    const Values& values_;
    std::uint64_t sample_;
    std::optional<source::OwnedBytes> decoded_;
};

}  // namespace onnxmap::tensor
