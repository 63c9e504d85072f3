// Many threads load and read one model at the same time, each in an order of its own. They use:
// - indexes of the main graph and of subgraphs, and the fields of messages,
// - inline and external tensors, in files that any thread may be the first to open and read,
// - values that are decoded and converted, and segments that are joined,
// - files that are checked for changes while their descriptors are closed,
// - lost pages that are read under guards,
// - all tensors at once, and streams that another thread ends.
// Each thread must see the same as a single thread alone. ThreadSanitizer judges the rest.
//
//     stress_threads THREADS ROUNDS
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bulk/read_items.hpp"
#include "bulk/tensor_stream.hpp"
#include "caught.hpp"
#include "external_folder.hpp"
#include "loaded_model.hpp"
#include "model/graph.hpp"
#include "model/load.hpp"
#include "model/message_walk.hpp"
#include "model/tensor.hpp"
#include "model/tensor_path.hpp"
#include "onnx/schema.hpp"
#include "os/descriptor_pool.hpp"
#include "os/file.hpp"
#include "os/parallel.hpp"
#include "sample_models.hpp"
#include "source/mapped_pages.hpp"
#include "source/read_guard.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::message;

constexpr std::size_t kExternalFiles = 8;
constexpr std::size_t kSubgraphs = 6;

// FNV-1a: enough to tell whether two threads saw the same bytes.
class Digest {
  public:
    void add(ByteView bytes) noexcept {
        for (const std::uint8_t byte : bytes) value_ = (value_ ^ byte) * 0x100000001b3;
        add(bytes.size());
    }
    void add(std::uint64_t number) noexcept { value_ = (value_ ^ number) * 0x100000001b3; }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

Bytes pattern(std::size_t size, std::size_t seed) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + seed);
    return bytes;
}

Bytes large_subgraph(std::size_t seed) {
    Bytes bytes = blob(2, std::to_string(seed));
    for (std::size_t i = 0; i < 150; ++i) append(bytes, blob(1, node(std::to_string(i))));
    append(bytes, blob(5, raw_tensor("inner", pattern(3000, seed))));
    return bytes;
}

// Values that must be decoded or unpacked: in runs that several threads share, as single entries,
// of types of 16, 6, 4 and 2 bits, and in segments.
Bytes stored_values() {
    const auto named = [](std::string_view name, std::uint64_t type, std::uint64_t count,
                          const Bytes& fields) {
        return blob(5, join(scalar(1, count), scalar(2, type), blob(8, name), fields));
    };
    Bytes run;
    Bytes single;
    for (std::uint64_t i = 0; i < 15'000; ++i) append(run, varint(i * i * i));
    for (std::uint64_t i = 0; i < 9'000; ++i) append(single, scalar(5, i % 256));
    const auto piece = [](std::uint64_t begin, std::uint64_t end, const Bytes& values) {
        return join(values, blob(3, join(scalar(1, begin), scalar(2, end))));
    };
    return join(named("runs", 7, 30'000, join(blob(7, run), blob(7, run))),
                named("single", 2, 9'000, single),
                named("halves", 10, 15'000, blob(9, pattern(30'000, 1))),
                named("float6", 27, 20'000, blob(9, pattern(15'000, 2))),
                named("float4", 23, 9'999, blob(9, pattern(5'000, 3))),
                named("int2", 26, 3'999, packed(5, std::vector<std::uint64_t>(1'000, 0xe4))),
                named("pieces", 22, 10, piece(6, 10, blob(9, pattern(2, 4)))),
                named("pieces", 22, 10, piece(0, 6, packed(5, {0x21, 0x43, 0x65}))));
}

