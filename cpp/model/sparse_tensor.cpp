#include "model/sparse_tensor.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <span>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "model/tensor_path.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::model {

namespace {

using onnx::DataType;
using source::OwnedBytes;

// Like [2, 3].
std::string list_of(std::span<const std::int64_t> numbers) {
    std::string text = "[";
    for (const std::int64_t number : numbers) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(number);
    }
    return text + "]";
}

std::int64_t* numbers_in(OwnedBytes& bytes) {
    return reinterpret_cast<std::int64_t*>(bytes.writable().data());
}

// Also false for a negative index.
bool within(std::int64_t index, std::uint64_t size) {
    return static_cast<std::uint64_t>(index) < size;
}

// Rows of `dims.size()` coordinates as positions in row-major order. Returns whether all
// coordinates are within their dimension.
bool flatten(std::span<const std::int64_t> dims, const std::int64_t* coordinates,
             std::span<std::int64_t> positions) {
    bool good = true;
    for (std::int64_t& position : positions) {
        std::uint64_t flat = 0;  // may wrap if a coordinate is bad
        for (const std::int64_t dim : dims) {
            const std::int64_t coordinate = *coordinates++;
            const auto size = static_cast<std::uint64_t>(dim);
            good &= within(coordinate, size);
            flat = flat * size + static_cast<std::uint64_t>(coordinate);
        }
        position = static_cast<std::int64_t>(flat);
    }
    return good;
}

// Whether they ascend without repetition within 0 .. size.
bool are_positions(std::span<const std::int64_t> positions, std::uint64_t size) {
    if (positions.empty()) return true;
    bool ascend = true;
    for (std::size_t i = 1; i < positions.size(); ++i) ascend &= positions[i - 1] < positions[i];
    return ascend && within(positions.front(), size) && within(positions.back(), size);
}

}  // namespace

void SparseTensor::fail(const char* code, const std::string& message) const {
    std::string name(this->name());
    if (name.empty() && finds_paths_) name = sparse_tensor_path(document_, message_.key());
    const std::string title = name.empty() ? std::string() : " " + in_quotes(name);
    Error error(code, {"sparse tensor", title, ": ", message});
    error.tensor = std::move(name);
    throw error;
}

std::vector<std::int64_t> SparseTensor::dims() const {
    std::vector<std::int64_t> dims;
    std::uint64_t rank = 0;
    message_.for_each_value(onnx::field<"SparseTensorProto.dims">, [&](const wire::Field& value) {
        if (++rank <= tensor::kMaxRank) dims.push_back(value.int64());
    });
    if (rank > tensor::kMaxRank) {
        fail("tensor.rank", tensor::too_many_dims(rank));
    }
    return dims;
}

// The values or indices, after checking their type and shape.
Tensor SparseTensor::checked(const onnx::Message& part) const {
    Tensor tensor(document_, part);
    if (!finds_paths_) tensor.leave_paths_out();
    tensor.check_type();
    static_cast<void>(tensor.count());
    return tensor;
}

std::uint64_t SparseTensor::dense_size(const std::vector<std::int64_t>& dims,
                                       const onnx::DataTypeInfo& type) const {
    const auto negative = std::ranges::find_if(dims, [](std::int64_t dim) { return dim < 0; });
    if (negative != dims.end()) {
        fail("tensor.negative_dim", "dimension " + std::to_string(*negative) + " is negative");
    }
    if (!tensor::fits_numpy(dims, type)) {
        fail("tensor.sparse_overflow", "its shape has more than 2^63 elements or bytes");
    }
    return std::accumulate(dims.begin(), dims.end(), std::uint64_t{1},
                           [](std::uint64_t size, std::int64_t dim) {
                               return size * static_cast<std::uint64_t>(dim);
                           });
}

