// One walk over the structure of a serialized message: gives protobuf's verdict on every byte
// that is not payload, and notes where the fields of the root (and of one child) occur.
// Payloads are skipped, never read: raw_data, text, fixed-width runs. It allocates nothing per
// field and does not recurse, so neither memory nor stack is the file's to choose.
//
// The verdict is upb's (the engine of Python's protobuf), with two deviations:
// field number 0 inside an unknown group is refused, and lengths past 2 GiB are read.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_feed.hpp"
#include "wire/message_table.hpp"
#include "wire/occurrences.hpp"

namespace onnxmap::wire {

struct PassOptions {
    std::uint32_t max_depth = kDefaultDepth;
    bool scan_packed = true;                  // look at every varint of packed runs of payload
    const FieldRow* indexed_child = nullptr;  // a message field of the root, indexed as well
    /// The message that holds payload, in fields of which each has a bit for its number. How many
    /// there may be is limited (an Error `limit.tensors`).
    const MessageTable* payload_message = nullptr;
    std::uint32_t payload_fields = 0;
    std::uint64_t max_payload_messages = UINT64_MAX;
    std::uint64_t max_pieces = UINT64_MAX;  // of the indexed child (an Error `limit.pieces`)
};

struct Span {
    std::uint64_t offset;
    std::uint64_t size;
};

struct Structure {
    Structure(const MessageTable& root, const MessageTable& child_table)
        : fields(root), child(child_table) {}

    Occurrences fields;
    Occurrences child;
    std::vector<Span> child_parts;  // non-empty contents of the indexed child, in file order
};

/// Throws Error with code (`wire.*`, `limit.*`), offset and path; the operating system's
/// failures come from the feed.
[[nodiscard]] Structure read_structure(ByteFeed& feed, const Schema& schema,
                                       const MessageTable& root, const PassOptions& options);

}  // namespace onnxmap::wire
