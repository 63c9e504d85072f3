#include "model/message_list.hpp"

#include "model/named_list.hpp"

namespace onnxmap::model {

std::optional<std::uint64_t> MessageList::position(const Document& document,
                                                   std::string_view name) const {
    if (name.empty()) return std::nullopt;
    const bool was_edited = document.was_edited();
    if (was_edited) {
        const auto found =
            NamedList(document, *fields_, *field_, *naming_field(*field_)).positions(name);
        if (found.empty()) return std::nullopt;
        if (found.size() == 1) return found.front();
    }
    const auto found = names(document)->position(name);
    // The first edit of another thread: the names may be those after it.
    if (document.was_edited() != was_edited) onnx::fail_edited_meanwhile();
    return found;
}

bool MessageList::contains(const Document& document, std::string_view name) const {
    if (name.empty()) return false;
    if (!document.was_edited()) return names(document)->contains(name);
    return NamedList(document, *fields_, *field_, *naming_field(*field_)).count(name) != 0;
}

}  // namespace onnxmap::model
