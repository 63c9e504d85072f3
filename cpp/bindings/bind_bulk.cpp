// Many tensors at once: fresh arrays, and streams of arrays.
#include <pybind11/critical_section.h>
#include <pybind11/stl.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/initializer_names.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/rounded_doubles.hpp"
#include "bindings/work_and_tell.hpp"
#include "bulk/read_items.hpp"
#include "bulk/tensor_stream.hpp"
#include "model/structure_pages.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bindings {

namespace {

using bulk::Item;
using bulk::Reading;

// Elements that NumPy converts between two checks for signals.
constexpr std::uint64_t kCastAtOnce = 8 << 20;

struct Bulk {
    std::shared_ptr<const bulk::Plan> plan;
    bool copies;
};

Bulk plan_bulk(const Initializers& initializers, const py::object& names, const py::object& dtype,
               bool copies, bool release_pages) {
    const onnx::DataTypeInfo* float_type = nullptr;
    if (!dtype.is_none()) {
        float_type = find_type(dtype_of(dtype));
        if (float_type == nullptr || !float_type->format.is_float()) {
            throw py::value_error("dtype must be a floating-point type of ONNX, such as float32");
        }
    }
    const auto selected = select_tensors(initializers, names, release_pages);
    const WithoutLock unlocked;  // this may open files and search for segments
    return below_guard(initializers, [&] {
        return Bulk{
            std::make_shared<const bulk::Plan>(selected.list(), selected.positions,
                                               bulk::Options{float_type, copies, release_pages}),
            copies};
    });
}

// Makes the arrays of one call or stream. Neighbours often share memory, and therefore an owner.
class ArrayMaker {
  public:
    /// `release_pages`: releases the pages that reading messages maps.
    ArrayMaker(Bulk bulk, bool release_pages)
        : bulk_(std::move(bulk)),
          releases_pages_(release_pages),
          pages_(bulk_.plan->stored().document().source(), release_pages) {}

    /// Name and array of an item. If the item is fresh, `memory` has its bytes.
    std::pair<py::object, py::object> operator()(const Item& item,
                                                 const source::ArrayMemory& memory) {
        const bulk::Plan& plan = *bulk_.plan;
        return source::guard_reads(plan.stored().document().source(), [&] {
            const model::Tensor tensor = plan.stored().tensor(item);
            // The stream releases the pages of views.
            if (item.is_fresh()) pages_.note_read(item.message);
            py::object name = to_str(tensor.header().name);
            py::object values = array(item, memory, tensor.header().dims());
            // The file was last checked before these bytes were read, here or by the thread ahead.
            if (item.reading != Reading::view) plan.stored().check_again(std::span(&item, 1));
            return std::pair(std::move(name), std::move(values));
        });
    }

    /// Releases the memory that the next arrays might share, so that it lives no longer than the
    /// arrays.
    void forget() noexcept {
        owner_ = py::object();
        owned_ = nullptr;
    }

  private:
    py::object array(const Item& item, const source::ArrayMemory& memory,
                     std::span<const std::int64_t> dims) {
        if (item.reading == Reading::text) {
            tensor::Values values = bulk_.plan->stored().values(item);
            py::object strings =
                read_array(values, tensor::Conversion::none(values.type()), bulk_.copies);
            if (releases_pages_) bulk_.plan->stored().release(item);
            return strings;
        }
        std::uint64_t count = 1;
        for (const std::int64_t dim : dims) count *= static_cast<std::uint64_t>(dim);
        if (count != item.count) {
            fail_changed();
        }
        if (item.reading == Reading::view) {
            const auto& source = bulk_.plan->stored().source(item);
            const ByteView bytes(source->data() + item.offset, item.stored_nbytes);
            return make_view(*item.made, dims, item.stored_nbytes == 0 ? ByteView() : bytes,
                             owner_of(source));
        }
        if (!item.is_cast_by_numpy()) {
            return make_view(*item.made, dims, memory.bytes, owner_of(memory.owner), bulk_.copies);
        }
        const py::object made =
            make_view(*item.made, dims, memory.bytes, make_owner(memory.owner), bulk_.copies);
        return cast_by_numpy(made, item, dims);
    }