SparseStructure SparseTensor::check_structure() const {
    const Tensor checked_values = checked(this->values());
    const tensor::Header& values = checked_values.header();
    if (values.data_type == 0) fail("tensor.dtype", "its values have no element type");
    const onnx::DataTypeInfo& type = checked_values.type();
    if (!type.format.has_zero()) {
        fail("tensor.sparse_dtype",
             std::string(type.name) + " cannot represent the zeros between its values");
    }
    SparseStructure structure;
    structure.dims = dims();
    structure.size = dense_size(structure.dims, type);

    const Tensor checked_indices = checked(this->indices());
    const tensor::Header& indices = checked_indices.header();
    const onnx::DataTypeInfo* index_type = onnx::find_data_type(indices.data_type);
    if (index_type == nullptr || index_type->type != DataType::INT64) {
        const std::string_view name = index_type == nullptr ? "UNDEFINED" : index_type->name;
        fail("tensor.sparse_dtype", "its indices are " + std::string(name) + ", not INT64");
    }
    if (values.rank != 1) {
        fail("tensor.sparse_rank",
             "its values have " + std::to_string(values.rank) + " dimensions, not 1");
    }
    const auto form = indices.dims();
    const std::size_t rank = structure.dims.size();
    structure.linear = form.size() == 1;
    if (!structure.linear && (form.size() != 2 || static_cast<std::uint64_t>(form[1]) != rank)) {
        fail("tensor.sparse_rank", "its indices have shape " + list_of(form) +
                                       ", neither [NNZ] nor [NNZ, " + std::to_string(rank) + "]");
    }
    const std::int64_t count = values.dims()[0];
    if (form[0] != count) {
        fail("tensor.sparse_count",
             std::to_string(count) + " values, but " + std::to_string(form[0]) + " indices");
    }
    structure.count = static_cast<std::uint64_t>(count);
    return structure;
}

std::shared_ptr<OwnedBytes> SparseTensor::read_indices(std::uint64_t count) const {
    const Tensor indices(document_, this->indices());
    return indices.naming([&] {
        tensor::Values values = indices.values();
        // A caller's buffer may have changed since the structure was checked.
        if (values.type().type != DataType::INT64 || values.count() != count) fail_changed();
        return source::guard_reads(values.source(), [&] {
            values.check_count();
            auto table = std::make_shared<OwnedBytes>(count * sizeof(std::int64_t));
            values.read(tensor::Conversion::none(values.type()), table->writable());
            return table;
        });
    });
}

std::shared_ptr<OwnedBytes> SparseTensor::positions(const SparseStructure& structure) const {
    const std::uint64_t count = structure.count;
    const std::size_t rank = structure.dims.size();
    // Indices without coordinates have no bytes that would show that there really are `count`.
    if (!structure.linear && rank == 0 && count > 1) {
        fail("tensor.sparse_duplicate", "entry 1 repeats index []");
    }
    auto table = read_indices(structure.linear ? count : count * rank);
    auto positions = table;
    bool in_dims = true;
    if (!structure.linear) {
        positions = std::make_shared<OwnedBytes>(count * sizeof(std::int64_t));
        in_dims = flatten(structure.dims, numbers_in(*table), {numbers_in(*positions), count});
    }
    if (!in_dims || !are_positions({numbers_in(*positions), count}, structure.size)) {
        fail_indices(structure, numbers_in(*table));
    }
    return positions;
}

// Finds the first index outside the shape, or else the first that does not follow its predecessor.
void SparseTensor::fail_indices(const SparseStructure& structure, const std::int64_t* table) const {
    const std::vector<std::int64_t> bounds =
        structure.linear ? std::vector{static_cast<std::int64_t>(structure.size)} : structure.dims;
    const std::size_t width = bounds.size();
    const auto index = [&](std::uint64_t entry) { return std::span(table + entry * width, width); };
    const auto text = [&](std::uint64_t entry) {
        return structure.linear ? std::to_string(table[entry]) : list_of(index(entry));
    };
    for (std::uint64_t entry = 0; entry < structure.count; ++entry) {
        for (std::size_t axis = 0; axis < width; ++axis) {
            const std::int64_t found = index(entry)[axis];
            if (within(found, static_cast<std::uint64_t>(bounds[axis]))) continue;
            const std::string highest = std::to_string(bounds[axis] - 1);
            fail("tensor.sparse_range", "entry " + std::to_string(entry) + " has index " +
                                            std::to_string(found) + ", outside 0 to " + highest);
        }
    }
    std::uint64_t entry = 1;
    while (std::ranges::lexicographical_compare(index(entry - 1), index(entry))) ++entry;
    assert(entry < structure.count);
    const std::string here = "entry " + std::to_string(entry);
    if (std::ranges::equal(index(entry - 1), index(entry))) {
        fail("tensor.sparse_duplicate", here + " repeats index " + text(entry));
    }
    fail("tensor.sparse_order",
         here + " has index " + text(entry) + ", but the entry before has " + text(entry - 1));
}

}  // namespace onnxmap::model
