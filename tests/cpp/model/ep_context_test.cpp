#include "model/ep_context.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "external_folder.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

Bytes embed_mode(std::uint64_t value) { return attribute("embed_mode", 2, scalar(3, value)); }
Bytes cache(std::string_view file) { return attribute("ep_cache_context", 3, blob(4, file)); }
Bytes context_node(const std::vector<Bytes>& attributes,
                   std::string_view domain = "com.microsoft") {
    return join(node("EPContext", attributes), blob(7, domain));
}

// The file that a node names; "none" if it names none.
std::string file_of(const Bytes& bytes) {
    const model::Node read(onnx::Message(onnx::message<"NodeProto">, bytes));
    const auto found = model::file_attribute(read);
    return found ? std::string(model::location_of(*found)) : "none";
}

std::shared_ptr<const model::Document> loaded_from(const Bytes& bytes,
                                                   const std::string& folder = "") {
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    if (!folder.empty()) options.external = external_folder(folder);
    return std::make_shared<const model::Document>(std::make_shared<MemorySource>(bytes), options);
}

using Found = std::vector<std::pair<std::string, std::string>>;  // path of the node, and location

Found files_of(const model::Document& document) {
    Found found;
    model::for_each_ep_context_file(document,
                                    [&](const std::string& path, const model::Attribute& each) {
                                        found.emplace_back(path, model::location_of(each));
                                    });
    return found;
}

}  // namespace

TEST_CASE("ep_context: a node names a file if the context is not in the attribute") {
    CHECK(file_of(context_node({embed_mode(0), cache("c.bin")})) == "c.bin");
    CHECK(file_of(context_node({cache("c.bin"), embed_mode(0)})) == "c.bin");
    CHECK(file_of(context_node({embed_mode(1), cache("c.bin")})) == "none");
    CHECK(file_of(context_node({cache("c.bin")})) == "none");  // the default of embed_mode is 1
    CHECK(file_of(context_node({embed_mode(0)})) == "none");
    CHECK(file_of(context_node({embed_mode(0), cache("")})) == "none");
}

TEST_CASE("ep_context: another operator, domain or type of attribute names no file") {
    const std::vector<Bytes> attributes = {embed_mode(0), cache("c.bin")};
    CHECK(file_of(context_node(attributes, "")) == "none");
    CHECK(file_of(context_node(attributes, "org.example")) == "none");
    CHECK(file_of(join(node("Relu", attributes), blob(7, "com.microsoft"))) == "none");
    const Bytes number = attribute("ep_cache_context", 2, scalar(3, 1));
    CHECK(file_of(context_node({embed_mode(0), number})) == "none");
    const Bytes text = attribute("embed_mode", 3, blob(4, "0"));
    CHECK(file_of(context_node({text, cache("c.bin")})) == "none");
}

TEST_CASE("ep_context: nodes are found in subgraphs and functions, too") {
    const auto part = [](std::string_view file) {
        return context_node({embed_mode(0), cache(file)});
    };
    const Bytes subgraph = join(blob(2, "s"), blob(1, part("in.bin")));
    const Bytes outer = node("If", {attribute("then_branch", 5, blob(6, subgraph))});
    const Bytes function =
        join(blob(1, "f"), blob(10, "org.a"), blob(7, node("Relu")), blob(7, part("f.bin")));
    const Bytes bytes =
        join(model(graph_with({outer, part("a.bin"), node("Relu")})), blob(25, function));
    CHECK(files_of(*loaded_from(bytes)) ==
          Found{{R"(graph.node[0].attribute["then_branch"].g.node[0])", "in.bin"},
                {"graph.node[1]", "a.bin"},
                {"functions[0].node[1]", "f.bin"}});
    CHECK(files_of(*loaded_from(tiny_model())).empty());
}

TEST_CASE("ep_context: a file is opened by the rules for external data, and errors name the node") {
    const TemporaryFolder folder;
    folder.write("model/c.bin", "part");
    folder.write("secret.bin", "secret");
    const auto outcome = [](std::string_view file, const std::string& root) {
        const auto document =
            loaded_from(model(graph_with({context_node({embed_mode(0), cache(file)})})), root);
        std::string told;
        model::for_each_ep_context_file(*document, [&](const std::string& path,
                                                       const model::Attribute& attribute) {
            const auto error = error_of([&] {
                told = as_text(model::open_ep_context_file(*document, attribute, path)->bytes());
                return 0;
            });
            if (!error) return;
            CHECK(std::string(error->what()).starts_with("node graph.node[0]: "));
            told = error->code + " " + error->location;
        });
        return told;
    };
    const std::string root = folder / "model";
    CHECK(outcome("c.bin", root) == "part");
    CHECK(outcome("d.bin", root) == "ext.missing d.bin");
    CHECK(outcome("../secret.bin", root) == "ext.unsafe_path ../secret.bin");
    CHECK(outcome("c.bin", "") == "ext.no_root c.bin");
}

}  // namespace onnxmap::test
