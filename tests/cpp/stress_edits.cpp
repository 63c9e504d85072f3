// One thread edits a model while others read it: columns, names, values, the flat form. Each reader
// must see a state that the model had, and afterwards everything must agree with the last state.
// ThreadSanitizer judges the rest.
//
//     stress_edits READERS EDITS
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "edited_document.hpp"
#include "model/equality.hpp"
#include "model/field_index.hpp"
#include "model/message_hash.hpp"
#include "model/tensor.hpp"
#include "model/tensor_path.hpp"
#include "onnx/schema.hpp"
#include "sanitized.hpp"
#include "tensor/values.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::Message;
using onnx::message;

constexpr std::uint64_t kNodes = 1500;
constexpr std::uint64_t kWeights = 40;
constexpr std::size_t kWeightBytes = 6000;
constexpr std::uint64_t kLeastReads = kSanitized ? 60 : 200;

const wire::FieldRow& kNode = field<"GraphProto.node">;
const wire::FieldRow& kWeight = field<"GraphProto.initializer">;

std::string weight_name(std::uint64_t i) { return "w" + std::to_string(1000 + i); }

Bytes graph_bytes() {
    Bytes graph = blob(2, "g");
    for (std::uint64_t i = 0; i < kNodes; ++i) append(graph, blob(1, node("Op")));
    Bytes subgraph;
    for (std::uint64_t i = 0; i < kNodes; ++i) append(subgraph, blob(1, node("Inner")));
    append(graph, blob(1, node("Op", {attribute("g", 5, blob(6, subgraph))})));
    for (std::uint64_t i = 0; i < kWeights; ++i) {
        append(graph, blob(5, raw_tensor(weight_name(i), Bytes(kWeightBytes, 1))));
    }
    return graph;
}

class Stress {
  public:
    Stress() : edited_(model(graph_bytes())) {}

    /// How many times a reader saw what the model never was.
    int run(std::size_t readers, std::uint64_t edits) {
        std::vector<std::thread> threads;
        for (std::size_t id = 0; id < readers; ++id) {
            threads.emplace_back([this, id] {
                for (std::size_t i = id; !done_; ++i) {
                    attempt([&] { read(i); });
                    ++reads_;
                }
            });
        }
        attempt([&] {
            for (std::uint64_t i = 0; i < edits || reads_ < kLeastReads; ++i) edit(i);
        });
        done_ = true;
        for (std::thread& thread : threads) thread.join();
        for (std::size_t i = 0; i < 5; ++i) attempt([&] { read(i); });
        attempt([&] { check_last(); });
        return wrong_;
    }

  private:
    void edit(std::uint64_t i) {
        const Message graph = edited_.graph();
        const Message weight = edited_.element(graph, kWeight, i % kWeights);
        switch (i % 9) {
            case 0:
            case 1: {
                const Bytes content(kWeightBytes, static_cast<std::uint8_t>(i));
                model::set_value(*edited_, weight, field<"TensorProto.raw_data">,
                                 i % 2 == 0 ? held_value(content) : new_value(blob(9, content)));
                break;
            }
            case 2:
                model::set_value(*edited_, weight, field<"TensorProto.name">,
                                 new_value(blob(8, weight_name(kWeights + i))));
                break;
            case 3:
                model::set_value(*edited_, edited_.element(graph, kNode, i % kNodes),
                                 field<"NodeProto.op_type">, new_value(blob(4, "OpNew")));
                break;
            case 4: {
                const Message original = edited_.element(graph, kNode, i * 31 % kNodes);
                model::insert(*edited_, graph, kNode, i * 7 % kNodes,
                              model::Original{*edited_, original});
                break;
            }
            case 5: {
                const std::uint64_t gone[] = {i * 13 % kNodes};
                model::erase(*edited_, graph, kNode, gone);
                break;
            }
            case 6: {
                const std::uint64_t last = edited_.document->index(graph)->count(kNode) - 1;
                const Message inner = edited_.element(
                    subgraph_of(edited_.element(graph, kNode, last)), kNode, i % kNodes);
                model::set_value(*edited_, inner, field<"NodeProto.op_type">,
                                 new_value(blob(4, "OpNew")));
                break;
            }
            case 7: {
                std::vector<std::uint64_t> order;
                for (std::uint64_t k = kWeights; k > 0; --k) order.push_back(k - 1);
                model::reorder(*edited_, graph, kWeight, order);
                break;
            }
            default:
                if (i % 17 == 0) (*edited_).editable().revert();
        }
    }

    [[nodiscard]] Message subgraph_of(const Message& node) const {
        const Message holder = edited_.element(node, field<"NodeProto.attribute">, 0);
        return edited_.document->child(holder, field<"AttributeProto.g">).value();
    }

