// The content of one output file as a list of parts: bytes in memory, ranges of sources and zeros.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "source/source.hpp"

namespace onnxmap::save {

/// One part. What it refers to lives as long as the FileContent that it belongs to.
class ContentPart {
  public:
    enum class Kind { memory, range, zeros };

    [[nodiscard]] Kind kind() const noexcept {
        if (source_ != nullptr) return Kind::range;
        return memory_ != nullptr ? Kind::memory : Kind::zeros;
    }
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

    /// Kind::memory: the bytes.
    [[nodiscard]] ByteView memory() const noexcept { return {memory_, nbytes_}; }

    /// Kind::range: bytes offset() .. offset() + nbytes() of source().
    [[nodiscard]] const source::Source& source() const noexcept { return *source_; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

  private:
    friend class FileContent;

    // A model of 70 000 tensors has 140 000 parts.
    const source::Source* source_ = nullptr;
    union {
        const std::uint8_t* memory_ = nullptr;  // without a source; null: zeros
        std::uint64_t offset_;                  // with a source
    };
    std::uint64_t nbytes_ = 0;
};

/// Parts in the order in which they are written. Neighbours that continue each other are joined,
/// and empty ones are left out. All functions that add parts throw Error `save.too_large` if the
/// file would have more bytes than an offset can count (2^63 - 1).
class FileContent {
  public:
    FileContent() = default;
    /// The other list is empty afterwards.
    FileContent(FileContent&& other) noexcept { swap(other); }
    FileContent& operator=(FileContent&& other) noexcept {
        FileContent(std::move(other)).swap(*this);
        return *this;
    }

    /// Adds a copy of the bytes. Small copies share memory.
    void copy(ByteView bytes);
    void copy(std::string_view text) { copy(as_bytes(text)); }

    /// Adds bytes offset .. offset + nbytes of a source, which must have them. They are read when
    /// the file is written.
    void range(const std::shared_ptr<const source::Source>& source, std::uint64_t offset,
               std::uint64_t nbytes);

    void zeros(std::uint64_t nbytes);

    /// The size of the file.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }

    /// The parts, valid until something is added.
    [[nodiscard]] std::span<const ContentPart> list() const noexcept { return list_; }

    /// The sources that ranges refer to, each once.
    [[nodiscard]] const std::unordered_set<std::shared_ptr<const source::Source>>& sources()
        const noexcept {
        return sources_;
    }

  private:
    void swap(FileContent& other) noexcept;
    [[nodiscard]] std::uint8_t* memory_for(std::uint64_t nbytes);
    void add(const ContentPart& part);

    std::vector<ContentPart> list_;
    std::uint64_t nbytes_ = 0;
    std::unordered_set<std::shared_ptr<const source::Source>> sources_;
    std::vector<std::shared_ptr<const std::uint8_t[]>> blocks_;  // of copies
    std::uint8_t* free_ = nullptr;                               // of the last block
    std::uint64_t free_nbytes_ = 0;
};

}  // namespace onnxmap::save
