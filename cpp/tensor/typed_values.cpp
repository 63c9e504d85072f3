#include "tensor/typed_values.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "kernels/kernel_set.hpp"
#include "os/parallel.hpp"
#include "wire/packed_varints.hpp"

namespace onnxmap::tensor {

namespace {

constexpr std::uint64_t kRunPart = 1 << 20;      // bytes of a packed run that one thread takes
constexpr std::uint64_t kSmallRun = 64 << 10;    // shorter runs join the fields around them
constexpr std::uint64_t kFieldsPart = 64 << 10;  // bytes of fields that one thread takes

std::uint64_t width_of(const wire::FieldRow& row) noexcept {
    return row.wire_type() == wire::WireType::fixed32 ? 4 : 8;
}

std::uint64_t values_in(const wire::FieldRow& row, ByteView run) noexcept {
    if (row.wire_type() == wire::WireType::varint) return wire::count_varints(run);
    return run.size() / width_of(row);
}

/// Writes values of one width, and notes whether all were in range.
template <class T>
class Writer {
  public:
    Writer(const wire::FieldRow& row, const ValueRange& range, std::uint8_t* out)
        : range_(range), narrow_(row.type == wire::Type::int32), out_(out) {}

    void operator()(std::uint64_t i, std::uint64_t value) noexcept {
        // An int32 field has the low 32 bits of its varint.
        if (range_.bounded) {
            const auto number =
                narrow_ ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
            outside_ |= number < range_.lowest || number > range_.highest;
        }
        const T element = static_cast<T>(value);
        std::memcpy(out_ + i * sizeof(T), &element, sizeof(T));
    }

    [[nodiscard]] bool in_range() const noexcept { return !outside_; }

  private:
    const ValueRange range_;
    const bool narrow_;
    std::uint8_t* const out_;
    bool outside_ = false;
};

template <class T>
std::uint64_t decode_varints(ByteView run, std::uint64_t count, Writer<T>& write) {
    const std::uint8_t* p = run.data();
    const std::uint8_t* end = p + run.size();
    std::uint64_t i = 0;
    std::array<std::uint64_t, 1024> block;
    while (true) {
        const std::uint64_t most = std::min<std::uint64_t>(block.size(), count - i);
        const std::uint64_t here = kernels::kernels().read_varints(
            p, end, most, reinterpret_cast<std::uint8_t*>(block.data()));
        if (here == 0) break;
        for (std::uint64_t k = 0; k < here; ++k) write(i + k, block[k]);
        i += here;
    }
    wire::PackedVarints rest(ByteView(p, end));
    for (std::uint64_t value; rest.next(value); ++i) {
        if (i < count) write(i, value);
    }
    return i;  // more than `count` if the bytes have changed
}

template <class T>
std::uint64_t decode_run(ByteView run, const wire::FieldRow& row, std::uint64_t count,
                         Writer<T>& write) {
    if (row.wire_type() == wire::WireType::varint) return decode_varints(run, count, write);
    const std::uint64_t width = width_of(row);
    const std::uint64_t here = std::min(count, run.size() / width);
    for (std::uint64_t i = 0; i < here; ++i) {
        const std::uint8_t* p = run.data() + i * width;
        write(i, width == 4 ? wire::load32(p) : wire::load64(p));
    }
    return here;
}

template <class T>
std::uint64_t decode_fields(ByteView bytes, const wire::MessageTable& table,
                            const wire::FieldRow& row, std::uint64_t count, Writer<T>& write) {
    const onnx::Message fields(table, bytes);
    std::uint64_t found = 0;
    fields.for_each_value(row, [&](const wire::Field& value) {
        if (found < count) write(found, value.value);
        ++found;
    });
    return found;
}

}  // namespace

TypedValues::TypedValues(const onnx::Message& message, const wire::FieldRow& row)
    : table_(&message.table()), row_(&row) {
    // Neighbouring small fields form one block.
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* end = nullptr;
    std::uint64_t count = 0;
    const auto close = [&] {
        // Adds the block even if it has no value: if no load checked the run, it may be cut in
        // its first value.
        if (begin != nullptr) blocks_.push_back({ByteView(begin, end), false, 0, count});
        begin = nullptr;
        count = 0;
    };
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* known) {
        if (known != &row) {
            if (field.begin == end && field.end - field.begin <= 64) {
                end = field.end;
            } else {
                close();
            }
            return;
        }
        const bool packed = field.type != row.wire_type();
        const bool is_held = field.begin == field.end;  // the run is elsewhere
        if (packed && (is_held || field.bytes.size() > kSmallRun)) {
            close();
            add_run(field.bytes);
            return;
        }
        if (begin != nullptr &&
            (field.begin != end || static_cast<std::uint64_t>(field.end - begin) > kFieldsPart)) {
            close();
        }
        if (begin == nullptr) begin = field.begin;
        end = field.end;
        count += packed ? values_in(row, field.bytes) : 1;
    });
    close();
    os::for_each_range(blocks_.size(), 1, [&](std::uint64_t i, std::uint64_t) {
        Block& block = blocks_[i];
        if (block.packed) block.count = values_in(row, block.bytes);
    });
    for (Block& block : blocks_) {
        block.first = count_;
        count_ += block.count;
    }
}

void TypedValues::add_run(ByteView run) {
    const bool varints = row_->wire_type() == wire::WireType::varint;
    for (std::uint64_t begin = 0; begin < run.size();) {
        // kRunPart is a multiple of every fixed width.
        std::uint64_t end = std::min<std::uint64_t>(begin + kRunPart, run.size());
        if (varints) end = wire::varint_end(run, end);
        blocks_.push_back({run.subspan(begin, end - begin), true, 0, 0});
        begin = end;
    }
}

bool TypedValues::decode(std::size_t i, const ValueRange& range, std::uint8_t* out) const {
    const Block& block = blocks_[i];
    const auto as = [&]<class T>(T) {
        Writer<T> write(*row_, range, out);
        const std::uint64_t found =
            block.packed ? decode_run(block.bytes, *row_, block.count, write)
                         : decode_fields(block.bytes, *table_, *row_, block.count, write);
        if (found != block.count) {
            fail_changed();
        }
        return write.in_range();
    };
    switch (range.nbytes) {
        case 1: return as(std::uint8_t{});
        case 2: return as(std::uint16_t{});
        case 4: return as(std::uint32_t{});
        default: return as(std::uint64_t{});
    }
}

std::optional<ByteView> single_run(const onnx::Message& message, const wire::FieldRow& row) {
    if (row.wire_type() == wire::WireType::varint) return std::nullopt;
    std::optional<ByteView> run;
    std::uint64_t runs = 0;
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* known) {
        if (known != &row) return;
        if (field.type != row.wire_type()) {
            if (field.bytes.empty()) return;  // an empty run has no values
            run = field.bytes;
        }
        ++runs;
    });
    return runs == 1 ? run : std::nullopt;
}

}  // namespace onnxmap::tensor
