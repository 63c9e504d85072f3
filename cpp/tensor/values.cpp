#include "tensor/values.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "os/fault_handler.hpp"
#include "os/parallel.hpp"
#include "source/owned_bytes.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::tensor {

using onnx::field;

namespace {

// Bytes of output that one thread takes at a time: one huge page, so that no two threads touch the
// same page.
constexpr std::uint64_t kGrain = 2 << 20;
// Bytes per read of an unmapped file whose values are converted; the second number is for sources
// that split a read into many.
constexpr std::uint64_t kReadBuffer = 256 << 10;
constexpr std::uint64_t kSplitBuffer = 128 << 20;

// onnx itself has written negative packed bytes, so signed and unsigned values of a width are
// accepted.
ValueRange range_of(const onnx::DataTypeInfo& type) noexcept {
    const std::uint32_t nbytes = type.itemsize() / type.parts();
    if (type.type == onnx::DataType::UINT32) {
        return {nbytes, true, 0, std::numeric_limits<std::uint32_t>::max()};
    }
    if (nbytes >= 4) return {nbytes, false, 0, 0};
    if (type.sub_byte() && type.per_entry() == 1) return {nbytes, true, 0, (1LL << type.bits) - 1};
    return {nbytes, true, -(1LL << (8 * nbytes - 1)), (1LL << (8 * nbytes)) - 1};
}

}  // namespace

Values::Values(const onnx::Message& message, const Header& header, const Store& store,
               source::Timestamp since, Segments segments, std::optional<std::uint64_t> part)
    : message_(message),
      header_(header),
      store_(&store),
      since_(since),
      type_(&element_type(header_)),
      count_(check_storage(header_, store)),
      segments_(std::move(segments)) {
    // The segments were joined earlier, and the bytes of the model may have changed since.
    if (segments_ && segments_->segments.back().end != count_) fail_changed();
    if (part) count_ = *part;
    if (!in_pieces()) payload_ = find_payload(message_, header_, count_, store, since);
}

Values Values::piece(const Segment& segment) const {
    const Header header = read_header(segment.tensor);
    if (header.data_type != header_.data_type) fail_changed();
    return {segment.tensor, header, *store_, since_, nullptr, segment.count()};
}

void Values::check_padding() const {
    const std::uint64_t used = count_ * type_->bits % 8;
    if (!type_->zero_padding() || used == 0 || !payload_) return;
    std::uint8_t last = 0;
    payload_->source->read(payload_->offset + payload_->nbytes - 1, {&last, 1});
    if (last >> used != 0) {
        fail(header_, "tensor.padding", "the unused bits of its last byte are not zero");
    }
}

void Values::read_part(std::uint64_t begin, std::uint64_t count, const Conversion& conversion,
                       std::uint8_t* out) const {
    if (count == 0) return;
    const source::Source& source = *payload_->source;
    const std::uint64_t bits = type_->bits;
    // Elements before `begin` in the same byte are read, too, and left out.
    const std::uint64_t lead = bits < 8 ? begin % 8 : 0;
    if (lead > 0) {
        std::vector<std::uint8_t> elements((lead + std::min(count, 8 - lead)) *
                                           conversion.to().itemsize());
        const std::uint64_t here = std::min(count, 8 - lead);
        read_part(begin - lead, lead + here, conversion, elements.data());
        std::copy(elements.begin() + static_cast<std::ptrdiff_t>(lead * conversion.to().itemsize()),
                  elements.end(), out);
        read_part(begin + here, count - here, conversion, out + here * conversion.to().itemsize());
        return;
    }
    const std::uint64_t first = begin * bits / 8;
    if (payload_->is_view()) {
        const std::uint8_t* const bytes = payload_->bytes().data() + first;
        source::read_or_leave(source, [&] { conversion.stored(bytes, count, out); });
        return;
    }
    if (conversion.is_copy()) {
        source.read(payload_->offset + first, {out, count * type_->itemsize()});
        return;
    }
    const std::uint64_t buffered = source.splits_reads() ? kSplitBuffer : kReadBuffer;
    std::vector<std::uint8_t> buffer(std::min(buffered, packed_nbytes(count, type_->bits)));
    // A multiple of eight elements, which is a whole number of bytes at any width.
    const std::uint64_t most = buffered / bits * 8;
    for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t here = std::min(most, count - done);
        const std::span<std::uint8_t> bytes(buffer.data(), packed_nbytes(here, type_->bits));
        source.read(payload_->offset + first + done * bits / 8, bytes);
        conversion.stored(bytes.data(), here, out + done * conversion.to().itemsize());
        done += here;
    }
}

