#include "model/followed_list.hpp"

#include <optional>

#include "model/document.hpp"

namespace onnxmap::model {

const source::Source& FollowedList::source() const { return document_.source(); }

onnx::Message FollowedList::element(ByteView loaded) const {
    return {onnx::kSchema.message_of(*list_), loaded, &document_.edits()};
}

// Without the edits of the message: if it was removed, it may have no fields left.
bool FollowedList::is_removed(const wire::MessageTable& table, ByteView loaded) const {
    return document_.edits().is_removed({table, loaded});
}

// Whether it has followed all edits. A state of lost bytes is never kept.
bool FollowedList::follow() {
    if (!state_) return false;
    const std::uint64_t count = document_.edits().count();
    if (count == followed_) return true;
    if (state_->mentions.is_wasteful() || !document_.edits().steps_since(place_, steps_)) {
        state_.reset();
        return false;
    }
    try {
        source::guard_reads(source(), [&] { follow_steps(); });
    } catch (...) {
        state_.reset();
        steps_.clear();
        throw;
    }
    steps_.clear();
    followed_ = count;
    return state_ != nullptr;
}

// Reads each element once, however often it was edited.
void FollowedList::follow_steps() {
    Again again;
    for (const EditStep& step : steps_) {
        if (apply(step, again)) continue;
        state_.reset();
        return;
    }
    for (const auto& [key, inside] : state_->inside) {
        if (!again.all_with_graphs) break;
        if (inside.holds_graphs) again.elements.emplace(key, inside.loaded);
    }
    for (const auto& [key, loaded] : again.elements) reread(loaded);
}

bool FollowedList::apply(const EditStep& step, Again& again) {
    const bool may_be_element = step.table == &onnx::kSchema.message_of(*list_);
    switch (step.kind) {
        case EditStep::Kind::added:
            if (step.list == list_ && step.parent == parent_.key())
                again.elements.emplace(step.key(), step.loaded);
            return true;
        case EditStep::Kind::removed:
            if (!may_be_element) return true;
            state_->inside.erase(step.key());
            state_->mentions.remove(step.key());
            return true;
        case EditStep::Kind::changed: break;
    }
    if (step.table == &parent_.table() && step.key() == parent_.key()) return true;
    const bool is_element =
        may_be_element && (state_->mentions.has(step.key()) || again.elements.contains(step.key()));
    if (!is_element)
        return is_removed(*step.table, step.loaded) || changed_elsewhere(step, *state_, again);
    if ((step.rows & rows_) != 0) again.elements.emplace(step.key(), step.loaded);
    return true;
}

void FollowedList::reread(ByteView loaded) {
    if (is_removed(onnx::kSchema.message_of(*list_), loaded)) return;
    state_->inside.erase(loaded.data());
    state_->mentions.start(loaded);
    elements_read_.fetch_add(1, std::memory_order_relaxed);
    read(element(loaded), *state_);
}

// Without the lock: it may take long.
void FollowedList::read_all() {
    const std::uint64_t count = document_.edits().count();
    const std::uint64_t place = document_.editable().start_log();
    // The names of what was loaded stay where they are.
    const auto text = document_.was_edited() ? NameTable::Text::copied : NameTable::Text::viewed;
    auto made =
        source::guard_reads(source(), [&] { return read_list(document_.index(parent_), text); });
    const std::lock_guard lock(mutex_);
    if (text == NameTable::Text::viewed && document_.edits().count() != count) return;
    elements_read_.fetch_add(made->mentions.unedited_count(), std::memory_order_relaxed);
    made.swap(state_);
    place_ = place;
    followed_ = count;
}

std::string_view FollowedNames::name_of(const onnx::Message& element, const wire::FieldRow& name) {
    if (!name.repeated()) return element.text(name);
    std::optional<std::string_view> first;
    element.for_each_value(name, [&](const wire::Field& value) {
        if (!first) first = value.text();
    });
    return first.value_or(std::string_view{});
}

std::unique_ptr<FollowedList::State> FollowedNames::read_list(
    const std::shared_ptr<const FieldIndex>& fields, NameTable::Text text) const {
    Mentions mentions(text);
    mentions.reserve(fields->count(list()), fields->likely_names(list()));
    NamesInFlight<std::uint32_t> in_flight(mentions.names());
    const auto note = [&](const NameTable::Added& name, std::uint32_t position) {
        mentions.note(name.position, position);
    };
    std::uint32_t position = 0;
    fields->for_each(list(), [&](const wire::Field& field) {
        in_flight.add(name_of(element(field.bytes), *name_), position++, note);
    });
    in_flight.finish(note);
    mentions.finish();
    return std::make_unique<State>(PresentMentions(std::move(mentions), fields, list()));
}

void FollowedNames::read(const onnx::Message& element, State& state) const {
    state.mentions.add(name_of(element, *name_), false);
}

}  // namespace onnxmap::model
