// Changes a serialized message as a tree of fields. A changed tree is written with new lengths, and
// most mutants can therefore be read deep inside. A random byte would break the outermost length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "onnx/schema.hpp"

namespace onnxmap::fuzz {

enum class Change : std::uint8_t {
    insert_known,      // a field of the schema with a plausible value
    insert_unknown,    // a field that the schema lacks, or one of another type
    remove,            // a field
    duplicate,         // a field, next to itself or elsewhere
    reorder,           // the fields of one message
    split,             // a message, a run or text in two occurrences
    join,              // two occurrences in one
    repack,            // a packed run as single values, or single values as a run
    wrap_in_group,     // some fields
    unwrap,            // the fields of a group or message in its place
    deepen,            // a message in messages of its own type, or groups, many times
    change_wire_type,  // of a field
    change_number,     // of a field
    make_overlong,     // the varint of a tag, length or value
    set_boundary,      // a value at the edge of a type
    miscount,          // a length that is off
    cut,               // content of a message, a run or text
    swap,              // two fields of different places
    graft,             // a copy of a field at another place
    grow,              // more fields or content, up to tens of kilobytes
    change_bytes,      // whatever they are: flip, insert, drop, cut
};
inline constexpr std::size_t kChangeCount = static_cast<std::size_t>(Change::change_bytes) + 1;

/// Makes one to four changes to `input`, a message of type `root` (null: any message). The same
/// arguments give the same mutant, of at most `max_size` bytes.
[[nodiscard]] std::vector<std::uint8_t> mutate(
    std::span<const std::uint8_t> input, std::uint32_t seed, std::size_t max_size,
    const wire::MessageTable* root = &onnx::message<"ModelProto">);

/// The changes that `mutate` makes with this seed. A change that finds nothing to work on becomes
/// `insert_known`; one whose result would be too large is left out.
[[nodiscard]] std::vector<Change> changes_of(std::uint32_t seed);

/// Makes this one change.
[[nodiscard]] std::vector<std::uint8_t> make_change(
    Change change, std::span<const std::uint8_t> input, std::uint32_t seed, std::size_t max_size,
    const wire::MessageTable* root = &onnx::message<"ModelProto">);

}  // namespace onnxmap::fuzz
