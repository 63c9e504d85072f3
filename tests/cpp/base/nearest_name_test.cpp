#include "base/nearest_name.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace onnxmap::test {

namespace {

// The nearest of `names`, with a star if only its encoding differs; empty if none is near.
std::string nearest(std::string_view wanted, std::initializer_list<std::string_view> names,
                    std::string_view model = "new.onnx") {
    NearestName found(wanted, model);
    for (const std::string_view name : names) CHECK(found.compare(name));
    if (!found.found()) return {};
    return found.found()->name + (found.found()->only_encoding ? "*" : "");
}

}  // namespace

TEST_CASE("nearest_name: a name in another case, or with few other letters") {
    CHECK(nearest("Weights.BIN", {"w.bin", "weights.bin", "weights2.bin"}) == "weights.bin");
    CHECK(nearest("wieghts.bin", {"other.bin", "weights.bin"}) == "weights.bin");
    CHECK(nearest("model.onnx_data", {"model.onnx.data"}) == "model.onnx.data");
    CHECK(nearest("weights.bin", {"zzz.bin", "w", "weights.bin.sha256.asc", ""}).empty());
    CHECK(nearest("", {"a", ""}).empty());
    // The folder has its names in any order.
    CHECK(nearest("w3.bin", {"w1.bin", "w2.bin"}) == "w1.bin");
    CHECK(nearest("w3.bin", {"w2.bin", "w1.bin"}) == "w1.bin");
}

TEST_CASE("nearest_name: a file that was renamed with its model") {
    CHECK(nearest("llama-7b.onnx.data", {"new.onnx.data", "other.onnx.data"}) == "new.onnx.data");
    CHECK(nearest("llama-7b_weights.bin", {"new_weights.bin"}) == "new_weights.bin");
    CHECK(nearest("llama-7b.onnx.data", {"new.onnx.data"}, "").empty());
    CHECK(nearest("llama-7b", {"new"}).empty());
    CHECK(nearest("LLAMA.onnx.data", {"new.onnx.data", "llama.onnx.data"}) == "llama.onnx.data");
}

TEST_CASE("nearest_name: a model is not its data") {
    CHECK(nearest("decoder_model_merged.onnx_data", {"decoder_model_merged.onnx"}).empty());
    CHECK(nearest("weights1.onnx", {"weights2.onnx"}) == "weights2.onnx");
}

TEST_CASE("nearest_name: accents that are encoded in another way") {
    CHECK(nearest("caf\u00e9.data", {"cafe.data", "cafe\u0301.data"}) == "cafe\u0301.data*");
    CHECK(nearest("cafe\u0301.data", {"caf\u00e9.data"}) == "caf\u00e9.data*");
    CHECK(nearest("\u304c.data", {"\u304b\u3099.data"}) == "\u304b\u3099.data*");
    CHECK(nearest("\uac01.data", {"\u1100\u1161\u11a8.data"}) == "\u1100\u1161\u11a8.data*");
    CHECK(nearest("CAF\u00e9.data", {"caf\u00e9.data"}) == "caf\u00e9.data");
    // Bytes that are not UTF-8, and a mark without a letter.
    CHECK(nearest("caf\xe9.data", {"caf\xff.data", "\u0301"}) == "caf\xff.data");
}

TEST_CASE("nearest_name: the work is bounded") {
    NearestName names("weights.bin", "");
    std::size_t compared = 0;
    while (compared < 1'000'000 && names.compare(std::to_string(compared))) ++compared;
    CHECK(compared == 10'000);
    const std::string name(255, 'n');
    NearestName work(name + "m", "");
    for (compared = 0; compared < 1'000'000 && work.compare(name); ++compared) continue;
    CHECK(compared < 1'000);
    CHECK(work.found()->name == name);
}

}  // namespace onnxmap::test
