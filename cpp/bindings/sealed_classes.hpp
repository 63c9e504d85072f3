// Keeps Python from making, copying and pickling objects of bound classes, and from subclassing and
// changing the classes. An object without its C++ value would be read as if it had one.
#pragma once

namespace onnxmap::bindings {

/// Must be called after all classes are bound.
void seal_classes();

}  // namespace onnxmap::bindings
