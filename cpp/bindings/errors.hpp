// One translator from the core's exceptions to the classes of onnxmap.errors.
#pragma once

namespace onnxmap::bindings {

void register_errors();

}  // namespace onnxmap::bindings