    void read(std::size_t way) {
        switch (way % 5) {
            case 0: read_columns(edited_.graph(), *edited_.document); break;
            case 1: read_names(); break;
            case 2: read_weights(edited_.graph(), *edited_.document); break;
            case 3: read_flat(); break;
            default:
                static_cast<void>(model::hash_of(*edited_, edited_.root()));
                static_cast<void>(model::equal(*edited_, edited_.root(), *edited_, edited_.root()));
                static_cast<void>(model::tensor_path(*edited_, edited_.source->data()));
        }
    }

    void read_columns(const Message& graph, const model::Document& document) {
        const auto index = document.index(graph);
        const std::uint64_t count = index->count(kNode);
        std::uint64_t seen = 0;
        index->for_each(kNode, [&](const wire::Field& each) {
            const Message node = index->message().inner(kNode, each);
            expect(node.text(field<"NodeProto.op_type">).starts_with("Op"));
            ++seen;
        });
        expect(seen == count);
        expect(document.find(index->message(), field<"GraphProto.name">)->text() == "g");
        const Message last = index->message().inner(kNode, index->at(kNode, count - 1));
        const auto holders = document.index(last);
        const Message holder =
            last.inner(field<"NodeProto.attribute">, holders->at(field<"NodeProto.attribute">, 0));
        const auto inner = document.child(holder, field<"AttributeProto.g">);
        expect(inner && document.index(*inner)->count(kNode) == kNodes);
    }

    void read_names() {
        const auto names = edited_.document->names(edited_.graph(), kWeight);
        expect(names->count() == kWeights);
        for (std::uint32_t i = 0; i < kWeights; ++i) {
            expect(names->position(names->name(i)) == i);
        }
    }

    void read_weights(const Message& graph, const model::Document& document) {
        const auto index = document.index(graph);
        expect(index->count(kWeight) == kWeights);
        index->for_each(kWeight, [&](const wire::Field& each) {
            const Message weight = index->message().inner(kWeight, each);
            tensor::Values values = model::Tensor(document, weight).values();
            values.check_count();
            Bytes bytes(kWeightBytes);
            values.read(tensor::Conversion::none(values.type()), bytes);
            expect(std::ranges::count(bytes, bytes[0]) == std::ssize(bytes));
        });
    }

    // A sink that reads each range as a save does.
    class Reading final : public model::ByteSink {
      public:
        explicit Reading(const model::Document& document) : document_(document) {}
        void take(ByteView range) override {
            Bytes part(range.size());
            document_.read(range, part);
            append(bytes, part);
        }
        void take_new(ByteView head) override { append(bytes, head); }

        Bytes bytes;

      private:
        const model::Document& document_;
    };

    void read_flat() {
        const model::FlatMessage flat(*edited_, edited_.root());
        Reading reading(*edited_);
        flat.write(reading);
        expect(reading.bytes.size() == flat.nbytes());
        const EditedDocument again(reading.bytes);
        read_columns(again.graph(), *again.document);
        read_weights(again.graph(), *again.document);
    }

    // What was derived while the model changed must not stay.
    void check_last() {
        const EditedDocument again(edited_.flat());
        expect(model::equal(*edited_, edited_.root(), *again, again.root()));
        const auto names = edited_.document->names(edited_.graph(), kWeight);
        const auto expected = again.document->names(again.graph(), kWeight);
        expect(names->count() == expected->count());
        for (std::uint32_t i = 0; i < names->count(); ++i) {
            expect(names->name(i) == expected->name(i));
        }
        (*edited_).editable().revert();
        expect(edited_.flat() == model(graph_bytes()));
    }

    void expect(bool holds) {
        if (!holds) ++wrong_;
    }

    template <class Call>
    void attempt(Call&& call) {
        try {
            call();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "a thread failed: %s\n", error.what());
            ++wrong_;
        }
    }

    EditedDocument edited_;
    std::atomic<bool> done_ = false;
    std::atomic<std::uint64_t> reads_ = 0;
    std::atomic<int> wrong_ = 0;
};

}  // namespace

}  // namespace onnxmap::test

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: stress_edits READERS EDITS\n");
        return 2;
    }
    const auto readers = static_cast<std::size_t>(std::strtoul(argv[1], nullptr, 10));
    const auto edits = std::strtoul(argv[2], nullptr, 10);
    const int wrong = onnxmap::test::Stress().run(readers, edits);
    std::printf("%zu readers, %lu edits: %d differences\n", readers, edits, wrong);
    return wrong == 0 ? 0 : 1;
}
