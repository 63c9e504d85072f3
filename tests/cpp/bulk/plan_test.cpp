#include "bulk/plan.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "bulk_model.hpp"
#include "caught.hpp"
#include "external_folder.hpp"
#include "loaded_model.hpp"
#include "model/graph.hpp"
#include "model/load.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using bulk::Item;
using bulk::Reading;
using onnx::DataType;

std::vector<std::uint32_t> ranks(const bulk::Plan& plan) {
    std::vector<std::uint32_t> found;
    for (const Item& item : plan.items()) found.push_back(item.requested_at);
    return found;
}

// The only item of a model with one tensor, which is asked for as `to`.
Item item_of(const Bytes& tensor, const onnx::DataTypeInfo* to = nullptr, bool copies = true,
             bool viewable = false) {
    const BulkModel made({tensor});
    if (viewable) made.source->show();
    return made.plan({to, copies, false})->items()[0];
}

}  // namespace

TEST_CASE("plan: files come in the order of their first use, each from its beginning") {
    const TemporaryFolder folder;
    folder.write("a", ByteView(counting(100)));
    folder.write("b", ByteView(counting(100)));
    const std::vector<Bytes> tensors = {external_tensor("0", "b", 50, 10),
                                        external_tensor("1", "a", 9, 1),
                                        raw_tensor("2", {1}),
                                        external_tensor("3", "b", 0, 100),
                                        external_tensor("4", "b", 0, 5),
                                        external_tensor("5", "a", 8, 92),
                                        raw_tensor("6", {2})};
    Bytes graph;
    for (const Bytes& one : tensors) append(graph, blob(5, one));
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    options.external = external_folder(folder.path().string());
    const std::string path = folder.write("m", ByteView(model(graph)));
    const auto document = model::load_file(path, source::IoMode::mmap, options);
    const model::Graph main = main_graph(document);
    const auto planned = [&](const std::vector<std::uint32_t>& positions) {
        return ranks(bulk::Plan(main.initializers(), positions, {}));
    };
    CHECK(planned({0, 1, 2, 3, 4, 5, 6}) == std::vector<std::uint32_t>{3, 4, 0, 5, 1, 2, 6});
    // The order of the request decides only the index in the request.
    CHECK(planned({6, 4, 1}) == std::vector<std::uint32_t>{2, 1, 0});
    CHECK(planned({}).empty());
    const bulk::Plan plan(main.initializers(), std::vector<std::uint32_t>{0, 1, 2}, {});
    CHECK(plan.nbytes() == 12);
    CHECK(plan.stored().sources().size() == 3);
    CHECK(plan.stored().source(plan.items()[0])->path() == folder / "b");
}

TEST_CASE("plan: how the values get into an array") {
    const Bytes raw = typed_tensor(2, 3, {1, 2, 3});
    CHECK(item_of(raw).reading == Reading::parts);
    CHECK(item_of(raw, nullptr, false).reading == Reading::parts);
    CHECK(item_of(raw, nullptr, true, true).reading == Reading::parts);
    CHECK(item_of(raw, nullptr, false, true).reading == Reading::view);
    // Packed elements are unpacked, even if views are allowed.
    CHECK(item_of(typed_tensor(21, 3, {1, 2}), nullptr, false, true).reading == Reading::parts);
    // The padding bits of 6-bit elements are checked. Typed fields are decoded.
    CHECK(item_of(typed_tensor(27, 4, {1, 2, 3})).reading == Reading::whole);
    const Bytes typed = join(scalar(1, 2), scalar(2, 7), blob(8, "t"), packed(7, {1, 2}));
    CHECK(item_of(typed).reading == Reading::whole);
    CHECK(item_of(typed).stored_nbytes == 0);
    CHECK(item_of(typed_tensor(27, 4, {1, 2, 3})).stored_nbytes == 3);
    const Bytes text = join(scalar(1, 1), scalar(2, 8), blob(8, "t"), blob(6, "s"));
    CHECK(item_of(text, nullptr, false, true).reading == Reading::text);
    CHECK(item_of(typed_tensor(2, 0, {})).nbytes() == 0);
}

