#include "model/followed_list.hpp"

#include "model/document.hpp"

namespace onnxmap::model {

const source::Source& FollowedList::source() const { return document_.source(); }

onnx::Message FollowedList::element(ByteView loaded) const {
    return {onnx::kSchema.message_of(*list_), loaded, &document_.edits()};
}

void FollowedList::reread_element(ByteView loaded, State& state) const {
    const onnx::Message as_loaded(onnx::kSchema.message_of(*list_), loaded);
    if (document_.edits().is_removed(as_loaded)) return;
    state.inside.erase(loaded.data());
    state.mentions.start(loaded);
    elements_read_.fetch_add(1, std::memory_order_relaxed);
    read(element(loaded), state);
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
        source::guard_reads(source(), [&] {
            for (const EditStep& step : steps_) {
                if (state_ && !apply(step)) state_.reset();
            }
        });
    } catch (...) {
        state_.reset();
        steps_.clear();
        throw;
    }
    steps_.clear();
    followed_ = count;
    return state_ != nullptr;
}

bool FollowedList::apply(const EditStep& step) {
    switch (step.kind) {
        case EditStep::Kind::added:
            if (step.list == list_ && step.parent == parent_.key()) {
                reread_element(step.loaded, *state_);
            }
            return true;
        case EditStep::Kind::removed:
            state_->inside.erase(step.key());
            state_->mentions.remove(step.key());
            return true;
        case EditStep::Kind::changed: break;
    }
    if (step.table == &parent_.table() && step.key() == parent_.key()) return true;
    const bool is_element =
        step.table == &onnx::kSchema.message_of(*list_) && state_->mentions.has(step.key());
    if (!is_element) return changed_elsewhere(step, *state_);
    if ((step.rows & rows_) != 0) reread_element(step.loaded, *state_);
    return true;
}

// Without the lock: it may take long.
void FollowedList::read_all() {
    const std::uint64_t count = document_.edits().count();
    const std::uint64_t place = document_.editable().start_log();
    // The names of what was loaded stay where they are.
    const auto text = document_.was_edited() ? NameTable::Text::copied : NameTable::Text::viewed;
    auto made =
        source::guard_reads(source(), [&] { return read_list(*document_.index(parent_), text); });
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

std::unique_ptr<FollowedList::State> FollowedNames::read_list(const FieldIndex& fields,
                                                              NameTable::Text text) const {
    Mentions mentions(text);
    mentions.reserve(fields.count(list()), fields.likely_names(list()));
    NamesInFlight<std::uint32_t> in_flight(mentions.names());
    const auto note = [&](const NameTable::Added& name, std::uint32_t position) {
        mentions.note(name.position, position);
    };
    std::vector<ByteView> loaded;
    loaded.reserve(fields.count(list()));
    fields.for_each(list(), [&](const wire::Field& field) {
        const auto position = static_cast<std::uint32_t>(loaded.size());
        loaded.push_back(field.bytes);
        in_flight.add(name_of(element(field.bytes), *name_), position, note);
    });
    in_flight.finish(note);
    mentions.finish();
    return std::make_unique<State>(PresentMentions(std::move(mentions), std::move(loaded)));
}

void FollowedNames::read(const onnx::Message& element, State& state) const {
    state.mentions.add(name_of(element, *name_), false);
}

}  // namespace onnxmap::model
