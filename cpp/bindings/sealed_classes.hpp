// What holds for every bound class: Python can neither make, copy, pickle, subclass nor change one.
// An object without its C++ value would be read as if it had one.
#pragma once

namespace onnxmap::bindings {

/// To be called when all classes are bound.
void seal_classes();

}  // namespace onnxmap::bindings
