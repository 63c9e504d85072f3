// The values of tensors in other types than those that they are stored in. They are converted as
// they are read, some at a time, so a save needs little memory for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "source/fetched_source.hpp"
#include "tensor/float_cast.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::save {

/// For one thread: reading counts the values that are lost.
class ConvertedValues final : public source::FetchedSource {
  public:
    ConvertedValues() : FetchedSource(source::Reads::on_their_own) {}

    /// Adds the values of a tensor in another type to `all`, and returns their place there. Tensors
    /// with the same values share them. Not after addresses().
    [[nodiscard]] static tensor::Payload add(const std::shared_ptr<ConvertedValues>& all,
                                             std::string_view name, const tensor::Payload& values,
                                             const tensor::Cast& cast);

    /// The sources of the values, each once.
    [[nodiscard]] const std::set<std::shared_ptr<const source::Source>>& sources() const noexcept {
        return sources_;
    }

    /// Reads all values that were not read yet, and calls `look` now and then.
    void read_all(const std::function<void()>& look) const;

    /// Throws Error `save.loss` if values that were read are lost. In a tensor that is not small,
    /// those that became zero are not.
    void check_loss() const;

    /// How many values that were read became zero, by the names of the tensors.
    [[nodiscard]] std::map<std::string, std::uint64_t> vanished() const;

    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
    void read_file(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        read(offset, out);
    }
    /// No gaps: values are converted once.
    [[nodiscard]] source::ReadHabits read_habits() const override { return {1, 1 << 20, 0}; }
    [[nodiscard]] bool splits_reads() const noexcept override { return splits_reads_; }

  private:
    struct Part {
        std::uint64_t begin;  // in this source
        std::string name;     // of a tensor
        tensor::Payload values;
        tensor::Cast cast;
        mutable std::uint64_t counted = 0;  // elements that were read before
        mutable tensor::LostValues lost = {};

        [[nodiscard]] std::uint64_t count() const { return values.nbytes / cast.from().itemsize(); }
        [[nodiscard]] std::uint64_t nbytes() const { return count() * cast.to().itemsize(); }
    };
    using Key = std::tuple<const source::Source*, std::uint64_t, std::uint64_t, onnx::DataType,
                           onnx::DataType>;

    void add_part(std::string_view name, const tensor::Payload& values, const tensor::Cast& cast);
    void check_for_changes() const override;
    void convert(const Part& part, std::uint64_t first, std::uint64_t count,
                 std::uint8_t* to) const;

    std::vector<Part> parts_;  // ascending
    std::map<Key, std::size_t> known_;
    std::set<std::shared_ptr<const source::Source>> sources_;
    bool splits_reads_ = false;
    mutable std::vector<std::uint8_t> buffer_;
};

}  // namespace onnxmap::save
