// Statistics of the values of initializers.
#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/initializer_names.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/work_and_tell.hpp"
#include "compare/tensor_stats.hpp"

namespace onnxmap::bindings {

namespace {

using compare::StatsPlan;
using compare::TensorStats;
using onnx::Numbers;
using tensor::ValueStats;

std::unique_ptr<StatsPlan> plan_stats(const Initializers& initializers, const py::object& names) {
    const auto selected = select_tensors(initializers, names);
    const WithoutLock unlocked;  // this may open files and search for segments
    return below_guard(initializers, [&] {
        return std::make_unique<StatsPlan>(selected.list(), selected.positions);
    });
}

py::object extreme_of(const onnx::DataTypeInfo& type, double value, std::uint64_t order) {
    const Numbers numbers = type.format.numbers;
    if (type.format.is_float()) return py::float_(value);
    if (type.bits < 64) return py::int_(static_cast<std::int64_t>(value));
    const std::uint64_t bits = tensor::order_of(type, order);
    if (numbers == Numbers::unsigned_integer) return py::int_(bits);
    return py::int_(static_cast<std::int64_t>(bits));
}

py::object mean_of(const ValueStats& values, bool is_complex) {
    if (values.finite == 0) return py::none();
    const auto mean = static_cast<double>(values.mean);
    if (!is_complex) return py::float_(mean);
    return py::cast(std::complex<double>(mean, static_cast<double>(values.imaginary_mean)));
}

py::object deviation_of(const ValueStats& values) {
    if (values.finite == 0) return py::none();
    return py::float_(values.deviation());
}

// The arguments of onnxmap.TensorStats, in order, without those that only one tensor has.
py::tuple counts_of(const ValueStats& values, py::object least, py::object most, bool is_complex) {
    return py::make_tuple(values.count, values.finite, std::move(least), std::move(most),
                          mean_of(values, is_complex), deviation_of(values), values.zeros,
                          values.nans, values.infinities);
}

bool is_complex(const onnx::DataTypeInfo& type) { return type.parts() == 2; }

py::tuple row_of(const TensorStats& found) {
    const onnx::DataTypeInfo& type = *found.type;
    const ValueStats& values = found.values;
    py::object least = py::none();
    py::object most = py::none();
    if (values.finite > 0 && !is_complex(type)) {
        least = extreme_of(type, values.least, values.least_order);
        most = extreme_of(type, values.most, values.most_order);
    }
    return py::make_tuple(to_str(found.name),
                          data_type_or_int(static_cast<std::int32_t>(type.type)),
                          to_tuple(found.dims),
                          counts_of(values, std::move(least), std::move(most), is_complex(type)));
}

// The rows of the tensors, and the row of all values; its extremes are left to Python, whose
// numbers can be compared across types.
py::tuple read_rows(const StatsPlan& plan, unsigned threads, const py::object& tell) {
    std::vector<TensorStats> found;
    work_and_tell(threads == 0 ? plan.stored().reads_at_once() : threads, tell,
                  [&](auto& done) { found = compare::read_stats(plan, done); });
    py::list rows;
    ValueStats total;
    for (const TensorStats& tensor : found) {
        rows.append(row_of(tensor));
        total.add(tensor.values);
    }
    const bool any_complex = std::ranges::any_of(
        found, [](const TensorStats& tensor) { return is_complex(*tensor.type); });
    return py::make_tuple(std::move(rows), counts_of(total, py::none(), py::none(), any_complex));
}

}  // namespace

void bind_stats(py::module_& module) {
    py::class_<StatsPlan>(module, "Stats",
                          "The initializers of `Model.stats`, each found and checked.")
        .def_property_readonly(
            "nbytes", [](const StatsPlan& self) { return self.nbytes(); },
            "The bytes that are read, or made by decoding.")
        .def("read", read_rows, py::arg("threads"), py::arg("tell"),
             R"(Return the row of each tensor, and the row of all values.

Args:
    threads: how many threads read and sum; 0 for as many as help.
    tell: None, or a function that is called with the bytes done, some 20 times a second.)");
    module.def("plan_stats", plan_stats, py::arg("initializers"), py::arg("names"),
               "Return the plan for the statistics of these initializers.");
}

}  // namespace onnxmap::bindings
