// Repeated fields whose entries have names, as mappings that are edited: attributes, operator sets,
// metadata and other strings. Which entry of a repeated name counts is in model/entry_rules.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edit/handle.hpp"
#include "edit/remade.hpp"
#include "model/edit_message.hpp"
#include "model/entry_rules.hpp"
#include "model/name_table.hpp"

namespace onnxmap::edit {

/// A new entry for a name.
struct NewEntry {
    Handle made;                           // has the name
    std::optional<model::NewValue> value;  // of model::value_of_entries(); nothing for an attribute
};

/// A repeated field of a message, whose entries have names. What reads is for callers with a guard;
/// what edits guards its reads.
class NamedEntries : public Handle {
  public:
    NamedEntries(const Handle& message, const wire::FieldRow& field)
        : Handle(message), row(&field) {}

    const wire::FieldRow* row;

    [[nodiscard]] model::EntryKind kind() const noexcept { return *model::entry_kind(*row); }

    /// The entries that count, in the order in which the field first has their names.
    struct ByName {
        model::NameTable names{model::NameTable::Text::copied};
        std::vector<onnx::Message> counting;  // by position in `names`
        std::optional<std::string> repeated;  // the first name that occurs twice
    };
    [[nodiscard]] std::shared_ptr<const ByName> by_name() const;

    struct Found {
        std::optional<onnx::Message> entry = std::nullopt;   // the one that counts
        std::optional<std::string> repeated = std::nullopt;  // a name that occurs twice, if known
    };
    [[nodiscard]] Found find(std::string_view name) const;

    /// How many different names the entries have.
    [[nodiscard]] std::uint64_t count() const;

    /// Gives a name another entry. An entry that counts stays where it is, and takes the value; all
    /// of an operator set do. If there is none, the new one is added.
    void set(std::string_view name, const NewEntry& entry) const;

    /// Removes all entries of a name. Returns whether there was one.
    bool remove(std::string_view name) const;

  private:
    [[nodiscard]] std::vector<std::uint64_t> positions(std::string_view name) const;
    [[nodiscard]] Handle entry_at(std::uint64_t position) const;
    void set_all(std::span<const std::uint64_t> positions, const model::NewValue& value) const;

    // Notes a look-up, and returns whether it is one of the first few in this state of the
    // document. More are worth reading all entries. Threads may disturb the count.
    [[nodiscard]] bool is_one_of_few() const {
        const std::uint64_t count = document->edits().count();
        if (asked_at_.exchange(count) != count) asked_ = 0;
        return ++asked_ <= kFew;
    }

    static constexpr std::uint32_t kFew = 8;
    Remade<ByName> by_name_ = {};
    mutable std::atomic<std::uint32_t> asked_ = 0;     // so many look-ups
    mutable std::atomic<std::uint64_t> asked_at_ = 0;  // when there were so many edits
};

}  // namespace onnxmap::edit
