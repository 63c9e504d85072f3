#include "os/address_range.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>

#include "child_process.hpp"
#include "little_memory.hpp"
#include "memory_map.hpp"
#include "model/load.hpp"
#include "model/tensor.hpp"
#include "onnx/schema.hpp"
#include "opened.hpp"
#include "os/page_ranges.hpp"
#include "plain_os.hpp"
#include "sample_models.hpp"
#include "source/owned_bytes.hpp"
#include "source/read_file.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kTiB = 1ULL << 40;

std::uint64_t page() { return os::page_size(); }

std::uintptr_t address(const std::uint8_t* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

std::uint64_t mapped(const os::AddressRange& range, std::uint64_t nbytes) {
    return mapped_between(address(range.begin()), address(range.begin()) + nbytes);
}

bool all_zero(const std::uint8_t* bytes, std::uint64_t count) {
    return std::all_of(bytes, bytes + count, [](std::uint8_t byte) { return byte == 0; });
}

// Whether use() throws an exception. Enough memory must be left to throw one.
bool refuses(os::AddressRange& range, std::uint64_t begin, std::uint64_t end) {
    try {
        range.use(begin, end);
    } catch (const std::bad_alloc&) {
        return true;
    }
    return false;
}

int use_unreserved() {
    if (!allow_only(64 * kMiB)) return 1;
    std::uintptr_t first = 0;
    {
        os::AddressRange range(kTiB);
        first = address(range.begin());
        if (mapped(range, kTiB) != 0) return 2;
        // It maps the whole pages around the requested bytes, each page once, and nothing between
        // them.
        range.use(5 * page() + 1, 5 * page() + 2);
        if (mapped(range, kTiB) != page()) return 3;
        range.begin()[5 * page() + 1] = 77;
        range.use(4 * page(), 7 * page());
        if (mapped(range, kTiB) != 3 * page()) return 4;
        if (range.begin()[5 * page() + 1] != 77) return 5;
        if (!all_zero(range.begin() + 6 * page(), page())) return 6;
        range.use(kTiB - 10, kTiB);
        range.begin()[kTiB - 1] = 1;
        if (mapped(range, kTiB) != 4 * page()) return 7;
        range.use(9 * page(), 9 * page());  // no bytes
        // Too many bytes are refused, and everything else stays as it was.
        if (!refuses(range, kMiB, 900 * kMiB)) return 8;
        if (range.begin()[5 * page() + 1] != 77) return 9;
        range.use(kMiB, 2 * kMiB);
        std::fill_n(range.begin() + kMiB, kMiB, 3);
        // Another range has other addresses.
        os::AddressRange other(kTiB);
        other.use(0, page());
        const std::uintptr_t second = address(other.begin());
        if (second < first + kTiB && first < second + kTiB) return 10;
        if (!all_zero(other.begin(), page())) return 11;
    }
    return mapped_between(first, first + 3 * kTiB) == 0 ? 0 : 12;
}

// A file of `size` bytes with `text` at `offset`. The rest is a hole.
std::string write_sparse(const TemporaryFolder& folder, std::uint64_t size, std::uint64_t offset,
                         const std::string& text) {
    const std::string path = folder.write("sparse", "");
    std::filesystem::resize_file(path, size);
    std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(offset));
    out << text;
    return path;
}

}  // namespace

TEST_CASE("address_range: all addresses are reserved, the requested ones are writable") {
    const std::uint64_t nbytes = 64 * kMiB;
    std::uintptr_t begin = 0;
    {
        os::AddressRange range(nbytes);
        begin = address(range.begin());
        CHECK(mapped(range, nbytes) == nbytes);
        range.use(0, 1);
        range.use(nbytes - 5, nbytes);
        range.begin()[0] = 1;
        range.begin()[nbytes - 1] = 2;
        CHECK(range.begin()[nbytes - 2] == 0);
    }
    CHECK(mapped_between(begin, begin + nbytes) == 0);
    os::AddressRange nothing(0);
    nothing.use(0, 0);
}

