// A program of edits of two documents, made from the bytes of an input: every function of
// model/edit_message.hpp, on messages anywhere in the documents, on handles of messages that were
// edited or removed since, and with copies from one document to the other.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "fuzz/random_numbers.hpp"
#include "model/edit_message.hpp"

namespace onnxmap::fuzz {

class EditSteps {
  public:
    using Documents = std::array<std::shared_ptr<const model::Document>, 2>;

    /// Copies add at most `most_added` bytes.
    EditSteps(Documents documents, std::uint64_t most_added)
        : documents_(std::move(documents)), left_(most_added) {}

    /// Makes one edit. The same seed makes the same one of the same documents. Ends the process if
    /// the message does not have afterwards what the edit gave it.
    void step(std::uint64_t seed);

    struct Handle {
        std::size_t document;
        onnx::Message message;
        std::shared_ptr<const void> life = nullptr;  // as an object of the message has it
    };
    /// Messages that were chosen so far, some of them removed since.
    [[nodiscard]] const std::vector<Handle>& handles() const noexcept { return handles_; }

  private:
    void edit(const Handle& handle);
    void edit_field(const Handle& handle, const wire::FieldRow& row);
    void edit_value(const Handle& handle, const wire::FieldRow& row);
    void edit_values(const Handle& handle, const wire::FieldRow& row);
    void edit_list(const Handle& handle, const wire::FieldRow& row);
    void insert(const Handle& handle, const wire::FieldRow& row);
    void erase(const Handle& handle, const wire::FieldRow& row);
    void reorder(const Handle& handle, const wire::FieldRow& row);
    void merge(const Handle& handle);

    [[nodiscard]] const model::Document& document(const Handle& handle) const {
        return *documents_[handle.document];
    }
    [[nodiscard]] std::uint64_t count(const Handle& handle, const wire::FieldRow& row) const {
        return document(handle).index(handle.message)->count(row);
    }
    Handle choose();
    std::optional<Handle> choose_of(const wire::MessageTable& table);
    bool descend(Handle& handle);
    bool affords(const Handle& original);

    const wire::FieldRow& choose_row(const wire::MessageTable& table);
    std::uint64_t number(const wire::FieldRow& row);
    model::NewValue value(const wire::FieldRow& row);
    std::vector<model::NewValue> values(const wire::FieldRow& row);

    Documents documents_;
    std::uint64_t left_;
    std::vector<Handle> handles_;
    Random random_{0};
};

}  // namespace onnxmap::fuzz
