// Goes through many tensors in the order in which they are stored, within bounded memory. One
// thread works ahead of the reader: it reads and maps the pages of views, and reads or decodes the
// other tensors into fresh arrays. Behind the reader, pages are released: unmapped, and dropped
// from the page cache if they were absent before this stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/no_copy.hpp"
#include "bulk/plan.hpp"
#include "source/slabs.hpp"

namespace onnxmap::bulk {

struct StreamOptions {
    std::uint64_t window;  // bytes that may be resident beside the current tensor
    unsigned threads = 0;  // that read and decode at a time; 0: as many as help
};

class TensorStream : NoCopy {
  public:
    TensorStream(std::shared_ptr<const Plan> plan, StreamOptions options);
    /// Like stop().
    ~TensorStream();

    enum class State { ready, later, end };
    struct Step {
        Item item;
        source::ArrayMemory array;  // of the array, if it is fresh
    };

    /// The next tensor, or `later` if it is not ready after `patience`. For one thread at a time.
    /// Throws what Plan and read_items throw, which ends the stream; std::invalid_argument if
    /// another thread is in this call; std::runtime_error in the child of a fork.
    [[nodiscard]] State next(std::chrono::milliseconds patience, Step& step);

    /// Ends the stream. Returns when no thread works for it any longer. Any thread may call it.
    void stop() noexcept;

  private:
    class Run;
    std::shared_ptr<Run> run_;
};

}  // namespace onnxmap::bulk
