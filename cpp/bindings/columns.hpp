// Lists of one value for each message of a list, made in one call.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <utility>

#include "bindings/handles.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Making hundreds of thousands of lists would start garbage collections that find nothing.
class GarbageCollectionPause {
  public:
    GarbageCollectionPause() : was_enabled_(PyGC_Disable() == 1) {}
    ~GarbageCollectionPause() {
        if (was_enabled_) PyGC_Enable();
    }
    GarbageCollectionPause(const GarbageCollectionPause&) = delete;
    GarbageCollectionPause& operator=(const GarbageCollectionPause&) = delete;

  private:
    bool was_enabled_;
};

/// A list of `count` objects, which for_each passes to its argument one by one.
template <class ForEach>
py::list column(const Graph& self, std::uint64_t count, ForEach&& for_each) {
    static_cast<void>(self.document->check_for_changes());
    const GarbageCollectionPause pause;
    py::list values(count);
    py::ssize_t i = 0;
    for_each([&](py::object value) { PyList_SET_ITEM(values.ptr(), i++, value.release().ptr()); });
    return values;
}

}  // namespace onnxmap::bindings
