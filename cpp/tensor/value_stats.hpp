// Minimum, maximum, mean and spread of values of one type, and how many are zero, NaN or infinite.
// Results for parts of the values are joined in a fixed order, so they do not depend on threads.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/integer_loops.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::tensor {

/// Facts about some values. A complex value is NaN, infinite, or both, if a part of it is.
struct ValueStats {
    std::uint64_t count = 0;
    std::uint64_t finite = 0;
    std::uint64_t zeros = 0;
    std::uint64_t nans = 0;
    std::uint64_t infinities = 0;

    // Of the finite values; not for complex ones.
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    // The same for INT64 and UINT64, which a double cannot hold; see order_of().
    std::uint64_t least_order = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t most_order = 0;

    // Of the finite values. On most systems, long double can hold the square of every double.
    long double mean = 0;
    long double imaginary_mean = 0;
    long double squares = 0;  // the sum of the squared distances from the mean

    /// Adds the facts about other values. Source: Chan, Golub and LeVeque, "Updating formulae and a
    /// pairwise algorithm for computing sample variances", 1979.
    void add(const ValueStats& next);

    /// The standard deviation of the population; 0 if no value is finite.
    [[nodiscard]] double deviation() const;
};

/// An unsigned number for an integer of a type, given by its 64 bits: smaller integers have smaller
/// numbers. The same function turns the number back into the bits.
[[nodiscard]] constexpr std::uint64_t order_of(const onnx::DataTypeInfo& type,
                                               std::uint64_t bits) noexcept {
    const bool is_signed = type.format.numbers == onnx::Numbers::signed_integer;
    return is_signed ? bits ^ (1ULL << 63) : bits;
}

/// The number of elements of a block: a multiple of eight, in about 1 MiB of stored bytes. Blocks
/// are joined one after another.
[[nodiscard]] std::uint64_t block_count(const onnx::DataTypeInfo& type) noexcept;

/// Facts about the elements of one block, not of strings. `packed`: elements share bytes as in
/// raw_data; otherwise each element of less than 8 bits has a byte. Reads no other bytes, at any
/// address.
[[nodiscard]] ValueStats block_stats(const onnx::DataTypeInfo& type, bool packed,
                                     const std::uint8_t* bytes, std::uint64_t count);

/// How often each code occurs among elements of at most 8 bits. The arguments are those of
/// block_stats().
[[nodiscard]] kernels::CodeCounts codes_of(const onnx::DataTypeInfo& type, bool packed,
                                           const std::uint8_t* bytes, std::uint64_t count);

/// The number that a code of at most 8 bits stands for.
[[nodiscard]] double value_of(const onnx::DataTypeInfo& type, std::uint32_t code);

}  // namespace onnxmap::tensor