void Values::read_payload(const Conversion& conversion, std::uint8_t* out) const {
    check_padding();
    const std::uint64_t itemsize = conversion.to().itemsize();
    // kGrain is a multiple of eight elements of every width.
    const bool splits = payload_->source->splits_reads();
    const std::uint64_t grain = splits ? std::max<std::uint64_t>(count_, 1) : kGrain / itemsize;
    os::for_each_range(count_, grain, [&](std::uint64_t begin, std::uint64_t end) {
        read_part(begin, end - begin, conversion, out + begin * itemsize);
    });
}

std::uint64_t Values::stored_nbytes() const {
    return in_pieces() ? segments_->stored_nbytes : tensor::stored_nbytes(message_, header_);
}

void Values::for_each_range(const VisitRange& visit) const {
    if (in_pieces()) {
        for (const Segment& segment : segments_->segments) piece(segment).for_each_range(visit);
    } else if (payload_) {
        visit(payload_->source, payload_->offset, payload_->nbytes);
    } else {
        message_.for_each_range([&](ByteView bytes) {
            const auto source = store_->source_of(bytes);
            visit(source, source->offset_of(bytes), bytes.size());
        });
    }
}

void Values::make_resident() const {
    message_.for_each_range(
        [&](ByteView bytes) { static_cast<void>(store_->source_of(bytes)->resident(bytes)); });
}

// Values in typed fields and texts may be in the files of other models, which they were copied
// from. The caller guards only the file of this one.
template <class Work>
void Values::guard_copied(Work&& work) const {
    std::set<std::shared_ptr<const source::Source>> others;
    if (message_.edited()) {
        message_.for_each_range([&](ByteView bytes) {
            auto source = store_->source_of(bytes);
            if (source != store_->source) others.insert(std::move(source));
        });
    }
    const auto guard_from = [&](const auto& self, auto next) -> void {
        if (next == others.end()) {
            work();
        } else {
            store_->check_unchanged(**next, since_);
            source::guard_reads(**next, [&] { self(self, std::next(next)); });
            store_->check_after_reading(**next);
        }
    };
    guard_from(guard_from, others.begin());
}

void Values::check_pieces() const {
    // A loop that reads the tensor through each of its segments would read the whole tensor each
    // time.
    const std::size_t count = segments_->segments.size();
    if (count > store_->max_segments && header_.begin != segments_->first) {
        fail(header_, "limit.overlap",
             "it has " + std::to_string(count) + " segments; a tensor of more than " +
                 std::to_string(store_->max_segments) +
                 " can be read only through its first segment in the file; get that one from "
                 "`initializers` by name, or raise the limit with limits=Limits(overlap=...)");
    }
    // Otherwise a few bytes of a file, referred to by many pieces, would become an array of any
    // size.
    using Start = std::pair<const source::Source*, std::uint64_t>;
    std::vector<std::pair<Start, std::uint64_t>> ranges;  // where each begins and ends
    for (const Segment& segment : segments_->segments) {
        Values part = piece(segment);
        part.check_count();
        if (part.payload_ && part.payload_->nbytes > 0) {
            const Payload& bytes = *part.payload_;
            ranges.emplace_back(Start(bytes.source.get(), bytes.offset),
                                bytes.offset + bytes.nbytes);
        }
    }
    std::ranges::sort(ranges);
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        const auto& [begin, end] = ranges[i - 1];
        if (ranges[i].first < Start(begin.first, end)) {
            fail(header_, "tensor.segment", "two of its segments refer to the same bytes");
        }
    }
}

void Values::check_count() {
    if (in_pieces()) {
        check_pieces();
        return;
    }
    if (!payload_) make_resident();
    if (type_->bits == 0) {
        std::uint64_t found = 0;
        message_.for_each_value(field<"TensorProto.string_data">,
                                [&](const wire::Field&) { ++found; });
        check_value_count(header_, count_, found);
    } else if (!payload_ && !typed_) {
        guard_copied([&] { typed_.emplace(message_, *type_->storage); });
        const std::uint64_t entries = (count_ + type_->per_entry() - 1) / type_->per_entry();
        check_value_count(header_, entries * type_->parts(), typed_->count());
    }
}

