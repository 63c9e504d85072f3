// The native half of the differential run: makes mutants, has onnxmap judge them, and hands both to
// tests/fuzz/differential.py, which asks upb. A shared library with C functions, loaded by ctypes.
//
// A reading is four 32-bit numbers, then the input, the verdict and the canonical form. The numbers
// are the root and the three sizes. The verdict is empty if onnxmap accepts the input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fuzz/canonical_form.hpp"
#include "fuzz/field_tree.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/random_numbers.hpp"
#include "memory_source.hpp"
#include "model/load.hpp"

namespace onnxmap::fuzz {

namespace {

// Bytes of a mutant. A large one costs as much time as a hundred others, so few are large.
constexpr std::size_t kLargest = 160 << 10;
constexpr std::size_t kUsualGrowth = 4 << 10;
constexpr std::uint64_t kLoadStride = 4;  // every fourth model is loaded with a graph required

// The verdict, empty if onnxmap accepts. A failure after loading is a fault and no verdict.
std::string verdict_on(ByteView input, std::size_t root, bool require_model, Bytes* form) {
    model::LoadOptions options;
    options.root = &onnx::kSchema.messages[root];
    std::shared_ptr<const model::Document> document;
    try {
        document =
            model::load_source(std::make_shared<test::MemorySource>(input), options, require_model);
    } catch (const Error& error) {
        return error.code;
    }
    try {
        if (form != nullptr) *form = canonical_form(*document);
        return "";
    } catch (const std::exception& fault) {
        return std::string("fault after loading: ") + fault.what();
    }
}

// Checks that load() refuses what protobuf refuses, an empty file, and a model without a graph.
// Returns what is wrong, or nothing.
std::string fault_of_load(ByteView input, std::size_t root, const std::string& verdict) {
    const std::string found = verdict_on(input, root, true, nullptr);
    std::string expected = verdict;
    if (input.empty()) {
        expected = "model.empty";
    } else if (verdict.empty()) {
        const onnx::Message message(onnx::kSchema.messages[root], input);
        if (!message.has(onnx::field<"ModelProto.graph">)) expected = "model.no_graph";
    }
    return found == expected ? "" : "fault: load says '" + found + "', not '" + expected + "'";
}

void append_number(Bytes& to, std::size_t number) { write_little_endian(to, number, 4); }

void append_reading(Bytes& to, ByteView input, std::size_t root, bool load_as_well) {
    Bytes form;
    std::string verdict = verdict_on(input, root, false, &form);
    if (load_as_well && !verdict.starts_with("fault")) {
        const std::string fault = fault_of_load(input, root, verdict);
        if (!fault.empty()) verdict = fault;
    }
    for (const std::size_t number : {root, input.size(), verdict.size(), form.size()}) {
        append_number(to, number);
    }
    to.insert(to.end(), input.begin(), input.end());
    to.insert(to.end(), verdict.begin(), verdict.end());
    to.insert(to.end(), form.begin(), form.end());
}

// A field that the schema lacks, of 32 KiB: it makes a message large, so that an index is used, and
// costs next to nothing to change and to read.
Bytes large_field() {
    Bytes bytes;
    write_varint(bytes, 1000 << 3 | 2);
    write_varint(bytes, 32 << 10);
    bytes.insert(bytes.end(), 32 << 10, 0xff);
    return bytes;
}

// The same field in a second graph, which merges with the model's.
Bytes large_graph() {
    const Bytes content = large_field();
    Bytes bytes;
    write_varint(bytes, onnx::field<"ModelProto.graph">.number << 3 | 2);
    write_varint(bytes, content.size());
    bytes.insert(bytes.end(), content.begin(), content.end());
    return bytes;
}

// All fields of a tree, each with the list that holds it.
void collect(std::vector<std::pair<std::vector<Field>*, std::size_t>>& all,
             std::vector<Field>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
        all.emplace_back(&fields, i);
        collect(all, fields[i].fields);
    }
}

}  // namespace

class Differential {
  public:
    void add_seed(std::size_t root, ByteView seed) {
        seeds_[root].emplace_back(seed.begin(), seed.end());
        roots_.clear();
        for (const auto& [each, list] : seeds_) roots_.push_back(each);
    }

