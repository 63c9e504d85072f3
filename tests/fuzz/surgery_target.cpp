// A buffer as a model, and a program of the verbs of surgery. A verb that fails must leave the
// model as it was, one that cleans must find nothing to do at once again, and the flat form must
// mean the same when it is loaded.
//
// The input: the number of steps, two bytes for each step, and the model.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "fuzz/canonical_form.hpp"
#include "fuzz/custom_mutator.hpp"
#include "fuzz/flat_form.hpp"
#include "fuzz/random_numbers.hpp"
#include "fuzz/read_everything.hpp"
#include "fuzz/work_limit.hpp"
#include "model/graph.hpp"
#include "model/message_walk.hpp"
#include "model/value_type.hpp"
#include "onnx/schema.hpp"
#include "surgery/dedupe.hpp"
#include "surgery/extract.hpp"
#include "surgery/inline_functions.hpp"
#include "surgery/lift_constants.hpp"
#include "surgery/merge.hpp"
#include "surgery/prune.hpp"
#include "surgery/rewiring.hpp"
#include "surgery/set_dims.hpp"
#include "surgery/sort.hpp"
#include "surgery/strip.hpp"

namespace onnxmap::fuzz {

namespace {

using onnx::field;
using onnx::Message;

constexpr std::size_t kMostSteps = 8;
constexpr std::size_t kHead = 1;
// Calls of calls multiply the nodes of functions: up to the limit, an input of a few bytes would
// take seconds.
constexpr std::size_t kMostCalls = 12;

std::size_t steps_of(ByteView input) { return input[0] % kMostSteps; }

class Verbs {
  public:
    explicit Verbs(DocumentPtr document) : document_(std::move(document)) {}

    void step(std::uint64_t seed) {
        random_ = Random(seed);
        const Bytes before = canonical_form(*document_);
        try {
            run_verb();
        } catch (const Error&) {
            require(canonical_form(*document_) == before, "a verb that failed edited the model");
        } catch (const std::invalid_argument&) {
            require(canonical_form(*document_) == before, "a verb that failed edited the model");
        }
    }

    /// The model that the verbs made of the first one.
    [[nodiscard]] const model::Document& document() const noexcept { return *document_; }

  private:
    void run_verb() {
        switch (random_.below(12)) {
            case 0: twice([&] { surgery::sort(*document_); }); break;
            case 1: strip(); break;
            case 2: lift_constants(); break;
            case 3: twice([&] { dedupe(); }); break;
            case 4: twice([&] { surgery::prune(*document_); }); break;
            case 5: inline_functions(); break;
            case 6: set_dims(); break;
            case 7: replace_uses(); break;
            case 8: bypass(); break;
            case 9: surgery::add_output(graph(), value()); break;
            case 10: extract(); break;
            default: merge();
        }
    }

    // What cleans has nothing to do the second time.
    template <class Verb>
    void twice(Verb&& verb) {
        verb();
        const std::uint64_t edits = document_->edits().count();
        verb();
        require(document_->edits().count() == edits, "a verb edited what it left before");
    }

    void strip() {
        const surgery::Words words{random_.one_in(2), random_.one_in(2), random_.one_in(2)};
        twice([&] { surgery::strip(*document_, words); });
    }

    void lift_constants() {
        const std::uint64_t least = random_.below(64);
        twice([&] { surgery::lift_constants(*document_, least); });
    }

    void dedupe() { surgery::merge_duplicates(*document_, surgery::find_duplicates(*document_)); }

    void inline_functions() {
        std::vector<std::string> names;
        document_->root().for_each_value(
            field<"ModelProto.functions">, [&](const wire::Field& each) {
                const Message function =
                    document_->root().inner(field<"ModelProto.functions">, each);
                names.emplace_back(function.text(field<"FunctionProto.name">));
            });
        std::size_t calls = 0;
        count_calls(document_->root(), names, calls);
        if (calls > kMostCalls) return;
        if (names.empty() || random_.one_in(2)) {
            surgery::inline_functions(*document_, std::nullopt);
        } else {
            surgery::inline_functions(*document_, std::vector{random_.pick(names)});
        }
    }

    static void count_calls(const Message& message, const std::vector<std::string>& names,
                            std::size_t& calls) {
        message.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
            if (row == nullptr || !row->is_message()) return;
            const Message inner = message.inner(*row, each);
            if (&inner.table() == &onnx::message<"NodeProto"> &&
                std::ranges::find(names, inner.text(field<"NodeProto.op_type">)) != names.end())
                ++calls;
            count_calls(inner, names, calls);
        });
    }

    void set_dims() {
        surgery::NewDims dims;
        const model::Graph main = graph();
        for (const auto& param : main.dimension_params()) {
            if (random_.one_in(2)) dims.params.emplace_back(param.name, dim());
        }
        main.fields()->for_each(field<"GraphProto.input">, [&](const wire::Field& each) {
            if (!random_.one_in(3)) return;
            const Message input = main.fields()->message().inner(field<"GraphProto.input">, each);
            dims.inputs.emplace_back(input.text(field<"ValueInfoProto.name">),
                                     std::vector<surgery::NewDim>());
            for (std::size_t i = rank(input); i > 0; --i)
                dims.inputs.back().second.push_back(dim());
        });
        dims.constants = random_.one_in(2);
        surgery::set_dims(*document_, dims);
    }

