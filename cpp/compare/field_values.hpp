// Single fields of two messages: whether they are equal, and their values for a report.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/differences.hpp"
#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::compare {

/// A message together with its document.
struct DocumentMessage {
    const model::Document& document;
    const onnx::Message& message;
};

/// The messages of a repeated field.
class Elements {
  public:
    Elements(const onnx::Message& parent, const wire::FieldRow& row);

    [[nodiscard]] std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(bytes_.size());
    }
    [[nodiscard]] onnx::Message at(std::uint32_t i) const {
        wire::Field field;
        field.bytes = bytes_[i];
        return parent_.inner(row_, field);
    }
    /// Leaves out the elements for which is_out(i) says so.
    template <class IsOut>
    void drop_if(IsOut&& is_out) {
        std::vector<ByteView> left;
        std::vector<std::uint32_t> positions;
        for (std::uint32_t i = 0; i < count(); ++i) {
            if (is_out(i)) continue;
            left.push_back(bytes_[i]);
            positions.push_back(i);
        }
        bytes_ = std::move(left);
        positions_ = std::move(positions);
    }
    /// Where an element was in the field.
    [[nodiscard]] std::uint64_t position(std::uint32_t i) const noexcept {
        return positions_.empty() ? i : positions_[i];
    }

  private:
    const onnx::Message& parent_;
    const wire::FieldRow& row_;
    std::vector<ByteView> bytes_;
    std::vector<std::uint32_t> positions_;  // empty: none was left out
};

/// Whether the fields of both messages are the same one by one, in the same order. False also if
/// the messages hold graphs, or tensors that are large, external or in segments: they must be
/// compared by their values. It stops at the first difference, and walks over no field twice.
[[nodiscard]] bool is_identical(const DocumentMessage& a, const DocumentMessage& b,
                                std::uint32_t depth_left);

/// Whether a singular field that is no message has the same value in both messages. An absent field
/// has its default, but for a member of a oneof. The names of ONNX's own domain are the same.
[[nodiscard]] bool same_single(const DocumentMessage& a, const DocumentMessage& b,
                               const wire::FieldRow& row);

/// Whether a repeated field has the same values in both messages. It holds no messages.
[[nodiscard]] bool same_list(const DocumentMessage& a, const DocumentMessage& b,
                             const wire::FieldRow& row);

/// Whether both messages have the same unknown fields.
[[nodiscard]] bool same_unknown_fields(const DocumentMessage& a, const DocumentMessage& b);

/// The value of a field that holds no message.
[[nodiscard]] Value value_of(const DocumentMessage& in, const wire::FieldRow& row);

/// The value that stands for a whole message: of an entry of metadata, of an operator set, of an
/// attribute that holds numbers or text. Nothing for other messages.
[[nodiscard]] Value summary_of(const DocumentMessage& in);

/// How the elements of a list are told apart, whatever their order: by a field such as `name`.
/// False: by their position.
[[nodiscard]] bool has_key(const wire::FieldRow& list) noexcept;

/// The key of an element of such a list.
[[nodiscard]] std::string key_of(const wire::FieldRow& list, const onnx::Message& element);

/// The fields of a message that are present, known ones only.
[[nodiscard]] onnx::Pieces::Rows rows_of(const onnx::Message& message);

}  // namespace onnxmap::compare
