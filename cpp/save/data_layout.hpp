// Where the values of tensors go in new data files. Values that are the same range of a file, or on
// request equal bytes anywhere, are stored once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.hpp"
#include "save/parts.hpp"
#include "source/source.hpp"

namespace onnxmap::save {

/// A range of a source.
struct SourceRange {
    std::shared_ptr<const source::Source> source;
    std::uint64_t offset = 0;
    std::uint64_t nbytes = 0;
};

struct LayoutOptions {
    std::uint64_t alignment = 4096;  // of each tensor in its file
    std::uint64_t most_nbytes = 0;   // of one file, unless one tensor has more; 0: one file
    bool dedupe = false;             // store equal bytes once
    /// Called after every few MiB that are compared. If it throws, so does the call that compares.
    std::function<void()> look = {};
};

/// One data file or several shards, filled in order.
class DataLayout {
  public:
    struct Place {
        std::size_t file;
        std::uint64_t offset;
    };

    explicit DataLayout(LayoutOptions options);

    /// The place of these bytes. With `dedupe`, bytes of equal number are read and compared.
    Place add(const SourceRange& range);

    /// The contents of the files; they are taken.
    [[nodiscard]] std::vector<Parts> take_files() { return std::move(files_); }
    /// Bytes of tensors in each file. The rest is alignment.
    [[nodiscard]] const std::vector<std::uint64_t>& used() const noexcept { return used_; }

  private:
    struct Known {
        SourceRange range;
        Place place;
        bool is_hashed;  // once another range has as many bytes
    };

    [[nodiscard]] const Known* find_equal(const SourceRange& range);
    [[nodiscard]] const Known* find_equal_bytes(const SourceRange& range);
    [[nodiscard]] std::uint64_t hash_of(const SourceRange& range);
    [[nodiscard]] bool is_equal(const SourceRange& a, const SourceRange& b);
    template <class Visit>
    void read_in_pieces(const SourceRange& range, Visit&& visit);

    LayoutOptions options_;
    std::vector<Parts> files_;
    std::vector<std::uint64_t> used_;
    std::vector<Known> known_;
    std::map<std::tuple<const source::Source*, std::uint64_t, std::uint64_t>, std::size_t> ranges_;
    std::unordered_map<std::uint64_t, std::size_t> first_of_size_;
    std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
    std::optional<std::uint64_t> hash_;  // of the range that is being added
    HashSeeds seeds_{};
    std::uint64_t unlooked_ = 0;  // bytes that were read since the last look
    std::vector<std::uint8_t> buffer_;
};

}  // namespace onnxmap::save
