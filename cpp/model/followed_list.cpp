#include "model/followed_list.hpp"

#include "model/document.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::model {

void FollowedList::Read::forget(const std::uint8_t* key) {
    mentions.remove(key);
    inner_users.erase(key);
    holders.erase(key);
}

void FollowedList::read_element(ByteView loaded, Read& found) const {
    found.mentions.start(loaded);
    if (!found.holders.empty()) {
        found.inner_users.erase(loaded.data());
        found.holders.erase(loaded.data());
    }
    elements_read_.fetch_add(1, std::memory_order_relaxed);
    read({onnx::kSchema.message_of(*list_), loaded, &document_.edits()}, found);
}

void FollowedList::reread_element(ByteView loaded, Read& found) const {
    const onnx::Message element(onnx::kSchema.message_of(*list_), loaded);
    if (!document_.edits().is_removed(element)) read_element(loaded, found);
}

// Whether it has followed all edits. A state of lost bytes is never kept.
bool FollowedList::follow() {
    if (!read_) return false;
    const std::uint64_t count = document_.edits().count();
    if (count == followed_) return true;
    if (read_->mentions.is_wasteful() || !document_.edits().steps_since(place_, steps_)) {
        read_.reset();
        return false;
    }
    try {
        source::guard_reads(document_.source(), [&] {
            for (const EditStep& step : steps_) {
                if (read_ && !apply(step)) read_.reset();
            }
        });
    } catch (...) {
        read_.reset();
        steps_.clear();
        throw;
    }
    steps_.clear();
    followed_ = count;
    return read_ != nullptr;
}

bool FollowedList::apply(const EditStep& step) {
    switch (step.kind) {
        case EditStep::Kind::added:
            if (step.list == list_ && step.parent == parent_.key()) {
                reread_element(step.loaded, *read_);
            }
            return true;
        case EditStep::Kind::removed: read_->forget(step.key()); return true;
        case EditStep::Kind::changed: break;
    }
    if (step.table == &parent_.table() && step.key() == parent_.key()) return true;
    const bool is_element = step.table == &onnx::kSchema.message_of(*list_) &&
                            read_->mentions.find(step.key()) != nullptr;
    if (!is_element) return changed_elsewhere(step, *read_);
    if ((step.rows & rows_) != 0) reread_element(step.loaded, *read_);
    return true;
}

// Without the lock: it may take long.
void FollowedList::read_all() {
    const std::uint64_t count = document_.edits().count();
    const std::uint64_t place = document_.editable().start_log();
    auto made = std::make_unique<Read>();
    source::guard_reads(document_.source(), [&] {
        const auto fields = document_.index(parent_);
        made->mentions.reserve(fields->likely_names(*list_));
        fields->for_each(*list_,
                         [&](const wire::Field& field) { read_element(field.bytes, *made); });
    });
    const std::lock_guard lock(mutex_);
    made.swap(read_);
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

void FollowedNames::read(const onnx::Message& element, Read& found) const {
    found.mentions.add(name_of(element, *name_), {});
}

}  // namespace onnxmap::model
