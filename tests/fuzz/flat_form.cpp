#include "fuzz/flat_form.hpp"

#include "base/error.hpp"
#include "flat_bytes.hpp"
#include "fuzz/canonical_form.hpp"
#include "fuzz/read_everything.hpp"
#include "memory_source.hpp"
#include "model/equality.hpp"
#include "model/load.hpp"
#include "model/message_hash.hpp"

namespace onnxmap::fuzz {

DocumentPtr load_document(ByteView bytes, const wire::MessageTable& root) {
    model::LoadOptions options;
    options.root = &root;
    try {
        return model::load_source(std::make_shared<test::MemorySource>(bytes), options, false);
    } catch (const Error&) {
        return nullptr;
    }
}

std::optional<Bytes> flat_form(const model::Document& document, const onnx::Message& message) {
    try {
        const model::FlatMessage flat(document, message);
        test::PartSink sink;
        flat.write(sink);
        Bytes bytes = sink.bytes();
        require(bytes.size() == flat.nbytes(), "a message has another size than was measured");
        return bytes;
    } catch (const Error& error) {
        require(error.code == "limit.depth", error.code.c_str());
        return std::nullopt;
    }
}

void compare_with_flat_form(const model::Document& document, const onnx::Message& message) {
    const auto flat = flat_form(document, message);
    if (!flat) return;
    const DocumentPtr again = load_document(*flat, message.table());
    require(again != nullptr, "the flat form of an edited message is not valid");
    require(canonical_form(*again) == canonical_form(document, message),
            "the flat form of an edited message means something else");
    require(model::equal(*again, again->root(), document, message),
            "the flat form of an edited message is not equal to it");
    require(model::hash_of(*again, again->root()) == model::hash_of(document, message),
            "the flat form of an edited message has another hash");
}

}  // namespace onnxmap::fuzz
