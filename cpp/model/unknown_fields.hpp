// Random access to the fields of a message that today's schema does not know. A list of them all
// would take tens of times the bytes that they have in the file.
#pragma once

#include <cstdint>

#include "onnx/message.hpp"
#include "wire/occurrences.hpp"

namespace onnxmap::model {

class UnknownFields {
  public:
    /// Finds those of a message that is in memory by walking over it once.
    explicit UnknownFields(onnx::Message message);

    /// All fields of an unknown group, whose bytes are in memory.
    explicit UnknownFields(ByteView group);

    [[nodiscard]] std::uint64_t count() const noexcept { return found_.count; }

    /// The i-th one, i < count(). Throws Error if the bytes changed after loading.
    [[nodiscard]] wire::Field at(std::uint64_t i) const;

    /// Goes through them in order. The fields must outlive it.
    class Cursor {
      public:
        explicit Cursor(const UnknownFields& fields) noexcept
            : fields_(&fields), left_(fields.count()), walk_(fields.message_) {}

        /// False behind the last one. Throws Error if the bytes changed after loading.
        bool next(wire::Field& field);

      private:
        const UnknownFields* fields_;
        std::uint64_t left_;
        onnx::Message::Walk walk_;
    };

  private:
    wire::Field find(onnx::Message::Walk& walk) const;

    onnx::Message message_;
    wire::Occurrences::Entry found_;  // offsets count from the first piece
};

}  // namespace onnxmap::model
