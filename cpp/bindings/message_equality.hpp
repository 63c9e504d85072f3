// Equality of bound messages. Two objects of one message are equal, and messages with equal content
// are. Equal messages have the same hash.
#pragma once

#include <vector>

#include "bindings/handles.hpp"

namespace onnxmap::bindings {

/// Whether both have the same content; see model/equality.hpp.
[[nodiscard]] bool is_equal(const Handle& a, const Handle& b);

/// See model/message_hash.hpp.
[[nodiscard]] py::ssize_t hash_of(const Handle& handle);

/// The slots of `==` and of the hash, for any class whose objects begin with a Handle.
[[nodiscard]] std::vector<PyType_Slot> equality_slots();

}  // namespace onnxmap::bindings
