// Random access to the fields of a message that today's schema does not know. A list of them would
// be tens of times as large as the fields are in the file.
#pragma once

#include <cstdint>

#include "onnx/message.hpp"
#include "wire/occurrences.hpp"

namespace onnxmap::model {

/// Whether a field of this row, or of none, is unknown: today's onnx.proto has no retired fields.
[[nodiscard]] inline bool is_unknown(const wire::FieldRow* row) noexcept {
    return row == nullptr || row->retired;
}

class UnknownFields {
  public:
    /// Finds the unknown fields of a message that is in memory, by one walk over it.
    explicit UnknownFields(onnx::Message message);

    /// Takes all fields of an unknown group, whose bytes are in memory.
    explicit UnknownFields(ByteView group);

    [[nodiscard]] std::uint64_t count() const noexcept { return found_.count; }

    /// The i-th unknown field, i < count(). Throws Error if the bytes changed after loading.
    [[nodiscard]] wire::Field at(std::uint64_t i) const;

    /// Iterates over the fields in order. The UnknownFields must outlive it.
    class Cursor {
      public:
        explicit Cursor(const UnknownFields& fields) noexcept
            : fields_(&fields), left_(fields.count()), walk_(fields.message_) {}

        /// Returns false after the last field. Throws Error if the bytes changed after loading.
        bool next(wire::Field& field);

      private:
        const UnknownFields* fields_;
        std::uint64_t left_;
        onnx::Message::Walk walk_;
    };

  private:
    wire::Field find(onnx::Message::Walk& walk) const;

    onnx::Message message_;
    wire::FieldOccurrences found_;  // offsets count from the first piece
};

}  // namespace onnxmap::model
