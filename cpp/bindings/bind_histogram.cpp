// Histograms of the values of a Tensor.
#include <pybind11/stl.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/tensor_access.hpp"
#include "bindings/work_and_tell.hpp"
#include "tensor/histogram.hpp"

namespace onnxmap::bindings {

namespace {

using tensor::Histogram;

// The number of bins, or nothing if `bins` are edges. An array has an __index__ method, too.
std::optional<std::int64_t> bin_count(const py::object& bins) {
    if (PyIndex_Check(bins.ptr()) == 0 || py::hasattr(bins, "__len__")) return std::nullopt;
    return to_index(bins);
}

void check_bin_count(std::int64_t count) {
    if (count >= 1 && count <= tensor::kMostBins) return;
    throw py::value_error("a histogram has 1 to " + std::to_string(tensor::kMostBins) +
                          " bins, not " + std::to_string(count));
}

// Edges of bins of one width. One number alone is in the middle of them.
py::object equal_edges(std::optional<Histogram::Extremes> extremes, std::int64_t count) {
    auto [least, most] = extremes.value_or(Histogram::Extremes{0, 1});
    if (least == most) {
        least -= 0.5;
        most += 0.5;
    }
    // No double may have the distance of two huge numbers, but one has half of it.
    const double scale = std::isfinite(most - least) ? 1 : 2;
    const py::object edges =
        python_object<"numpy", "linspace">()(least / scale, most / scale, count + 1) *
        py::float_(scale);
    // Steps between tiny numbers are rounded, and may sum up to more.
    return python_object<"numpy", "minimum">()(edges, most);
}

py::object given_edges(const py::object& bins) {
    py::object edges = python_object<"numpy", "array">()(bins, python_object<"numpy", "float64">());
    if (edges.attr("ndim").cast<int>() != 1) {
        throw py::value_error("bins is a number of bins, or a flat sequence of their edges");
    }
    return edges;
}

// The numbers in a float64 array of our own.
std::vector<double> edges_in(const py::object& array) {
    const py::buffer_info info = py::reinterpret_borrow<py::buffer>(array).request();
    std::vector<double> edges(static_cast<std::size_t>(info.size));
    if (!edges.empty()) std::memcpy(edges.data(), info.ptr, edges.size() * sizeof(double));
    check_bin_count(static_cast<std::int64_t>(edges.size()) - 1);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!std::isnan(edges[i]) && (i == 0 || edges[i] >= edges[i - 1])) continue;
        throw py::value_error("the edges of bins must ascend, but edge " + std::to_string(i) +
                              " is " + std::string(py::str(py::float_(edges[i]))));
    }
    return edges;
}

py::object to_int64_array(const std::vector<std::uint64_t>& counts) {
    auto bytes = std::make_shared<source::OwnedBytes>(counts.size() * sizeof counts[0]);
    std::memcpy(bytes->writable().data(), counts.data(), bytes->writable().size());
    const std::int64_t dims[] = {static_cast<std::int64_t>(counts.size())};
    return make_owned(onnx::data_type(onnx::DataType::INT64), dims, std::move(bytes), true);
}

py::tuple histogram(const Tensor& tensor, const py::object& bins,
                    std::optional<std::int64_t> sample) {
    if (sample && *sample < 1) throw py::value_error("a sample has at least one value");
    const auto count = bin_count(bins);
    if (count) check_bin_count(*count);
    py::object array = count ? py::object() : given_edges(bins);
    std::vector<double> edges;
    if (array) edges = edges_in(array);
    return with_values(tensor, [&](tensor::Values& values) {
        const onnx::DataTypeInfo& type = values.type();
        if (type.bits == 0 || type.parts() == 2) {
            throw py::type_error(std::string(type.name) +
                                 " has no order, so it has no histogram; use numpy()");
        }
        std::optional<Histogram> histogram;
        std::optional<Histogram::Extremes> extremes;
        std::vector<std::uint64_t> counts;
        work_and_tell(0, py::none(), [&](auto&) {
            histogram.emplace(values,
                              sample ? static_cast<std::uint64_t>(*sample) : Histogram::kAll);
            count ? void(extremes = histogram->extremes()) : void(counts = histogram->count(edges));
        });
        if (count) {
            array = equal_edges(extremes, *count);
            edges = edges_in(array);
            work_and_tell(0, py::none(), [&](auto&) { counts = histogram->count(edges); });
        }
        return py::make_tuple(to_int64_array(counts), array);
    });
}

}  // namespace

void bind_histogram(GuardedClass<Tensor>& cls) {
    cls.def("histogram", histogram, py::arg("bins") = 10, py::kw_only(),
            py::arg("sample") = py::none(),
            R"(Return how many values lie in each bin, and the edges of the bins.

The result is that of `numpy.histogram` for the values as float64. Each bin goes from its lower edge
to below its upper one; the last bin has its upper edge, too. NaN, and values outside the edges, are
in no bin: `Model.stats` counts NaN and infinities. Reads all values, in several threads, and keeps
few of them in memory; values in fields such as `int64_data` are decoded as a whole.

Args:
    bins: the number of bins of equal width, from the least finite value to the greatest one; or the
        edges of the bins, in ascending order. At most 65 536 bins.
    sample: read only about this many values, in runs of 16 384 that are spread evenly. None reads
        all.

Returns:
    Two arrays: the counts as int64, and the edges as float64, one edge more than counts. For a
    tensor without finite values, the edges go from 0 to 1; if all values are equal, from 0.5 below
    to 0.5 above.

Raises:
    TensorError: the shape, the type and the stored bytes do not agree.
    ExternalDataError: the external file is missing, too short or unsafe.
    FileChangedError: the file has changed since it was loaded.
    TypeError: the tensor holds strings or complex numbers, or `bins` is not a number or numbers.
    ValueError: there are no bins, or too many; or an edge is NaN or less than the one before.

Example:
    >>> counts, edges = model.initializers["w"].histogram(32))");
}

}  // namespace onnxmap::bindings