    // Mostly the rank of the value, since other shapes are refused.
    std::size_t rank(const Message& info) {
        const auto type = model::type_of_value(*document_, info);
        const bool is_known = type && type->shape;
        return is_known && !random_.one_in(8) ? type->shape->size() : random_.below(5);
    }

    surgery::NewDim dim() {
        switch (random_.below(3)) {
            case 0: return {};
            case 1: return {static_cast<std::int64_t>(random_.below(4)), {}};
            default: return {std::nullopt, "n" + std::to_string(random_.below(3))};
        }
    }

    void replace_uses() {
        const std::string old = value();
        surgery::replace_uses(graph(), old, value(), random_.one_in(2));
    }

    void bypass() {
        const model::Graph main = graph();
        if (main.node_count() == 0) return;
        surgery::bypass(main, main.node(random_.below(main.node_count())));
    }

    void extract() {
        std::vector<std::string> inputs;
        if (random_.one_in(2)) inputs = names_in(field<"GraphProto.input">);
        for (std::size_t i = random_.below(3); i > 0; --i) inputs.push_back(value());
        std::vector<std::string> outputs;
        for (std::size_t i = 1 + random_.below(2); i > 0; --i) outputs.push_back(value());
        document_ = surgery::extract(document_, inputs, outputs);
    }

    void merge() {
        surgery::MergeOptions options{{}, random_.one_in(4) ? "" : "b/", {}};
        const auto outputs = names_in(field<"GraphProto.output">);
        const auto inputs = names_in(field<"GraphProto.input">);
        if (!outputs.empty() && !inputs.empty() && random_.one_in(2))
            options.connect.emplace_back(random_.pick(outputs), random_.pick(inputs));
        if (!inputs.empty() && random_.one_in(4)) options.share.push_back(random_.pick(inputs));
        document_ = surgery::merge(*document_, *document_, options);
    }

    [[nodiscard]] model::Graph graph() const {
        return {document_, model::main_graph_message(*document_)};
    }

    // The names of the values in a list of inputs or outputs of the main graph.
    [[nodiscard]] std::vector<std::string> names_in(const wire::FieldRow& list) const {
        const model::Graph main = graph();
        std::vector<std::string> names;
        main.fields()->for_each(list, [&](const wire::Field& each) {
            const Message info = main.fields()->message().inner(list, each);
            names.emplace_back(info.text(field<"ValueInfoProto.name">));
        });
        return names;
    }

    // The name of a value that the main graph mentions, or of none.
    std::string value() {
        std::vector<std::string> names = names_in(field<"GraphProto.input">);
        names.emplace_back("none");
        graph().for_each_node([&](const model::Node& node) {
            for (const wire::FieldRow* const list :
                 {&field<"NodeProto.input">, &field<"NodeProto.output">}) {
                node.message().for_each_value(
                    *list, [&](const wire::Field& each) { names.emplace_back(each.text()); });
            }
        });
        return random_.pick(names);
    }

    DocumentPtr document_;
    Random random_{0};
};

void run(ByteView input, WorkLimit& limit) {
    const std::size_t steps = steps_of(input);
    const ByteView bytes = input.subspan(kHead + 2 * steps);
    const DocumentPtr document = load_document(bytes, onnx::message<"ModelProto">);
    if (!document) return;
    Verbs verbs(document);
    for (std::size_t i = 0; i < steps; ++i) {
        const std::uint8_t* const at = input.data() + kHead + 2 * i;
        verbs.step(std::uint64_t{at[0]} << 8 | at[1]);
        limit.allow(verbs.document().root().nbytes());
    }
    compare_with_flat_form(verbs.document(), verbs.document().root());
    if (flat_form(verbs.document(), verbs.document().root())) read_document(verbs.document());
    document->editable().revert();
    const auto flat = flat_form(*document, document->root());
    require(flat && std::ranges::equal(*flat, bytes), "reverted edits left other bytes");
}

}  // namespace

MessagePart message_of(ByteView input) {
    if (input.size() < kHead || input.size() < kHead + 2 * steps_of(input)) return {input, nullptr};
    return {input.subspan(kHead + 2 * steps_of(input)), &onnx::message<"ModelProto">};
}

}  // namespace onnxmap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onnxmap;
    const ByteView input(data, size);
    if (size < fuzz::kHead || size < fuzz::kHead + 2 * fuzz::steps_of(input)) return 0;
    // Each step may walk over the model a few times.
    fuzz::WorkLimit limit((size + 10'000) * (1 + fuzz::steps_of(input)));
    try {
        fuzz::run(input, limit);
    } catch (const std::exception& error) {
        fuzz::fail(error.what());
    }
    return 0;
}
