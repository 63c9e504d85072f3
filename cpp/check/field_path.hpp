// Where a check is in the model: a chain of fields from the root, each on the stack of the function
// that entered it. Few paths are ever written down as text.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "onnx/message.hpp"

namespace onnxmap::check {

struct FieldPath {
    const FieldPath* parent;    // null: the field is one of the root
    const wire::FieldRow* row;  // null: the root itself
    std::uint64_t index = 0;    // in a repeated field
    std::string_view key = {};  // the name of an attribute, which stands for its index
    mutable const FieldPath* kept = nullptr;  // the copy that KeptFieldPaths made

    /// The path from the root as text, such as `graph.node[3].attribute["value"].t`; empty for the
    /// root.
    [[nodiscard]] std::string text() const;
};

/// Calls visit(message, path) for each message of a repeated field of the message at `path`.
template <class Visit>
void for_each_child(const onnx::Message& message, const wire::FieldRow& row, const FieldPath& path,
                    Visit&& visit) {
    std::uint64_t i = 0;
    message.for_each_child(
        row, [&](const onnx::Message& child) { visit(child, FieldPath{&path, &row, i++}); });
}

/// Paths that outlive the functions that entered them.
class KeptFieldPaths {
  public:
    /// A copy of a path and of those that it begins with. It lives as long as this object.
    const FieldPath* keep(const FieldPath& path);

  private:
    std::deque<FieldPath> paths_;
};

}  // namespace onnxmap::check
