#include "edit/named_entries.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "edit/message_edits.hpp"

namespace onnxmap::edit {

std::shared_ptr<const NamedEntries::ByName> NamedEntries::by_name() const {
    return by_name_.get(*document, [&] {
        const auto entries = std::make_shared<ByName>();
        const onnx::Message parent = message();
        const wire::FieldRow& names = model::name_of_entries(*row);
        parent.for_each_child(*row, [&](onnx::Message entry) {
            const std::string_view name = entry.text(names);
            const auto other = model::other_spelling(*row, name);
            const auto known = other ? entries->names.find(*other) : std::nullopt;
            const auto [position, is_new] =
                known ? model::NameTable::Added{*known, false} : entries->names.add(name);
            if (is_new) {
                entries->counting.push_back(std::move(entry));
                return;
            }
            if (!entries->repeated) entries->repeated = name;
            onnx::Message& before = entries->counting[position];
            if (model::counts_after(entry, before)) before = std::move(entry);
        });
        return entries;
    });
}

// The positions of all entries of a name, in either spelling, ascending.
std::vector<std::uint64_t> NamedEntries::positions(std::string_view name) const {
    const auto fields = document->index(message());
    const auto entries = model::named_entries(*document, *fields, *row);
    std::vector<std::uint64_t> found = entries.positions(name);
    if (const auto other = model::other_spelling(*row, name)) {
        std::ranges::copy(entries.positions(*other), std::back_inserter(found));
        std::ranges::sort(found);
    }
    return found;
}

Handle NamedEntries::entry_at(std::uint64_t position) const {
    const onnx::Message parent = message();
    return {document, parent.inner(*row, document->index(parent)->at(*row, position))};
}

NamedEntries::Found NamedEntries::find(std::string_view name) const {
    auto known = by_name_.known(document->edits().count());
    if (!known && !is_one_of_few() && !document->is_followed(message())) known = by_name();
    Found found;
    if (known) {
        const auto other = model::other_spelling(*row, name);
        auto position = known->names.find(name);
        if (!position && other) position = known->names.find(*other);
        if (position) found.entry = known->counting[*position];
        found.repeated = known->repeated;
        return found;
    }
    const auto add = [&](onnx::Message entry) {
        if (found.entry) found.repeated = name;
        if (!found.entry || model::counts_after(entry, *found.entry)) {
            found.entry = std::move(entry);
        }
    };
    const onnx::Message parent = message();
    if (document->is_followed(parent)) {
        for (const std::uint64_t each : positions(name)) add(entry_at(each).made);
        return found;
    }
    const wire::FieldRow& names = model::name_of_entries(*row);
    const auto other = model::other_spelling(*row, name);
    parent.for_each_child(*row, [&](onnx::Message entry) {
        const std::string_view spelled = entry.text(names);
        if (spelled == name || spelled == other) add(std::move(entry));
    });
    return found;
}

std::uint64_t NamedEntries::count() const {
    const onnx::Message parent = message();
    const bool are_spelled = model::other_spelling(*row, "").has_value();
    if (are_spelled || !document->is_followed(parent)) return by_name()->names.size();
    return model::named_entries(*document, *document->index(parent), *row).names();
}

// Gives several entries another value, in one step.
void NamedEntries::set_all(std::span<const std::uint64_t> positions,
                           const model::NewValue& value) const {
    std::vector<NewElement> changed;
    for (const std::uint64_t position : positions) {
        const Handle entry = below_guard(*this, [&] { return entry_at(position); });
        const Handle copied = new_message(entry.made.table());
        copy(copied, entry);
        change_message(copied, model::set_value, *model::value_of_entries(*row), value);
        changed.push_back({position, copied});
    }
    splice(*this, *row, changed, positions);
}

void NamedEntries::set(std::string_view name, const NewEntry& entry) const {
    const auto found = below_guard(*this, [&] { return positions(name); });
    if (found.empty()) {
        const NewElement added{kAtEnd, entry.made};
        splice(*this, *row, {&added, 1});
        return;
    }
    if (kind() == model::EntryKind::operator_set) return set_all(found, *entry.value);
    const Handle last = below_guard(*this, [&] { return entry_at(found.back()); });
    if (!entry.value) return copy(last, entry.made);
    change_message(last, model::set_value, *model::value_of_entries(*row), *entry.value);
}

bool NamedEntries::remove(std::string_view name) const {
    const auto found = below_guard(*this, [&] { return positions(name); });
    if (!found.empty()) splice(*this, *row, {}, found);
    return !found.empty();
}

}  // namespace onnxmap::edit
