// Keeps Python from making, copying and pickling objects of bound classes, and from subclassing and
// changing the classes. The bindings would use an object without its C++ value as if it had one.
#pragma once

namespace onnxmap::bindings {

/// Must be called after all classes are bound.
void seal_classes();

}  // namespace onnxmap::bindings
