// Fails an input that makes too much work for its size: the test for superlinear code.
//
// Work is the number of times that regions of the core and of the targets ran, by the counters of
// the coverage report. It is the same on every machine and in every run, and a finding can
// therefore be repeated. The work of libraries (memcpy, malloc) is not counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxmap::fuzz {

/// Ends the process with a message if more work was done between construction and destruction than
/// an input of that size may make.
class WorkLimit {
  public:
    explicit WorkLimit(std::size_t input_nbytes) noexcept;
    ~WorkLimit();
    WorkLimit(const WorkLimit&) = delete;
    WorkLimit& operator=(const WorkLimit&) = delete;

    /// Allows the work of as many more bytes, which a target made.
    void allow(std::size_t nbytes) noexcept { input_nbytes_ += nbytes; }

  private:
    std::size_t input_nbytes_;
    std::uint64_t before_;
};

}  // namespace onnxmap::fuzz
