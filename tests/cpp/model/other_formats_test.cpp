#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "model/other_formats.hpp"
#include "onnx/schema.hpp"
#include "placed_bytes.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

using namespace std::string_view_literals;

namespace {

std::string kind_of(std::string_view head) {
    const HeapCopy copy(as_bytes(head));
    return std::string(model::recognize(copy.view()));
}

}  // namespace

TEST_CASE("other_formats: files that users give to an ONNX reader by mistake are named") {
    const std::pair<std::string_view, std::string_view> files[] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a", "Git LFS pointer"},
        {"<!DOCTYPE html><html>", "HTML"},
        {"<!doctype html>", "HTML"},
        {"<html lang=\"en\">", "HTML"},
        {" \r\n\t<HTML>", "HTML"},
        {"<?xml version", "HTML"},
        {"<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">", "OpenVINO"},
        {"<\n  ir_version: 8,\n  opset_import: [\"\" : 17]\n>\ng (float x) => (float y) {",
         "ONNX's own text form"},
        {"PK\x03\x04\x14\0\0\0"sv, "ZIP"},
        {"GGUF\x03\0\0\0"sv, "GGUF"},
        {"\x1c\0\0\0ORTM\0\0"sv, "ORT"},
        {"\x89PNG\r\n\x1a\n", "PNG"},
        {"\x80\x02}q", "pickle"},
        {"\x80\x04\x95", "pickle"},
        {"\x89HDF\r\n", "HDF5"},
        {"\x1f\x8b\x08", "gzip"},
        {"\x40\0\0\0\0\0\0\0{\"__metadata__\":{"sv, "safetensors"},
        {"\x02\0\0\0\0\0\0\0{}"sv, "safetensors"},
        {"\xfd\x37zXZ\0"sv, "xz"},
        {"BZh91AY", "bzip2"},
        {"\x28\xb5\x2f\xfd\x04", "Zstandard"},
        {"\x93NUMPY\x01\0"sv, "NumPy"},
        {"\x1c\0\0\0TFL3\x14"sv, "TensorFlow Lite"},
        {"{\"irVersion\": \"8\"}", "JSON"},
        {"{\n  \"irVersion\"", "JSON"},
        {"[]", "JSON"},
        {"ir_version: 8\nproducer_name", "text format"},
        {"# a model\n\ngraph {\n", "text format"},
        {"opset_import{", "text format"},
    };
    for (const auto& [head, word] : files) {
        CAPTURE(std::string(word));
        CHECK(kind_of(head).find(word) != std::string::npos);
    }
}

TEST_CASE("other_formats: models, and files that are too short to tell, are not named") {
    CHECK(kind_of("").empty());
    CHECK(kind_of("P").empty());
    CHECK(kind_of("GGU").empty());
    CHECK(kind_of("<").empty());
    CHECK(kind_of("   ").empty());
    CHECK(kind_of("< 5").empty());
    CHECK(kind_of("\x1c\0\0\0ORT"sv).empty());
    CHECK(kind_of("\x40\0\0\0\0\0\0\0{"sv).empty());
    CHECK(kind_of("\x40\0\0\0\0\0\0\1{\""sv).empty());
    CHECK(kind_of("{").empty());
    CHECK(kind_of("{ x").empty());
    CHECK(kind_of("[1, 2]").empty());
    CHECK(kind_of("graph").empty());
    CHECK(kind_of("graph of a model: ").empty());
    CHECK(kind_of("# only a comment").empty());
    CHECK(kind_of("\x08\x08:").empty());
    CHECK(kind_of(as_text(tiny_model())).empty());
    CHECK(kind_of(as_text(varied_model())).empty());
}

namespace {

std::string why_not(std::string_view head, const wire::MessageTable& message) {
    const HeapCopy copy(as_bytes(head));
    return model::why_not(copy.view(), message);
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("other_formats: a file that was loaded as something else is named") {
    const auto& model = onnx::message<"ModelProto">;
    const auto& tensor = onnx::message<"TensorProto">;
    const auto& operators = onnx::message<"OperatorSetProto">;
    const auto& node = onnx::message<"NodeProto">;
    const std::string_view of_tensor = "\x08\x03\x10\x01\x4a\x0cxxxx"sv;  // cut in the data
    const std::string_view of_operators = "\x0a\x09ONNXOPSET\x10\x08"sv;
    const std::string of_model(as_text(tiny_model()));
    CHECK(why_not(of_tensor, tensor).empty());
    CHECK(why_not(of_operators, operators).empty());
    CHECK(why_not(of_model, model).empty());
    for (const auto* asked : {&model, &operators, &node}) {
        CHECK(contains(why_not(of_tensor, *asked), "looks like a tensor"));
    }
    for (const auto* asked : {&tensor, &operators, &node}) {
        CHECK(contains(why_not(of_model, *asked), "looks like a model"));
    }
    for (const auto* asked : {&model, &tensor}) {
        CHECK(contains(why_not(of_operators, *asked), "looks like an operator set"));
    }
    CHECK(contains(why_not("some words\n", node), "this is not a NodeProto; it looks like text"));
    CHECK(why_not("\xfe\xff\xff", node) == "this is not a NodeProto");
    CHECK(contains(why_not("GGUF\3", tensor), "this is not a tensor; it looks like a GGUF file"));
    CHECK(why_not("\x08\x03\x4a\x04xxxx", tensor).empty());  // a tensor without a data type
    CHECK(why_not("", model).empty());
    CHECK(why_not("\x08", model).empty());
}

TEST_CASE("other_formats: every prefix of every signature can be looked at safely") {
    const std::string_view heads[] = {"version https://git-lfs", "  <a", "\x1c\0\0\0ORTM"sv,
                                      "\x40\0\0\0\0\0\0\0{\""sv, "{ \"", "# x\n ab:",
                                      "\x1c\0\0\0TFL3"sv};
    for (const std::string_view head : heads) {
        for (std::size_t size = 0; size < head.size(); ++size) {
            CHECK(kind_of(head.substr(0, size)).empty());
        }
        CHECK_FALSE(kind_of(head).empty());
    }
}

}  // namespace onnxmap::test
