// One walk over the structure of a serialized message. It validates every byte except payload as
// protobuf does, and notes where the fields of the root (and of one child) occur. Payload is
// skipped, never read: raw_data, text, fixed-width runs. The walk allocates nothing for a field and
// does not recurse, so a file cannot choose how much memory or stack it takes.
//
// It accepts exactly what upb accepts (the engine of Python's protobuf), with two deviations: field
// number 0 inside an unknown group is rejected, and lengths past 2 GiB are read.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_feed.hpp"
#include "wire/message_table.hpp"
#include "wire/occurrences.hpp"

namespace onnxmap::wire {

struct PassOptions {
    std::uint32_t max_depth = kDefaultDepth;
    bool scan_packed = true;                  // check every varint of packed runs of payload
    const FieldRow* indexed_child = nullptr;  // a message field of the root, indexed as well
    /// The message that holds payload, and the payload fields, one bit per field number. The number
    /// of these messages is limited (Error `limit.tensors`).
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
        : fields(root.fields.size()), child(child_table.fields.size()) {}

    Occurrences fields;
    Occurrences child;
    std::vector<Span> child_parts;  // non-empty contents of the indexed child, in file order
};

/// Throws Error (`wire.*`, `limit.*`) with offset and path. The feed throws the errors of the
/// operating system.
[[nodiscard]] Structure read_structure(ByteFeed& feed, const Schema& schema,
                                       const MessageTable& root, const PassOptions& options);

}  // namespace onnxmap::wire
