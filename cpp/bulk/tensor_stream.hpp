// Goes through many tensors in the order in which they are stored, within bounded memory. One
// thread works ahead of the reader: it has the pages of what can be looked at read and mapped, and
// reads or decodes the rest into fresh arrays. Behind the reader pages are given back: unmapped,
// and dropped from the page cache where it was this stream that brought them there.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "bulk/plan.hpp"
#include "source/slabs.hpp"

namespace onnxmap::bulk {

struct StreamOptions {
    std::uint64_t window;  // bytes that may be resident beside the tensor that is looked at
    unsigned threads = 0;  // that read and decode at a time; 0: as many as are of use
};

class TensorStream {
  public:
    TensorStream(std::shared_ptr<const Plan> plan, StreamOptions options);
    /// As stop().
    ~TensorStream();
    TensorStream(const TensorStream&) = delete;
    TensorStream& operator=(const TensorStream&) = delete;

    enum class State { ready, later, end };
    struct Step {
        Item item;
        source::Place place;  // of the array, where it is fresh
    };

    /// The next tensor; `later` where it is not there after `patience`. For one thread at a time.
    /// Throws what Plan and read_items throw, which ends the stream; std::invalid_argument
    /// where another thread is in here, std::runtime_error in the child of a fork.
    [[nodiscard]] State next(std::chrono::milliseconds patience, Step& step);

    /// Ends the stream, and returns when nothing works for it any more. Any thread may call it.
    void stop() noexcept;

  private:
    class Run;
    std::shared_ptr<Run> run_;
};

}  // namespace onnxmap::bulk
