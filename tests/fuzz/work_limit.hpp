// Fails an input that makes more work than its size explains: the test for superlinear code.
//
// Work is the number of times that the regions of the core and of the targets ran, as the counters
// of the coverage report have it. That number is the same on every machine and on every run, so a
// finding stays one. What libraries do (memcpy, malloc) is not counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxmap::fuzz {

/// Ends the process with a message where the time between construction and destruction was not
/// proportional to the size of the input.
class WorkLimit {
  public:
    explicit WorkLimit(std::size_t input_nbytes) noexcept;
    ~WorkLimit();
    WorkLimit(const WorkLimit&) = delete;
    WorkLimit& operator=(const WorkLimit&) = delete;

  private:
    std::size_t input_nbytes_;
    std::uint64_t before_;
};

}  // namespace onnxmap::fuzz
