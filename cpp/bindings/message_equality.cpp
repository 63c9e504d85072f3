#include "bindings/message_equality.hpp"

#include "model/equality.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bindings {

namespace {

// Whether both are views of the same bytes of the same document.
bool is_same_message(const Handle& a, const Handle& b) {
    const std::size_t count = a.message.piece_count();
    bool same = a.document == b.document && &a.message.table() == &b.message.table() &&
                count == b.message.piece_count();
    for (std::size_t i = 0; same && i < count; ++i) {
        same = a.message.piece(i).data() == b.message.piece(i).data() &&
               a.message.piece(i).size() == b.message.piece(i).size();
    }
    return same;
}

}  // namespace

bool is_equal(const Handle& a, const Handle& b) {
    if (is_same_message(a, b)) return true;
    return source::guard_reads(b.document->source(), [&] {
        return model::equal(*a.document, a.message, *b.document, b.message);
    });
}

}  // namespace onnxmap::bindings
