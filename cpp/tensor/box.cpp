#include "tensor/box.hpp"

#include <cstring>
#include <vector>

#include "tensor/conversion.hpp"

namespace onnxmap::tensor {

namespace {

// Reads runs of elements, which are `length` long each and come in ascending order.
class RunReader {
  public:
    RunReader(const ReadElements& read, std::uint64_t length, std::uint64_t itemsize,
              std::uint8_t* out, const BoxReads& reads)
        : read_(read), length_(length), itemsize_(itemsize), out_(out), reads_(reads) {}

    void add(std::uint64_t begin) {
        if (!begins_.empty()) {
            const bool is_near = begin - (begins_.back() + length_) <= reads_.largest_gap;
            if (!is_near || begin + length_ - begins_.front() > reads_.at_once) flush();
        }
        begins_.push_back(begin);
    }

    void flush() {
        if (begins_.empty()) return;
        const std::uint64_t first = begins_.front();
        const std::uint64_t count = begins_.back() + length_ - first;
        if (count == begins_.size() * length_) {  // no gaps
            read_(first, count, out_);
            out_ += count * itemsize_;
        } else {
            bytes_.resize(count * itemsize_);
            read_(first, count, bytes_.data());
            for (const std::uint64_t begin : begins_) {
                std::memcpy(out_, bytes_.data() + (begin - first) * itemsize_, length_ * itemsize_);
                out_ += length_ * itemsize_;
            }
        }
        begins_.clear();
    }

  private:
    const ReadElements& read_;
    std::uint64_t length_;
    std::uint64_t itemsize_;
    std::uint8_t* out_;
    std::vector<std::uint64_t> begins_;
    BoxReads reads_;
    std::vector<std::uint8_t> bytes_;
};

}  // namespace

void read_box(std::span<const std::int64_t> dims, std::uint64_t itemsize,
              std::span<const IndexRange> box, const ReadElements& read, std::uint8_t* out,
              const BoxReads& reads) {
    for (const IndexRange& range : box) {
        if (range.count == 0) return;
    }
    // A run is as long as the dimensions at the end are whole.
    std::size_t outer = box.size();
    std::uint64_t length = 1;
    while (outer > 0) {
        const IndexRange& range = box[outer - 1];
        const std::uint64_t inner = length;
        length = inner * range.count;
        --outer;
        if (range.count != static_cast<std::uint64_t>(dims[outer])) break;
    }
    std::vector<std::uint64_t> strides(box.size(), 1);
    for (std::size_t axis = box.size(); axis-- > 1;) {
        strides[axis - 1] = strides[axis] * static_cast<std::uint64_t>(dims[axis]);
    }
    std::uint64_t begin = 0;
    for (std::size_t axis = 0; axis < box.size(); ++axis) begin += box[axis].begin * strides[axis];
    RunReader reader(read, length, itemsize, out, reads);
    std::vector<std::uint64_t> at(outer, 0);
    while (true) {
        reader.add(begin);
        std::size_t axis = outer;
        while (axis > 0 && ++at[axis - 1] == box[axis - 1].count) {
            begin -= (box[axis - 1].count - 1) * strides[axis - 1];
            at[axis - 1] = 0;
            --axis;
        }
        if (axis == 0) break;
        begin += strides[axis - 1];
    }
    reader.flush();
}

void read_box(const Values& values, std::span<const IndexRange> box, std::uint8_t* out) {
    const Conversion none = Conversion::none(values.type());
    read_box(
        values.header().dims(), values.type().itemsize(), box,
        [&](std::uint64_t begin, std::uint64_t count, std::uint8_t* to) {
            values.read_part(begin, count, none, to);
        },
        out);
}

}  // namespace onnxmap::tensor
