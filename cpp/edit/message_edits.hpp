// Edits of several steps, which also copy messages from other documents. What cannot be copied, or
// not be read, fails before the first step. They guard their reads themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edit/handle.hpp"
#include "model/edit_message.hpp"
#include "model/load_options.hpp"

namespace onnxmap::edit {

/// The root of a new document that is parsed from a source. Throws Error `wire.*`.
[[nodiscard]] Handle new_document(const wire::MessageTable& table,
                                  std::shared_ptr<source::Source> source,
                                  const tensor::ExternalFolder& folder = {},
                                  const model::Limits& limits = {});

/// A new, empty message in a document of its own. `folder`: of its external data.
[[nodiscard]] Handle new_message(const wire::MessageTable& table,
                                 const tensor::ExternalFolder& folder = {});

/// A message that is copied into the document of `to`. If it comes from a model with another
/// folder, returns a copy that has the values of its external tensors. Throws what
/// model::CopiedExternalValues throws.
[[nodiscard]] Handle with_external_values(const Handle& to, const Handle& original);

/// A copy that is put before the i-th message of a repeated field, or behind the last one.
struct NewElement {
    std::uint64_t i;  // kAtEnd: behind the last
    Handle original;
};
inline constexpr std::uint64_t kAtEnd = UINT64_MAX;

/// Adds copies to a repeated field and removes some of its messages, in one step; see
/// model::splice_messages(). Returns the copies.
std::vector<onnx::Message> splice(const Handle& parent, const wire::FieldRow& row,
                                  std::span<const NewElement> added,
                                  std::span<const std::uint64_t> gone = {});

/// Replaces all messages of a repeated field by copies of others.
void replace_all(const Handle& parent, const wire::FieldRow& row, std::span<const Handle> others);

/// Replaces a singular message by a copy of another one.
void set_message(const Handle& handle, const wire::FieldRow& row, const Handle& original);

/// Replaces all fields of a message by those of another one of its type.
void copy(const Handle& handle, const Handle& original);

/// Adds the fields of `original` to a message; see model::merge_from().
void merge(const Handle& handle, const Handle& original);

/// Gives an attribute the value and the type of another one. Clears the documentation of `given`.
void set_attribute_value(const Handle& attribute, const Handle& given);

/// A copy of a tensor with the values of another one. Clears the name of `values`.
[[nodiscard]] Handle with_values_of(const Handle& tensor, const Handle& values);

}  // namespace onnxmap::edit
