// A model without its words.
#pragma once

#include "model/document.hpp"

namespace onnxmap::surgery {

/// What strip() removes.
struct Words {
    bool doc_strings = true;
    bool metadata = false;
    bool value_infos = false;
};

/// Removes documentation, metadata and the types of inner values, from all messages.
void strip(const model::Document& document, const Words& words);

}  // namespace onnxmap::surgery
