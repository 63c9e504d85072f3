// How a target tells the mutator which part of its input is a message of protobuf.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "wire/message_table.hpp"

namespace onnxmap::fuzz {

struct MessagePart {
    ByteView bytes;
    const wire::MessageTable* root;  // its type; null: any
    /// Writes new bytes behind the message, if the target uses any.
    std::vector<std::uint8_t> (*make_rest)(ByteView message, std::uint32_t seed) = nullptr;
};

/// The message in an input, perhaps empty. Each target defines this function. The bytes before and
/// behind the message are left to libFuzzer's mutations.
[[nodiscard]] MessagePart message_of(ByteView input);

}  // namespace onnxmap::fuzz