    py::object cast_by_numpy(const py::object& array, const Item& item,
                             std::span<const std::int64_t> dims) {
        auto bytes = std::make_shared<source::OwnedBytes>(item.array_nbytes());
        const py::object cast = make_owned(*item.array, dims, std::move(bytes), true);
        const py::object to = cast.attr("reshape")(-1);
        const py::object from = array.attr("reshape")(-1);
        for (std::uint64_t begin = 0; begin < item.count; begin += kCastAtOnce) {
            const py::slice part(static_cast<py::ssize_t>(begin),
                                 static_cast<py::ssize_t>(begin + kCastAtOnce), 1);
            python_object<"numpy", "copyto">()(to[part],
                                               castable_to(*item.array, from[part], *item.made),
                                               py::arg("casting") = "unsafe");
            check_signals();
        }
        if (!bulk_.copies) cast.attr("flags").attr("writeable") = false;
        return cast;
    }

    // Not a reference: another thread may stop the stream meanwhile.
    py::object owner_of(const std::shared_ptr<const source::Source>& source) {
        if (owned_ != source.get() || !owner_) {
            owner_ = make_owner(source);
            owned_ = source.get();
        }
        return owner_;
    }

    Bulk bulk_;
    bool releases_pages_;
    model::StructurePages pages_;
    const source::Source* owned_ = nullptr;
    py::object owner_;
};

py::dict read_arrays(const Bulk& bulk, unsigned threads, const py::object& tell) {
    const bulk::Plan& plan = *bulk.plan;
    std::vector<source::ArrayMemory> memory;
    work_and_tell(threads == 0 ? plan.stored().reads_at_once() : threads, tell,
                  [&](auto& done) { memory = bulk::read_items(plan, plan.items(), done); });
    ArrayMaker make(bulk, false);
    const auto items = plan.items();
    std::vector<std::pair<py::object, py::object>> made(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        made[items[i].requested_at] = make(items[i], memory[i]);
        memory[i] = {};
    }
    py::dict arrays;
    for (const auto& [name, array] : made) arrays[name] = array;
    return arrays;
}

class Stream {
  public:
    Stream(const Bulk& bulk, std::uint64_t window, unsigned threads)
        : stream_(bulk.plan, {window, threads}), make_(bulk, true) {}
    ~Stream() { stop(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    py::object next() {
        using State = bulk::TensorStream::State;
        bulk::TensorStream::Step step;
        const auto next = [&] { return stream_.next(kLookEvery, step); };
        State state = without_lock(next);
        for (; state == State::later; state = without_lock(next)) check_signals();
        if (state == State::end) {
            const py::scoped_critical_section lock(lock_);
            make_.forget();
            return py::none();
        }
        const py::scoped_critical_section lock(lock_);
        auto [name, array] = make_(step.item, step.array);
        return py::make_tuple(std::move(name), std::move(array));
    }

    void stop() {
        if (stopped_.exchange(true)) return;
        {
            const py::scoped_critical_section lock(lock_);
            make_.forget();
        }
        const WithoutLock unlocked;
        stream_.stop();
    }

  private:
    bulk::TensorStream stream_;
    ArrayMaker make_;
    py::list lock_;  // of `make_`, in a Python without an interpreter lock
    std::atomic<bool> stopped_ = false;
};

}  // namespace

void bind_bulk(py::module_& module) {
    py::class_<Bulk>(module, "Bulk", "The initializers of a bulk read, each found and checked.")
        .def_property_readonly(
            "nbytes", [](const Bulk& self) { return self.plan->nbytes(); },
            "The bytes that reading makes, before NumPy's conversions, except strings.")
        .def_property_readonly(
            "array_nbytes", [](const Bulk& self) { return self.plan->array_nbytes(); },
            "The bytes of all arrays, except arrays of strings.")
        .def("arrays", read_arrays, py::arg("threads"), py::arg("tell"),
             R"(Return all tensors as fresh arrays by name.

Args:
    threads: how many threads read and decode; 0 for as many as help.
    tell: None, or a function that is called with the bytes done, some 20 times a second.)");
    py::class_<Stream>(module, "Stream", "The stream that onnxmap.TensorStream wraps.")
        .def(
            "next", [](Stream& self) { return self.next(); },
            "Return the next name and array; None at the end.")
        .def(
            "stop", [](Stream& self) { self.stop(); },
            "End the stream and all its background work.");
    module.def(
        "start_stream",
        [](const Bulk& bulk, std::uint64_t window, unsigned threads) {
            return std::make_unique<Stream>(bulk, window, threads);
        },
        py::arg("bulk"), py::arg("window"), py::arg("threads"));
    module.def("plan_bulk", plan_bulk, py::arg("initializers"), py::arg("names"), py::arg("dtype"),
               py::arg("copies"), py::arg("release_pages"),
               "Return the plan for a bulk read of these initializers.");
}

}  // namespace onnxmap::bindings
