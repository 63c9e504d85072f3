#include "bindings/message_equality.hpp"

#include "bindings/interpreter_lock.hpp"
#include "model/equality.hpp"
#include "model/message_hash.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bindings {

bool is_equal(const Handle& a, const Handle& b) {
    if (is_same(a, b)) return true;
    for (const Handle* each : {&a, &b}) {
        each->document->store().check_unchanged(each->document->source(), source::kRecently);
    }
    const WithoutLock unlocked;
    return source::guard_reads(a.document->source(), [&] {
        return source::guard_reads(b.document->source(), [&] {
            return model::equal(*a.document, a.message(), *b.document, b.message());
        });
    });
}

py::ssize_t hash_of(const Handle& handle) {
    handle.document->store().check_unchanged(handle.document->source(), source::kRecently);
    return py::hash(py::int_(model::hash_of(*handle.document, handle.message())));
}

}  // namespace onnxmap::bindings
