#include "bindings/tensor_parts.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/tensor_access.hpp"
#include "tensor/box.hpp"

namespace onnxmap::bindings {

namespace {

using tensor::IndexRange;
using tensor::Values;

// The smallest range that holds what an index selects, and the index relative to the range.
struct Selected {
    IndexRange range;
    py::object inside;
};

py::object whole_axis() { return py::slice(py::none(), py::none(), py::none()); }

Selected selected_by(const py::slice& slice, std::int64_t length) {
    py::ssize_t start = 0;
    py::ssize_t stop = 0;
    py::ssize_t step = 0;
    py::ssize_t count = 0;
    if (!slice.compute(length, &start, &stop, &step, &count)) throw py::error_already_set();
    if (count == 0) return {{}, whole_axis()};
    const py::ssize_t last = start + (count - 1) * step;
    const auto [low, high] = std::minmax(start, last);
    const IndexRange range{static_cast<std::uint64_t>(low),
                           static_cast<std::uint64_t>(high - low + 1)};
    return {range, py::slice(py::none(), py::none(),
                             step == 1 ? py::object(py::none()) : py::object(py::int_(step)))};
}

Selected selected_by(py::ssize_t position, std::int64_t length) {
    if (position < 0) position += length;
    if (position < 0 || position >= length) throw py::index_error("index out of range");
    return {{static_cast<std::uint64_t>(position), 1}, py::int_(0)};
}

// Dask passes a list of positions on together with the slices of the chunk.
Selected selected_by_list(const py::object& list, std::int64_t length) {
    const py::object& numpy_int = python_object<"numpy", "intp">();
    const py::object given = py::len(list) == 0
                                 ? python_object<"numpy", "asarray">()(list, numpy_int)
                                 : python_object<"numpy", "asarray">()(list);
    const py::object positions = python_object<"numpy", "arange">()(length)[given];
    if (positions.attr("size").cast<std::int64_t>() == 0) return {{}, positions};
    const auto first = positions.attr("min")().cast<std::uint64_t>();
    const auto last = positions.attr("max")().cast<std::uint64_t>();
    return {{first, last - first + 1}, positions - py::int_(first)};
}

Selected selected(const py::object& key, std::int64_t length) {
    if (py::isinstance<py::slice>(key)) return selected_by(py::slice(key), length);
    if (PyIndex_Check(key.ptr()) != 0 && !is_array(key)) {
        const py::ssize_t position = PyNumber_AsSsize_t(key.ptr(), PyExc_IndexError);
        if (position == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
        return selected_by(position, length);
    }
    return selected_by_list(key, length);
}

// The tensor may have been edited since the ranges were found: indices and other threads run code.
void check_inside(const Values& values, const std::vector<IndexRange>& box) {
    const auto dims = values.header().dims();
    bool is_inside = values.payload() != nullptr && dims.size() == box.size();
    for (std::size_t axis = 0; is_inside && axis < box.size(); ++axis) {
        const auto length = static_cast<std::uint64_t>(dims[axis]);
        is_inside = box[axis].begin <= length && box[axis].count <= length - box[axis].begin;
    }
    if (!is_inside) throw py::index_error("the tensor was edited while its part was found");
}

py::object read(const Values& values, const std::vector<IndexRange>& box) {
    check_inside(values, box);
    std::vector<std::int64_t> dims;
    std::uint64_t count = 1;
    for (const IndexRange& range : box) {
        dims.push_back(static_cast<std::int64_t>(range.count));
        count *= range.count;
    }
    auto bytes = std::make_shared<source::OwnedBytes>(count * values.type().itemsize());
    {
        const WithoutLock unlocked;
        values.check_padding();
        tensor::read_box(values, box, bytes->writable().data());
        values.check_again();
    }
    return make_owned(values.type(), dims, std::move(bytes), true);
}

bool is_new_axis_or_ellipsis(const py::handle& key) {
    return key.is_none() || key.is(py::ellipsis());
}

bool is_basic(const py::tuple& keys) {
    for (const py::handle key : keys) {
        const bool is_number = PyLong_Check(key.ptr()) != 0 ||
                               py::isinstance(key, python_object<"numpy", "integer">());
        if (PyBool_Check(key.ptr()) != 0) return false;
        if (!is_number && !is_new_axis_or_ellipsis(key) && !py::isinstance<py::slice>(key)) {
            return false;
        }
    }
    return true;
}

// NumPy itself judges the indices, on an array that takes no memory.
void check(const py::object& key, const py::object& shape) {
    const py::object zero = python_object<"numpy", "uint8">()(0);
    static_cast<void>(py::object(python_object<"numpy", "broadcast_to">()(zero, shape)[key]));
}

// The keys with a slice for each axis that they leave out, and one ellipsis.
py::list filled(const py::tuple& keys, std::size_t axes) {
    py::list all;
    std::size_t given = 0;
    for (const py::handle key : keys) given += is_new_axis_or_ellipsis(key) ? 0 : 1;
    const auto skip = [&] {
        for (std::size_t i = given; i < axes; ++i) all.append(whole_axis());
    };
    for (const py::handle key : keys) {
        if (key.is(py::ellipsis())) {
            skip();
        } else {
            all.append(key);
        }
    }
    if (!keys.contains(py::ellipsis())) skip();
    return all;
}

}  // namespace

py::object part_of(const Tensor& tensor, const py::object& key) {
    const py::tuple keys = PyTuple_Check(key.ptr()) != 0 ? py::reinterpret_borrow<py::tuple>(key)
                                                         : py::make_tuple(key);
    const py::object object = py::cast(tensor);
    const bool is_stored =
        with_values(tensor, [&](const Values& values) { return values.payload() != nullptr; });
    if (!is_stored || !is_basic(keys)) return object.attr("numpy")()[key];
    const py::object shape = object.attr("shape");
    check(key, shape);
    const py::list all = filled(keys, py::len(shape));
    py::list axes;
    for (const py::handle each : all) {
        if (!each.is_none()) axes.append(each);
    }
    const py::tuple found = box_of(tensor, py::tuple(axes));
    const py::object box = found[0];
    const py::tuple inside = found[1];
    py::list index;
    std::size_t axis = 0;
    for (const py::handle each : all) {
        index.append(each.is_none() ? py::reinterpret_borrow<py::object>(each)
                                    : py::object(inside[axis++]));
    }
    // As in NumPy, an ellipsis makes an array of what would be a scalar.
    if (keys.contains(py::ellipsis())) index.append(py::ellipsis());
    py::object part = box[py::tuple(index)];
    if (is_array(part)) {
        // A copy: otherwise a few elements would keep the whole box in memory.
        if (!part.attr("size").equal(box.attr("size"))) part = part.attr("copy")();
        part.attr("flags").attr("writeable") = false;
    }
    return part;
}

py::tuple box_of(const Tensor& tensor, const py::tuple& keys) {
    const py::object shape = py::cast(tensor).attr("shape");
    if (py::len(shape) != keys.size()) throw py::index_error("one key is needed for each axis");
    std::vector<IndexRange> box;
    py::tuple inside(keys.size());
    for (std::size_t axis = 0; axis < keys.size(); ++axis) {
        const Selected found = selected(keys[axis], shape[py::int_(axis)].cast<std::int64_t>());
        box.push_back(found.range);
        inside[axis] = found.inside;
    }
    const py::object array =
        with_values(tensor, [&](const Values& values) { return read(values, box); });
    return py::make_tuple(array, inside);
}

}  // namespace onnxmap::bindings