TEST_CASE("plan: which conversions are a kernel's, and which are NumPy's") {
    const auto type = [](DataType of) { return &onnx::data_type(of); };
    const auto to = [&](std::uint64_t stored, const Bytes& raw, DataType wanted) {
        return item_of(typed_tensor(stored, 1, raw), type(wanted), false, true);
    };
    const Bytes two = {0, 0};
    const Bytes four = {0, 0, 0, 0};
    CHECK(to(10, two, DataType::FLOAT).made == type(DataType::FLOAT));
    CHECK(to(1, four, DataType::BFLOAT16).made == type(DataType::BFLOAT16));
    // Types of at most 8 bits go through float32. NumPy converts larger types from the beginning.
    CHECK(to(17, {0}, DataType::DOUBLE).made == type(DataType::FLOAT));
    CHECK(to(23, {0}, DataType::FLOAT8E5M2).made == type(DataType::FLOAT));
    CHECK(to(10, two, DataType::DOUBLE).made == type(DataType::FLOAT16));
    CHECK(to(16, two, DataType::FLOAT16).made == type(DataType::BFLOAT16));
    // A converted array is never a view. A tensor that has the type already, or whose type is not a
    // floating-point type, stays a view.
    CHECK(to(1, four, DataType::DOUBLE).reading == Reading::parts);
    CHECK(to(1, four, DataType::FLOAT).reading == Reading::view);
    CHECK(to(6, four, DataType::FLOAT16).reading == Reading::view);
    CHECK(to(6, four, DataType::FLOAT16).made == type(DataType::INT32));
    // The array has the type that was asked for, and NumPy converts what no kernel converts.
    CHECK_FALSE(to(10, two, DataType::FLOAT).is_cast_by_numpy());
    CHECK_FALSE(to(23, {0}, DataType::FLOAT8E5M2).array == type(DataType::FLOAT));
    CHECK(to(23, {0}, DataType::FLOAT8E5M2).is_cast_by_numpy());
    CHECK(to(10, two, DataType::DOUBLE).is_cast_by_numpy());
    CHECK(to(10, two, DataType::DOUBLE).nbytes() == 2);
    CHECK(to(10, two, DataType::DOUBLE).array_nbytes() == 8);
    CHECK_FALSE(to(6, four, DataType::FLOAT16).is_cast_by_numpy());
    CHECK_FALSE(to(17, {0}, DataType::FLOAT8E4M3FN).is_cast_by_numpy());
}

TEST_CASE("plan: the error names the first bad tensor") {
    const BulkModel made({raw_tensor("good", {1}), typed_tensor(1, 2, {1, 2, 3, 4})});
    const auto error = error_of([&] { return made.plan()->nbytes(); });
    REQUIRE(error);
    CHECK(error->code == "tensor.data_size");
    CHECK(error->tensor == "t");
}

TEST_CASE("plan: copies of the same bytes have a limit") {
    // The tensors name 300 MB, or 400 MB when unpacked, of a model with fewer bytes. Nothing is
    // read.
    const TemporaryFolder folder;
    std::filesystem::resize_file(folder.write("w", ByteView(counting(1))), 3 << 20);
    for (const std::uint64_t stored : {2ULL, 27ULL}) {
        Bytes graph;
        const std::uint64_t count = stored == 2 ? 3 << 20 : 4 << 20;
        for (int i = 0; i < 100; ++i) {
            const Bytes one =
                join(blob(8, std::to_string(i)), scalar(1, count), scalar(2, stored),
                     blob(13, string_entry("location", "w")),
                     blob(13, string_entry("length", std::to_string(3 << 20))), scalar(14, 1));
            append(graph, blob(5, one));
        }
        const std::string path = folder.write("m", ByteView(model(graph)));
        const auto code = [&](std::uint64_t overlap, std::uint32_t tensors, bool copies) {
            model::LoadOptions options;
            options.root = &onnx::message<"ModelProto">;
            options.external = external_folder(folder.path().string());
            options.limits.overlap = overlap;
            const auto document = model::load_file(path, source::IoMode::mmap, options);
            const model::Graph main = main_graph(document);
            std::vector<std::uint32_t> positions(tensors);
            std::iota(positions.begin(), positions.end(), 0);
            return code_of([&] {
                return bulk::Plan(main.initializers(), positions, {nullptr, copies, false})
                    .nbytes();
            });
        };
        CHECK(code(16, 100, true) == "limit.overlap");
        CHECK(code(200, 100, true) == "accepted");
        CHECK(code(16, 60, true) == "accepted");  // less than 256 MiB, unpacked, too
        CHECK(code(1, 100, false) == "accepted");
    }
}

}  // namespace onnxmap::test