// A model in a folder, with large subgraphs, inline tensors, and external ones in several files.
std::string write_model(const TemporaryFolder& folder) {
    Bytes graph;
    for (std::size_t i = 0; i < kSubgraphs; ++i) {
        append(graph, blob(1, node("If", {attribute("g", 5, blob(6, large_subgraph(i)))})));
        append(graph, blob(5, raw_tensor(std::to_string(i), pattern(20'000, i))));
    }
    for (std::size_t i = 0; i < 200; ++i) append(graph, blob(1, node("Relu")));
    for (std::size_t i = 0; i < kExternalFiles; ++i) {
        const std::string location = std::to_string(i) + ".weights";
        folder.write(location, ByteView(pattern(30'000, i)));
        for (std::uint64_t k = 0; k < 4; ++k) {
            append(graph, blob(5, external_tensor("e", location, 5'000 * k, 12'000)));
        }
    }
    append(graph, stored_values());
    append(graph, blob(2, "graph"));
    return folder.write("model.onnx", ByteView(model(graph)));
}

std::shared_ptr<const model::Document> load(const std::string& path, const std::string& root,
                                            source::IoMode mode) {
    model::LoadOptions options;
    options.root = &message<"ModelProto">;
    options.external = external_folder(root, mode);
    return model::load_file(path, mode, options);
}

// The parts that each thread reads. Each thread begins with another part.
using Part = std::function<std::uint64_t(const model::Document&)>;

std::uint64_t read_nodes(const model::Document& document, const onnx::Message& graph) {
    Digest digest;
    const auto index = document.index(graph);
    const std::uint64_t count = index->count(field<"GraphProto.node">);
    digest.add(count);
    for (std::uint64_t i = count; i-- > 0;) {
        // Leaves out the payload of tensors in subgraphs: it is in memory only after a thread asked
        // for it.
        const wire::Field found = index->at(field<"GraphProto.node">, i);
        digest.add(found.bytes.size());
        digest.add(as_bytes(
            onnx::Message(message<"NodeProto">, found.bytes).text(field<"NodeProto.op_type">)));
    }
    index->for_each(field<"GraphProto.initializer">, [&](const wire::Field& value) {
        digest.add(static_cast<std::uint64_t>(value.end - value.begin));
    });
    digest.add(document.find(graph, field<"GraphProto.name">)->bytes);
    return digest.value();
}

std::uint64_t read_main_graph(const model::Document& document) {
    return read_nodes(document, *document.child(document.root(), field<"ModelProto.graph">));
}

std::uint64_t read_subgraphs(const model::Document& document) {
    Digest digest;
    const auto graph = *document.child(document.root(), field<"ModelProto.graph">);
    const auto index = document.index(graph);
    for (std::uint64_t i = 0; i < kSubgraphs; ++i) {
        const onnx::Message parent(message<"NodeProto">,
                                   index->at(field<"GraphProto.node">, i).bytes);
        parent.for_each_value(field<"NodeProto.attribute">, [&](const wire::Field& value) {
            const onnx::Message attribute_message(message<"AttributeProto">, value.bytes);
            digest.add(read_nodes(document,
                                  *document.child(attribute_message, field<"AttributeProto.g">)));
        });
    }
    return digest.value();
}

std::uint64_t read_tensors(const model::Document& document) {
    Digest digest;
    model::for_each_tensor(
        document.root(), document.limits().depth,
        [&](const std::string& path, const onnx::Message& tensor_message) {
            digest.add(as_bytes(path));
            const tensor::Values values = model::Tensor(document, tensor_message).values();
            const tensor::Payload* payload = values.payload();
            if (payload == nullptr) return;
            digest.add(payload->source->resident(payload->offset, payload->nbytes));
            digest.add(payload->offset);
        });
    return digest.value();
}

// Decodes, unpacks and converts, large values with more threads, and joins segments.
std::uint64_t read_values(const model::Document& document) {
    Digest digest;
    const onnx::DataTypeInfo& float32 = onnx::data_type(onnx::DataType::FLOAT);
    const auto graph = *document.child(document.root(), field<"ModelProto.graph">);
    document.index(graph)->for_each(field<"GraphProto.initializer">, [&](const wire::Field& one) {
        const onnx::Message tensor_message(message<"TensorProto">, one.bytes);
        tensor::Values values = model::Tensor(document, tensor_message).values();
        values.check_count();
        for (const onnx::DataTypeInfo* to : {&values.type(), &float32}) {
            const auto conversion = tensor::Conversion::find(values.type(), *to);
            if (!conversion) continue;
            Bytes elements(values.count() * to->itemsize());
            values.read(*conversion, elements);
            digest.add(elements);
        }
        Bytes packed_bytes(tensor::packed_nbytes(values.count(), values.type().bits));
        values.read_packed(packed_bytes);
        digest.add(packed_bytes);
        digest.add(as_bytes(model::tensor_path(document, one.bytes.data())));
    });
    return digest.value();
}

std::shared_ptr<const bulk::Plan> plan_all(const model::Document& document,
                                           const bulk::Options& options) {
    // The caller must not let the plan outlive the document.
    const std::shared_ptr<const model::Document> borrowed(&document, [](const model::Document*) {});
    const model::Graph graph = main_graph(borrowed);
    std::vector<std::uint32_t> positions(graph.initializers().count());
    std::iota(positions.begin(), positions.end(), 0);
    return std::make_shared<const bulk::Plan>(graph.initializers(), positions, options);
}

std::uint64_t read_arrays(const model::Document& document) {
    Digest digest;
    const auto plan = plan_all(document, {&onnx::data_type(onnx::DataType::FLOAT), true, false});
    const os::WithThreadBudget budget({3, nullptr});
    std::atomic<std::uint64_t> done = 0;
    for (const source::ArrayMemory& array : bulk::read_items(*plan, plan->items(), done)) {
        digest.add(ByteView(array.bytes));
    }
    digest.add(done);
    return digest.value();
}

// Reads one stream to its end, and one until another thread stops it.
std::uint64_t read_stream(const model::Document& document) {
    using State = bulk::TensorStream::State;
    constexpr std::chrono::milliseconds kPatience{1000};
    Digest digest;
    for (const bool copies : {true, false}) {
        const auto plan = plan_all(document, {nullptr, copies, true});
        bulk::TensorStream::Step step;
        bulk::TensorStream whole(plan, {50'000, 2});
        for (State state{}; (state = whole.next(kPatience, step)) != State::end;) {
            if (state == State::later) continue;
            digest.add(step.item.requested_at);
            if (step.item.is_fresh()) digest.add(ByteView(step.array.bytes));
            step.array = {};
        }
        bulk::TensorStream left(plan, {50'000, 2});
        std::thread stopper;
        for (int i = 0; left.next(kPatience, step) != State::end; ++i) {
            if (i == 2) stopper = std::thread([&] { left.stop(); });
        }
        if (stopper.joinable()) stopper.join();
    }
    return digest.value();
}

std::uint64_t read_root(const model::Document& document) {
    Digest digest;
    digest.add(document.find(document.root(), field<"ModelProto.ir_version">)->value);
    digest.add(document.find(document.root(), field<"ModelProto.producer_name">)->bytes);
    digest.add(document.index(document.root())->count(field<"ModelProto.opset_import">));
    return digest.value();
}

// Whether the files have changed, while other threads close their descriptors.
std::uint64_t check_for_changes(const model::Document& document) {
    Digest digest;
    const onnx::Message graph = *document.child(document.root(), field<"ModelProto.graph">);
    for (int i = 0; i < 3; ++i) {
        const source::Timestamp started = document.check_for_changes();
        document.index(graph)->for_each(field<"GraphProto.initializer">, [&](const auto& one) {
            const onnx::Message tensor_message(message<"TensorProto">, one.bytes);
            const model::Tensor tensor(document, tensor_message);
            const tensor::Values values = tensor.values(started);
            const tensor::Payload* payload = values.payload();
            if (payload == nullptr || payload->nbytes == 0) return;
            std::uint8_t last = 0;
            payload->source->read_file(payload->offset + payload->nbytes - 1, {&last, 1});
            digest.add(last);
        });
        os::close_held();
    }
    return digest.value();
}

// Reads a file that was cut off: values before the cut, and zeros and an error behind it.
std::uint64_t read_lost_pages(const model::Document&) {
    static const MappedPages shared(16);
    static const bool cut = (shared.cut(4), true);
    static_cast<void>(cut);
    Digest digest;
    for (std::size_t i = 0; i < 40; ++i) {
        const std::size_t page = i * 5 % 16;
        const auto read = [&] {
            const source::ReadGuard outer(shared.source());
            return source::guard_reads(shared.source(), [&] { return shared.byte_of(page); });
        };
        if (page < 4) {
            // Another thread may have zeros in the file now. Then the two cases cannot be told
            // apart.
            const std::string code = code_of(read);
            digest.add(code == "accepted" || code == "file.changed");
        } else {
            digest.add(as_bytes(code_of(read)));
        }
    }
    return digest.value();
}

const std::vector<Part>& parts() {
    static const std::vector<Part> kParts = {read_main_graph, read_subgraphs,    read_tensors,
                                             read_values,     check_for_changes, read_lost_pages,
                                             read_arrays,     read_stream,       read_root};
    return kParts;
}

std::vector<std::uint64_t> read_all(const model::Document& document, std::size_t first) {
    std::vector<std::uint64_t> digests(parts().size());
    for (std::size_t i = 0; i < parts().size(); ++i) {
        const std::size_t part = (first + i) % parts().size();
        digests[part] = parts()[part](document);
    }
    return digests;
}

class Stress {
  public:
    Stress(std::size_t threads, source::IoMode mode)
        : mode_(mode),
          path_(write_model(folder_)),
          root_(folder_.path().string()),
          expected_(read_all(*load(path_, root_, mode_), 0)),
          start_(static_cast<std::ptrdiff_t>(threads)),
          threads_(threads) {}

    /// How many times a thread saw something else than the single thread.
    int run(std::size_t rounds) {
        std::vector<std::thread> threads;
        for (std::size_t id = 0; id < threads_; ++id) {
            threads.emplace_back([this, id, rounds] { work(id, rounds); });
        }
        for (std::thread& thread : threads) thread.join();
        return wrong_;
    }

  private:
    void work(std::size_t id, std::size_t rounds) {
        for (std::size_t round = 0; round < rounds; ++round) {
            // One thread loads the model that all share. It is new, so the threads race at every
            // first access.
            if (id == round % threads_) attempt([&] { shared_ = load(path_, root_, mode_); });
            start_.arrive_and_wait();
            attempt([&] { judge(read_all(*shared_, id)); });
            attempt([&] { judge(read_all(*load(path_, root_, mode_), id)); });
            start_.arrive_and_wait();
        }
    }

    void judge(const std::vector<std::uint64_t>& digests) {
        if (digests != expected_) ++wrong_;
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

    const source::IoMode mode_;
    TemporaryFolder folder_;
    std::string path_;
    std::string root_;
    std::vector<std::uint64_t> expected_;
    std::shared_ptr<const model::Document> shared_;
    std::barrier<> start_;
    std::size_t threads_;
    std::atomic<int> wrong_ = 0;
};

}  // namespace

}  // namespace onnxmap::test

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: stress_threads THREADS ROUNDS\n");
        return 2;
    }
    const auto threads = static_cast<std::size_t>(std::strtoul(argv[1], nullptr, 10));
    const auto rounds = static_cast<std::size_t>(std::strtoul(argv[2], nullptr, 10));
    int wrong = 0;
    for (const auto mode : {onnxmap::source::IoMode::mmap, onnxmap::source::IoMode::read}) {
        wrong += onnxmap::test::Stress(threads, mode).run(rounds);
    }
    std::printf("%zu threads, %zu rounds in each mode: %d differences\n", threads, rounds, wrong);
    return wrong == 0 ? 0 : 1;
}