    void read_mutants(std::uint64_t first, std::size_t count) {
        output.clear();
        for (std::uint64_t number = first; number < first + count; ++number) read_mutant(number);
    }

    void read(std::size_t root, ByteView input) {
        output.clear();
        append_reading(output, input, root, is_model(root));
    }

    // Outputs the input without that many siblings, from the field of this number in the tree on.
    // If `siblings` is 0, the field loses half of its bytes instead.
    bool reduce(std::size_t root, ByteView input, std::size_t number, std::size_t siblings) {
        auto fields = read_fields(input, &onnx::kSchema.messages[root]);
        std::vector<std::pair<std::vector<Field>*, std::size_t>> all;
        collect(all, fields);
        if (number >= all.size()) return false;
        auto [list, index] = all[number];
        if (siblings > 0) {
            const auto begin = list->begin() + static_cast<std::ptrdiff_t>(index);
            const std::size_t count = std::min(siblings, list->size() - index);
            list->erase(begin, begin + static_cast<std::ptrdiff_t>(count));
        } else {
            Bytes& bytes = (*list)[index].bytes;
            bytes.resize(bytes.size() / 2);
        }
        output = write_fields(fields);
        return true;
    }

    Bytes output;

  private:
    static bool is_model(std::size_t root) {
        return &onnx::kSchema.messages[root] == &onnx::message<"ModelProto">;
    }

    // A third of the mutants are models; each other type of message has an equal share of the rest.
    void read_mutant(std::uint64_t number) {
        Random random(number);
        const std::size_t models =
            static_cast<std::size_t>(&onnx::message<"ModelProto"> - onnx::kSchema.messages.data());
        const std::size_t root = random.one_in(3) ? models : random.pick(roots_);
        const std::vector<Bytes>& seeds = seeds_.at(root);
        Bytes bytes = random.pick(seeds);
        if (random.one_in(8)) {  // two messages one after the other merge
            const Bytes& other = random.pick(seeds);
            bytes.insert(bytes.end(), other.begin(), other.end());
        }
        if (random.one_in(16)) {
            const Bytes large = is_model(root) && random.one_in(2) ? large_graph() : large_field();
            bytes.insert(random.one_in(2) ? bytes.begin() : bytes.end(), large.begin(),
                         large.end());
        }
        const std::size_t most = random.one_in(6) ? kLargest : bytes.size() + kUsualGrowth;
        const auto mutations = random.one_in(4) ? 2 : 1;
        for (int i = 0; i < mutations; ++i) {
            bytes = mutate(bytes, static_cast<std::uint32_t>(random.bits()), most,
                           &onnx::kSchema.messages[root]);
        }
        append_reading(output, bytes, root, is_model(root) && random.one_in(kLoadStride));
    }

    std::map<std::size_t, std::vector<Bytes>> seeds_;
    std::vector<std::size_t> roots_;
};

}  // namespace onnxmap::fuzz

using onnxmap::ByteView;
using onnxmap::fuzz::Differential;

extern "C" {

Differential* differential_new() { return new Differential; }

std::size_t differential_root_count() { return onnxmap::onnx::kSchema.messages.size(); }

const char* differential_root_name(std::size_t root) {
    return onnxmap::onnx::kSchema.messages[root].name.data();  // a string literal
}

void differential_add_seed(Differential* run, std::size_t root, const std::uint8_t* bytes,
                           std::size_t size) {
    run->add_seed(root, ByteView(bytes, size));
}

/// Reads the mutants `first` to `first + count - 1`, and outputs the readings.
void differential_read_mutants(Differential* run, std::uint64_t first, std::size_t count) {
    run->read_mutants(first, count);
}

void differential_read(Differential* run, std::size_t root, const std::uint8_t* bytes,
                       std::size_t size) {
    run->read(root, ByteView(bytes, size));
}

/// Whether the input has a field of this number. If so, outputs the smaller input.
bool differential_reduce(Differential* run, std::size_t root, const std::uint8_t* bytes,
                         std::size_t size, std::size_t number, std::uint32_t siblings) {
    return run->reduce(root, ByteView(bytes, size), number, siblings);
}

std::size_t differential_output_size(const Differential* run) { return run->output.size(); }

const std::uint8_t* differential_output(const Differential* run) { return run->output.data(); }
}
