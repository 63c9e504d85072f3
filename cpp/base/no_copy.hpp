// The base of classes whose objects are neither copied nor moved.
#pragma once

namespace onnxmap {

class NoCopy {
  public:
    NoCopy(const NoCopy&) = delete;
    NoCopy& operator=(const NoCopy&) = delete;

  protected:
    NoCopy() = default;
    ~NoCopy() = default;
};

}  // namespace onnxmap
