// Which tensors a bulk read is about, in the order in which they are stored, and how the values of
// each come into an array. Kept small: there may be a million of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/document.hpp"
#include "model/initializers.hpp"
#include "tensor/conversion.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bulk {

enum class Reading : std::uint8_t {
    view,   // they are looked at where they are
    parts,  // they are bytes, of which any part can be read by itself
    whole,  // they are decoded
    text,   // they are strings, which only Python can make
};

struct Item {
    const onnx::DataTypeInfo* type;  // as it is stored
    const onnx::DataTypeInfo* to;    // of the array
    std::uint64_t count;             // of elements
    std::uint64_t offset;  // of its bytes in the source; of the message where it has no payload
    std::uint64_t stored_nbytes;  // of the payload
    ByteView message;             // the TensorProto
    std::uint32_t rank;           // among those that were asked for
    std::uint32_t source;         // among those of the plan
    Reading reading;

    [[nodiscard]] onnx::Message tensor() const { return {onnx::message<"TensorProto">, message}; }

    /// Bytes of the array.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return count * to->itemsize(); }
    /// Bytes that are in memory while its array is made: of what is decoded the message as well.
    [[nodiscard]] std::uint64_t resident_nbytes() const noexcept {
        return reading == Reading::whole ? std::max(nbytes(), message.size()) : nbytes();
    }
    [[nodiscard]] std::uint64_t stored_end() const noexcept { return offset + stored_nbytes; }
    [[nodiscard]] tensor::Conversion conversion() const;
    /// Whether the array is made in this process alone.
    [[nodiscard]] bool is_fresh() const noexcept {
        return reading == Reading::parts || reading == Reading::whole;
    }
};

struct Options {
    const onnx::DataTypeInfo* float_type = nullptr;  // that all floating-point tensors become
    bool copies = true;                              // fresh arrays also of what could be looked at
    bool frugal = false;  // pages that reading the structure maps are given back at once
};

class Plan {
  public:
    /// `positions`: in the list of initializers. Looks for changes, finds all values and checks
    /// them; reads none. Throws Error `tensor.*`, `ext.*`, `file.changed`, std::out_of_range, and
    /// `limit.overlap` if copies would be made of the same bytes again and again.
    Plan(const model::Initializers& initializers, std::span<const std::uint32_t> positions,
         const Options& options);

    [[nodiscard]] const model::Document& document() const noexcept { return *document_; }
    /// In the order in which they are stored.
    [[nodiscard]] std::span<const Item> items() const noexcept { return items_; }
    [[nodiscard]] const std::shared_ptr<const source::Source>& source(
        const Item& item) const noexcept {
        return sources_[item.source];
    }
    [[nodiscard]] std::span<const std::shared_ptr<const source::Source>> sources() const noexcept {
        return sources_;
    }
    /// Of all arrays, but those of strings.
    [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
    /// Reads at a time that are of use.
    [[nodiscard]] unsigned reads_at_once() const noexcept;

    /// Found anew, and quietly: what is overlooked has been told. Throws Error `file.changed` where
    /// they are not as many, or of another type, than when the plan was made.
    [[nodiscard]] tensor::Values values(const Item& item) const;
    /// The same fault with the path of a tensor that has no name.
    [[nodiscard]] Error named(const Error& error, const Item& item) const;

    /// Looks at the files of items, a part of the plan's, after they were read; those that tell of
    /// changes by themselves are not asked. Throws Error `file.changed`.
    void look_again(std::span<const Item> items) const;

  private:
    void add(const onnx::Message& tensor, std::uint32_t rank, const Options& options);
    [[nodiscard]] std::uint32_t source_number(const std::shared_ptr<const source::Source>& source);
    void check_overlap() const;

    std::shared_ptr<const model::Document> document_;
    source::Moment since_;
    std::vector<std::shared_ptr<const source::Source>> sources_;
    std::unordered_map<const source::Source*, std::uint32_t> source_numbers_;
    std::vector<Item> items_;
    std::uint64_t nbytes_ = 0;
    std::uint64_t named_nbytes_ = 0;  // of files, or of the arrays where they are larger
};

}  // namespace onnxmap::bulk
