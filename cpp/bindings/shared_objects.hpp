// Shares one Python object among equal values of a column. Op types and shapes repeat thousands of
// times, and allocating memory is the main cost of a column.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <string>
#include <string_view>

#include "model/name_table.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Remembers the newest object for each of a fixed number of slots. A collision only makes a new
/// object.
class SharedObjects {
  public:
    /// The object for `key`. If it is not remembered, `make()` makes it.
    template <class Make>
    const py::object& operator()(std::string_view key, Make&& make) {
        Slot& slot = slots_[model::NameTable::hash_of(key) % slots_.size()];
        if (!slot.value || slot.key != key) {
            slot.value = make();
            slot.key = key;
        }
        return slot.value;
    }

  private:
    struct Slot {
        std::string key;
        py::object value;
    };

    std::array<Slot, 1024> slots_;
};

}  // namespace onnxmap::bindings