void Values::read_typed(std::uint8_t* out) const {
    if (!typed_) throw std::logic_error("check_count() comes before reading typed values");
    const TypedValues& values = *typed_;
    const ValueRange range = range_of(*type_);
    const std::uint64_t per_entry = type_->per_entry();
    const Conversion unpack = Conversion::none(*type_);
    std::atomic<bool> in_range = true;
    os::for_each_range(values.size(), 1, [&](std::uint64_t i, std::uint64_t) {
        bool good = true;
        if (per_entry == 1) {
            good = values.decode(i, range, out + values.first(i) * range.nbytes);
        } else {
            std::vector<std::uint8_t> entries(values.count(i));
            good = values.decode(i, range, entries.data());
            // A block without values may begin after the last element.
            const std::uint64_t first = std::min(count_, values.first(i) * per_entry);
            const std::uint64_t here = std::min(count_ - first, entries.size() * per_entry);
            unpack.stored(entries.data(), here, out + first);
        }
        if (!good) in_range.store(false, std::memory_order_relaxed);
    });
    if (!in_range) {
        tolerate_or_fail(header_, *store_, "tensor.value_range",
                         "a value is out of range for " + std::string(type_->name));
        if (type_->sub_byte() && per_entry == 1) {  // onnx keeps the low bits
            const auto low = static_cast<std::uint8_t>((1U << type_->bits) - 1);
            std::transform(out, out + count_, out, [low](std::uint8_t code) {
                return static_cast<std::uint8_t>(code & low);
            });
        }
    }
}

void Values::read_own(std::uint8_t* out) const {
    if (in_pieces()) {
        for (const Segment& segment : segments_->segments) {
            Values part = piece(segment);
            part.check_count();
            part.read(Conversion::none(*type_), {out + segment.begin * type_->itemsize(),
                                                 segment.count() * type_->itemsize()});
        }
    } else if (payload_) {
        read_payload(Conversion::none(*type_), out);
    } else {
        guard_copied([&] { read_typed(out); });
    }
}

void Values::check_again() const { store_->check_after_reading(source()); }

void Values::read(const Conversion& conversion, std::span<std::uint8_t> out) const {
    os::renew_fault_handler();
    if (payload_) {
        read_payload(conversion, out.data());
    } else if (&conversion.to() == type_) {
        read_own(out.data());
    } else {
        source::OwnedBytes own(count_ * type_->itemsize());
        read_own(own.writable().data());
        const std::uint64_t itemsize = conversion.to().itemsize();
        os::for_each_range(count_, kGrain / itemsize, [&](std::uint64_t begin, std::uint64_t end) {
            conversion.elements(own.data() + begin * type_->itemsize(), end - begin,
                                out.data() + begin * itemsize);
        });
    }
    check_again();
}

void Values::read_packed(std::span<std::uint8_t> out) const {
    os::renew_fault_handler();
    if (payload_) {
        check_padding();
        const bool splits = payload_->source->splits_reads();
        const std::uint64_t grain = splits ? std::max<std::uint64_t>(out.size(), 1) : kGrain;
        os::for_each_range(out.size(), grain, [&](std::uint64_t begin, std::uint64_t end) {
            read_packed_part(begin, out.subspan(begin, end - begin));
        });
    } else if (type_->sub_byte()) {
        source::OwnedBytes codes(count_);
        read_own(codes.writable().data());
        kernels::pack(type_->bits, codes.data(), count_, out.data());
    } else {
        read_own(out.data());
    }
    check_again();
}

void Values::read_packed_part(std::uint64_t begin, std::span<std::uint8_t> out) const {
    payload_->source->read(payload_->offset + begin, out);
}

void Values::for_each_string(
    const std::function<void(std::uint64_t, std::string_view)>& visit) const {
    if (in_pieces()) {
        for (const Segment& segment : segments_->segments) {
            piece(segment).for_each_string(
                [&](std::uint64_t i, std::string_view text) { visit(segment.begin + i, text); });
        }
        return;
    }
    make_resident();
    std::uint64_t i = 0;
    guard_copied([&] {
        message_.for_each_value(field<"TensorProto.string_data">, [&](const wire::Field& value) {
            if (i < count_) visit(i, value.text());
            ++i;
        });
    });
    check_value_count(header_, count_, i);
    check_again();
}

}  // namespace onnxmap::tensor
