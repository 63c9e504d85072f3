#include "save/named_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "edited_document.hpp"
#include "external_folder.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using Paths = std::vector<std::pair<std::string, std::string>>;

Bytes compiled_part(std::string_view file) {
    const std::vector<Bytes> attributes = {attribute("embed_mode", 2, scalar(3, 0)),
                                           attribute("ep_cache_context", 3, blob(4, file))};
    return join(node("EPContext", attributes), blob(7, "com.microsoft"));
}

// Tensors in two files, one of them also in a subgraph, and a part that is compiled for a device.
Bytes model_with_files(const Bytes& more = {}) {
    const Bytes subgraph = join(blob(2, "s"), blob(5, external_tensor("inner", "b.data", 4, 4)));
    return model(join(graph_with({node("If", {attribute("then_branch", 5, blob(6, subgraph))}),
                                  compiled_part("part.bin")}),
                      blob(5, external_tensor("w", "a.data", 0, 4)),
                      blob(5, external_tensor("v", "b.data", 0, 4)),
                      blob(5, raw_tensor("inline", {1, 2})), more));
}

EditedDocument loaded_beside(const std::string& root, const Bytes& bytes) {
    model::LoadOptions options;
    options.external = external_folder(root);
    return EditedDocument(bytes, onnx::message<"ModelProto">, options);
}

}  // namespace

TEST_CASE("named_files: each location once, without opening a file") {
    const EditedDocument document(model_with_files());
    CHECK(save::file_locations(*document) == std::set<std::string>{"a.data", "b.data", "part.bin"});
    CHECK(save::file_locations(*EditedDocument(tiny_model())).empty());
}

TEST_CASE("named_files: paths of the files that are there") {
    const TemporaryFolder folder;
    const std::string a = folder.write("a.data", "0123");
    const std::string part = folder.write("part.bin", "part");
    std::filesystem::create_directory(folder / "b.data");
    const Bytes outside = blob(5, external_tensor("out", "../x.data", 0, 4));
    const EditedDocument document =
        loaded_beside(folder.path().string(), model_with_files(outside));
    const Paths paths = save::file_paths(*document);
    CHECK(std::set(paths.begin(), paths.end()) ==
          std::set<Paths::value_type>{
              {"../x.data", ""}, {"a.data", a}, {"b.data", ""}, {"part.bin", part}});
    const EditedDocument buffer(model_with_files());
    for (const auto& [location, path] : save::file_paths(*buffer)) CHECK(path.empty());
}

TEST_CASE("named_files: locations are renamed in every tensor and node that has them") {
    const EditedDocument document(model_with_files());
    save::rename_locations(*document, {{"b.data", "new.data"}, {"part.bin", "new.bin"}});
    CHECK(save::file_locations(*document) ==
          std::set<std::string>{"a.data", "new.bin", "new.data"});
    const Bytes subgraph = join(blob(2, "s"), blob(5, external_tensor("inner", "new.data", 4, 4)));
    CHECK(document.flat(document.node(0)) ==
          node("If", {attribute("then_branch", 5, blob(6, subgraph))}));
}

TEST_CASE("named_files: a name that stays, or that nothing has, is no edit") {
    const EditedDocument document(model_with_files());
    save::rename_locations(*document, {{"a.data", "a.data"}, {"c.data", "d.data"}});
    CHECK_FALSE(document.root().edited());
    CHECK(document.flat() == model_with_files());
}

}  // namespace onnxmap::test
