// New models that are put together from parts of others. Large contents stay in their sources.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "model/copy_message.hpp"
#include "model/document.hpp"

namespace onnxmap::surgery {

/// A name, or several, that the models lack: Error `name.unknown`.
struct UnknownNames : Error {
    explicit UnknownNames(const std::string& message) : Error("name.unknown", message) {}
};

/// A model without fields, with the folder of external data and the limits of another one.
[[nodiscard]] std::shared_ptr<const model::Document> empty_model(const model::Document& like);

/// Collects the fields of one message of a new document.
class Assembly {
  public:
    Assembly(const model::Document& to, const wire::MessageTable& table)
        : to_(to), table_(table), fields_(table, nullptr) {}

    /// Whether a field is copied: the position counts among those of its row.
    using Keep = std::function<bool(const wire::FieldRow& row, std::uint64_t position,
                                    const wire::Field& field)>;

    /// Adds copies of the fields of a message that `keep` accepts, and of unknown ones.
    void add(const model::Original& from, const Keep& keep,
             const model::Rewrite* rewrite = nullptr);

    /// Gives the fields to a message that has none. Returns its present state.
    onnx::Message finish(const onnx::Message& message) &&;

  private:
    const model::Document& to_;
    const wire::MessageTable& table_;
    onnx::Pieces::Builder fields_;
};

}  // namespace onnxmap::surgery
