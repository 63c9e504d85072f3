// The elements of a list by name, one name at a time: what ListNames says. After an edit, a look-up
// costs no walk over the list.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/document.hpp"
#include "model/field_index.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

class NamedList {
  public:
    /// `list`: a repeated field of the message that `fields` indexes. `name`: a text field of its
    /// elements; of a repeated one the first value counts. Both must outlive it.
    NamedList(const Document& document, const FieldIndex& fields, const wire::FieldRow& list,
              const wire::FieldRow& name)
        : document_(document), fields_(fields), list_(list), name_(name) {}

    /// The positions of all elements of a name, ascending. Throws Error `edit.concurrent`.
    [[nodiscard]] std::vector<std::uint64_t> positions(std::string_view name) const;

    /// How many elements have a name.
    [[nodiscard]] std::uint64_t count(std::string_view name) const;

    /// How many different names the elements have, the empty one included.
    [[nodiscard]] std::uint64_t names() const;

  private:
    [[nodiscard]] bool is_worth_a_walk() const;
    [[nodiscard]] std::vector<std::uint64_t> walk(std::string_view name) const;

    const Document& document_;
    const FieldIndex& fields_;
    const wire::FieldRow& list_;
    const wire::FieldRow& name_;
};

}  // namespace onnxmap::model
