// The newest steps of the edits of a document, for what follows them.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx/message.hpp"
#include "onnx/pieces.hpp"
#include "wire/message_table.hpp"

namespace onnxmap::model {

/// What an edit does to one message.
struct EditStep {
    enum class Kind : std::uint8_t {
        changed,  ///< it has other fields
        added,    ///< it is new in a list
        removed   ///< it is no longer part of the document
    };
    Kind kind;
    const wire::MessageTable* table;
    ByteView loaded;                       // see onnx::Message::loaded(); it begins at the key
    onnx::Pieces::Rows rows = 0;           // that were changed
    const std::uint8_t* parent = nullptr;  // of one that was added: the key of its parent
    const wire::FieldRow* list = nullptr;

    [[nodiscard]] const std::uint8_t* key() const noexcept { return loaded.data(); }
};

/// Callers have a lock.
class EditLog {
  public:
    /// From now on steps are kept. Returns the place of the next one.
    [[nodiscard]] std::uint64_t start();

    void add(const EditStep& step);

    /// Adds the steps from `place` on to `steps` and moves `place` behind them. False if the log
    /// has forgotten some: what follows it must be made anew.
    [[nodiscard]] bool steps_since(std::uint64_t& place, std::vector<EditStep>& steps) const;

    /// Forgets all steps, and one that nobody has seen.
    void clear();

  private:
    bool is_started_ = false;
    std::vector<EditStep> steps_;  // the newest
    std::uint64_t begin_ = 0;      // the place of the first of them
};

}  // namespace onnxmap::model
