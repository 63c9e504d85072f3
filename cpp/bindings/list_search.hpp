// Where a message is in a list: index(), count(), `in` and remove().
#pragma once

#include <cstdint>

#include "bindings/guarded.hpp"
#include "bindings/handles.hpp"

namespace onnxmap::bindings {

/// The position of the first message of a list that is equal to an object. Throws ValueError.
[[nodiscard]] std::uint64_t position_in(const py::object& list, const py::object& message);

void bind_list_search(GuardedClass<MessageList>& cls);

}  // namespace onnxmap::bindings
