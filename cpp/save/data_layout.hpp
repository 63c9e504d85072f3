// Where the values of tensors go in new data files. Values that are the same range of a file, or on
// request equal bytes anywhere, are stored once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.hpp"
#include "save/file_content.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::save {

inline constexpr std::uint64_t kDataAlignment = 4096;

struct LayoutOptions {
    std::optional<std::uint64_t> alignment = {};  // of each tensor in its file; nothing: 4096
    std::uint64_t most_nbytes = 0;  // of one file, unless one tensor has more; 0: one file
    bool dedupe = false;            // store equal bytes once
    // What the files are. In safetensors and files of NumPy, tensors share no bytes.
    enum class Container { plain, safetensors, numpy } container = Container::plain;
    /// Called after every few MiB that are compared. If it throws, so does the call that compares.
    std::function<void()> look = {};
};

/// The name of the i-th of `count` shards: `weights-00001-of-00003.data`; one keeps `location`.
[[nodiscard]] std::string shard_name(const std::string& location, std::size_t i, std::size_t count);

/// One data file or several shards, filled in order.
class DataLayout {
  public:
    struct FileOffset {
        std::size_t file;
        std::uint64_t offset;
    };

    explicit DataLayout(LayoutOptions options);

    /// Where these bytes will be. With `dedupe`, bytes of equal number are read and compared.
    FileOffset add(const tensor::Payload& range);

    [[nodiscard]] const LayoutOptions& options() const noexcept { return options_; }

    /// The contents of the files; they are taken.
    [[nodiscard]] std::vector<FileContent> take_files() { return std::move(files_); }
    /// The bytes of tensors in all files, without the padding between them.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

  private:
    struct Known {
        tensor::Payload range;
        FileOffset place;
    };

    [[nodiscard]] FileOffset append(const tensor::Payload& range);
    [[nodiscard]] FileOffset append_if_new(const tensor::Payload& range);
    [[nodiscard]] std::uint64_t hash_of(const tensor::Payload& range);
    [[nodiscard]] bool is_equal(const tensor::Payload& a, const tensor::Payload& b);
    template <class Visit>
    void read_in_pieces(const tensor::Payload& range, Visit&& visit);

    LayoutOptions options_;
    std::vector<FileContent> files_;
    std::uint64_t nbytes_ = 0;
    std::map<std::tuple<std::shared_ptr<const source::Source>, std::uint64_t, std::uint64_t>,
             FileOffset>
        by_range_;
    std::unordered_map<std::uint64_t, std::optional<Known>> only_of_size_;  // nothing: hashed
    std::unordered_multimap<std::uint64_t, Known> by_hash_;
    HashSeeds seeds_{};
    std::uint64_t unlooked_ = 0;  // bytes that were read since the last look
    std::vector<std::uint8_t> buffer_;
};

}  // namespace onnxmap::save
