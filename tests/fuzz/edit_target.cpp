// A buffer as two documents of any type, and a program of edits. Afterwards everything is read, and
// the flat form must mean the same when it is loaded.
//
// The input: the type, the number of steps, two bytes for each step, and the message.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "base/error.hpp"
#include "fuzz/canonical_form.hpp"
#include "fuzz/custom_mutator.hpp"
#include "fuzz/edit_steps.hpp"
#include "fuzz/flat_form.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::fuzz {

namespace {

constexpr std::size_t kMostSteps = 24;
constexpr std::size_t kHead = 2;

std::size_t steps_of(ByteView input) { return input[1] % kMostSteps; }

// What tells positions by keys must agree with the order of the list of nodes.
void find_positions(const model::Document& document) {
    const wire::FieldRow& list = onnx::field<"GraphProto.node">;
    onnx::Message graph = document.root();
    if (&graph.table() == &onnx::message<"ModelProto">) {
        const auto child = document.child(graph, onnx::field<"ModelProto.graph">);
        if (child) graph = child->current();
    }
    if (&graph.table() != &onnx::message<"GraphProto"> || !graph.edited()) return;
    const auto fields = document.index(graph);
    std::vector<const std::uint8_t*> keys;
    fields->for_each(list, [&](const wire::Field& element) {
        keys.push_back(graph.inner(list, element).key());
    });
    const std::vector<std::uint64_t> positions = fields->ordinals(list, keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        require(positions[i] == i, "a message is not found where it is");
    }
    const std::vector<const std::uint8_t*> foreign{graph.key()};
    require(!fields->ordinal(list, foreign.front()), "the graph is found among its nodes");
    try {
        static_cast<void>(fields->ordinals(list, foreign));
        require(false, "the graph has a position among its nodes");
    } catch (const Error& error) {
        require(error.code == "edit.concurrent", error.code.c_str());
    }
}

void run(ByteView input) {
    const std::size_t steps = steps_of(input);
    const ByteView bytes = input.subspan(kHead + 2 * steps);
    const auto types = onnx::kSchema.messages;
    const wire::MessageTable& root = types[input[0] % types.size()];
    const EditSteps::Documents documents = {load_document(bytes, root), load_document(bytes, root)};
    if (!documents[0]) return;
    EditSteps edits(documents, bytes.size());
    for (std::size_t i = 0; i < steps; ++i) {
        const std::uint8_t* const at = input.data() + kHead + 2 * i;
        edits.step(std::uint64_t{at[0]} << 8 | at[1]);
    }
    for (const DocumentPtr& document : documents) {
        compare_with_flat_form(*document, document->root());
        if (flat_form(*document, document->root())) read_document(*document);
        find_positions(*document);
    }
    std::size_t looked_at = 0;
    for (const EditSteps::Handle& handle : edits.handles()) {
        if (++looked_at > 4) break;
        compare_with_flat_form(*documents[handle.document], handle.message.current());
    }
    for (const DocumentPtr& document : documents) {
        document->editable().revert();
        const auto flat = flat_form(*document, document->root());
        require(flat && std::ranges::equal(*flat, bytes), "reverted edits left other bytes");
    }
    require(canonical_form(*documents[0]) == canonical_form(*load_document(bytes, root)),
            "a document means something else after its edits were reverted");
}

}  // namespace

MessagePart message_of(ByteView input) {
    if (input.size() < kHead || input.size() < kHead + 2 * steps_of(input)) return {input, nullptr};
    const auto types = onnx::kSchema.messages;
    return {input.subspan(kHead + 2 * steps_of(input)), &types[input[0] % types.size()]};
}

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    const ByteView input(data, size);
    if (size < fuzz::kHead || size < fuzz::kHead + 2 * fuzz::steps_of(input)) return 0;
    // Each step may walk over both documents, a few times.
    const fuzz::WorkLimit limit((size + 10'000) * (1 + fuzz::steps_of(input)));
    try {
        fuzz::run(input);
    } catch (const Error& error) {
        fuzz::fail((error.code + ": " + error.what()).c_str());
    } catch (const std::exception& error) {
        fuzz::fail(error.what());
    }
    return 0;
}
