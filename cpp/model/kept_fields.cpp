#include <mutex>
#include <vector>

#include "model/edits.hpp"

namespace onnxmap::model {

Edits::KeptFields::KeptFields(Edits& edits) : edits_(edits) {
    const std::lock_guard lock(edits_.mutex_);
    ++edits_.keepers_;
}

Edits::KeptFields::~KeptFields() {
    std::vector<Fields> released;  // without the lock: they may hold Python objects
    const std::lock_guard lock(edits_.mutex_);
    if (--edits_.keepers_ == 0) released.swap(edits_.kept_);
}

}  // namespace onnxmap::model
