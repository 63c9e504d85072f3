// EPContext nodes, which execution providers of onnxruntime write: parts of a model, compiled for a
// device. If `embed_mode` is 0, the compiled part is in a file beside the model.
// Source: onnxruntime, EP Context Design, and the operator com.microsoft.EPContext.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/document.hpp"
#include "model/node.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

/// Whether a node may name a file: it has the operator EPContext.
[[nodiscard]] inline bool is_ep_context(std::string_view domain, std::string_view op_type) {
    return op_type == "EPContext" && domain == "com.microsoft";
}

/// The attribute of an EPContext node that names a file; nothing if the node names none.
[[nodiscard]] std::optional<Attribute> file_attribute(const Node& node);

/// The location that such an attribute names, by the rules for external data.
[[nodiscard]] std::string_view location_of(const Attribute& attribute);

/// Calls visit(path, attribute) for each of them in a model, in subgraphs and functions, too.
/// `path`: of the node.
void for_each_ep_context_file(
    const Document& document,
    const std::function<void(const std::string&, const Attribute&)>& visit);

/// Opens such a file. Throws Error `ext.*`, and FileError. `path`: of the node.
[[nodiscard]] std::shared_ptr<const source::Source> open_ep_context_file(const Document& document,
                                                                         const Attribute& attribute,
                                                                         const std::string& path);

}  // namespace onnxmap::model