TEST_CASE("address_range: if address space is short, only used pages are mapped" *
          doctest::skip(!kCanLimitMemory)) {
    ONNXMAP_NEEDS_LINUX("mappings at given addresses");
    CHECK(in_child(use_unreserved) == Ending{0, 0});
}

TEST_CASE("read_file: reads a file larger than the address space of the process" *
          doctest::skip(!kCanLimitMemory)) {
    ONNXMAP_NEEDS_LINUX("mappings at given addresses");
    const TemporaryFolder folder;
    const std::string path = write_sparse(folder, kTiB, kTiB / 2, "weights");
    const Ending ending = in_child([&] {
        if (!allow_only(64 * kMiB)) return 1;
        // The file cannot be mapped, so it is read.
        const auto source = open_source(path, source::IoMode::automatic);
        if (source->kind() != std::string("read")) return 2;
        static_cast<void>(source->feed());
        const ByteView view = source->resident(kTiB / 2 - 3, 13);
        if (as_text(view) != std::string_view("\0\0\0weights\0\0\0", 13)) return 3;
        if (view.data() != source->data() + kTiB / 2 - 3) return 4;
        if (source->resident(kTiB - 1, 1).front() != 0) return 5;
        if (as_text(source->resident(kTiB / 2, 7)) != "weights") return 6;
        if (source->resident(ByteView(source->data() + kTiB / 2, 7)).size() != 7) return 7;
        Bytes out(7);
        source->read(kTiB / 2, out);
        if (as_text(out) != "weights") return 8;
        const auto copy = source->writable_copy(kTiB / 2, 7);
        return as_text(copy->bytes()) == "weights" ? 0 : 9;
    });
    CHECK(ending == Ending{0, 0});
}

TEST_CASE("load: reads a model larger than the address space of the process" *
          doctest::skip(!kCanLimitMemory)) {
    ONNXMAP_NEEDS_LINUX("mappings at given addresses");
    constexpr std::uint64_t kPayload = 5ULL << 30;
    const TemporaryFolder folder;
    const Bytes tensor_head = join(scalar(1, kPayload), scalar(2, 2),
                                   tag(9, WireType::length_delimited), varint(kPayload));
    const std::uint64_t tensor_size = tensor_head.size() + kPayload;
    const Bytes initializer = join(tag(5, WireType::length_delimited), varint(tensor_size));
    const Bytes tail = join(blob(1, node("Behind")), blob(2, "g"));
    const Bytes head =
        join(tag(7, WireType::length_delimited),
             varint(initializer.size() + tensor_size + tail.size()), initializer, tensor_head);
    const std::uint64_t size = head.size() + kPayload + tail.size();
    const std::string path =
        write_sparse(folder, size, size - tail.size(), std::string(as_text(tail)));
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << as_text(head);
    const Ending ending = in_child([&] {
        if (!allow_only(128 * kMiB)) return 1;
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        const auto document = model::load_file(path, source::IoMode::automatic, options);
        if (document->source().kind() != std::string("read")) return 2;
        const auto graph = document->child(document->root(), onnx::field<"ModelProto.graph">);
        if (!graph) return 3;
        const auto node = document->index(*graph)->at(onnx::field<"GraphProto.node">, 0);
        const onnx::Message message(onnx::message<"NodeProto">, node.bytes);
        if (message.text(onnx::field<"NodeProto.op_type">) != "Behind") return 4;
        const auto tensor = document->index(*graph)->at(onnx::field<"GraphProto.initializer">, 0);
        const auto values =
            model::Tensor(*document, {onnx::message<"TensorProto">, tensor.bytes}).values();
        const ByteView last =
            values.payload()->source->resident(values.payload()->offset + kPayload - kMiB, kMiB);
        return all_zero(last.data(), last.size()) ? 0 : 5;
    });
    CHECK(ending == Ending{0, 0});
}

}  // namespace onnxmap::test
