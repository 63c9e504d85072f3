// Divides tensors in stored order into tasks for several threads: parts of large tensors, and
// batches of small ones that are stored close together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_ranges.hpp"
#include "os/parallel.hpp"
#include "read/stored_tensors.hpp"
#include "tensor/header.hpp"

namespace onnxmap::read {

struct Task {
    std::uint32_t first;    // tensor
    std::uint32_t tensors;  // how many: a batch has several, which are read as a whole
    std::uint64_t begin;    // element, of a single tensor
    std::uint64_t end;
    ByteRange range;  // of its file
};

/// The elements begin .. end of the i-th tensor. `begin` is a multiple of eight: such elements
/// begin at a byte, whatever their width is.
[[nodiscard]] inline Task part(std::size_t i, const StoredTensor& tensor, std::uint64_t begin,
                               std::uint64_t end) {
    const auto byte_at = [&](std::uint64_t element) {
        return tensor.offset + tensor::packed_nbytes(element, tensor.type->bits);
    };
    return {static_cast<std::uint32_t>(i), 1, begin, end, {byte_at(begin), byte_at(end)}};
}

/// How much a batch may be.
struct BatchLimits {
    std::uint64_t range;  // bytes that are read at once, with the gaps between the tensors
    std::uint64_t work;   // many tensors may share the same bytes: a limit of its own
};

/// Makes the tasks for all tensors that can be read in parts. A sink has is_in_parts(tensor),
/// batch_limits(source), work(tensor), which is in bytes, add(task), and add_parts(i).
template <class Tensor, class Sink>
void make_tasks(const StoredTensors& stored, std::span<const Tensor> tensors, Sink& sink) {
    for (std::size_t first = 0; first < tensors.size();) {
        const Tensor& tensor = tensors[first];
        if (!sink.is_in_parts(tensor) || tensor.count == 0) {
            ++first;
            continue;
        }
        const source::Source& source = *stored.source(tensor);
        const BatchLimits limits = sink.batch_limits(source);
        const std::uint64_t gap = source.read_habits().gap;
        ByteRange range{tensor.offset, tensor.stored_end()};
        std::uint64_t work = sink.work(tensor);
        std::size_t next = first + 1;
        for (; next < tensors.size(); ++next) {
            const Tensor& other = tensors[next];
            if (!sink.is_in_parts(other) || other.source != tensor.source) break;
            if (other.offset > range.end + gap) break;
            const std::uint64_t end = std::max(range.end, other.stored_end());
            work += sink.work(other);
            if (end - range.begin > limits.range || work > limits.work) break;
            range.end = end;
        }
        if (next == first + 1) {
            sink.add_parts(first);
        } else {
            sink.add(Task{static_cast<std::uint32_t>(first),
                          static_cast<std::uint32_t>(next - first), 0, 0, range});
        }
        first = next;
    }
}

/// Calls work(i) for each task, in several threads. Calls ask(i) for some tasks ahead, which asks
/// for the pages that are not in memory: the system's read-ahead follows one sequential thread, and
/// the positions of several threads look random to it.
template <class Ask, class Work>
void run_tasks(std::size_t tasks, std::size_t ahead, Ask&& ask, Work&& work) {
    for (std::size_t i = 0; i < std::min(ahead, tasks); ++i) ask(i);
    os::for_each_range(tasks, 1, [&](std::uint64_t i, std::uint64_t) {
        if (i + ahead < tasks) ask(i + ahead);
        work(i);
    });
}

}  // namespace onnxmap::read
