#include "save/data_names.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <set>
#include <string>

#include "caught.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

// Every character can be seen.
save::Callbacks sees_all() {
    save::Callbacks made;
    made.is_printable = [](std::string_view) { return true; };
    return made;
}

}  // namespace

TEST_CASE("data_names: locations that may be written") {
    const auto code = [](const std::string& location) {
        return code_of([&] { save::check_data_location("/m", location); });
    };
    for (const char* location : {"w", "sub/w.data", "a/../w"}) CHECK(code(location) == "accepted");
    for (const char* location : {"../w", "/w", "", "sub/"}) {
        CHECK(code(location) == "ext.unsafe_path");
    }
    CHECK(errno_of([&] { save::check_data_location("/m", std::string(256, 'w')); }) ==
          ENAMETOOLONG);
    CHECK(code_of([] { save::check_text("\xc3\xa9.data"); }) == "accepted");
    for (const char* name : {"a\\b", "\xff.data", "\xed\xa0\x80"}) {
        CHECK(code_of([&] { save::check_text(name); }) == "save.data_name");
    }
}

TEST_CASE("data_names: a name stays only if it is plainly that of a data file") {
    const TemporaryFolder folder;
    folder.write("sub/file", "");
    const os::OutputFolder open(folder.path().string(), "");
    const save::Callbacks all = sees_all();
    for (const char* plain :
         {"w.data", "W.DATA", "layers.0.weight", "m.onnx_data_12", "sub/w.bin", "sub/file/w.bin"}) {
        CAPTURE(plain);
        CHECK(save::is_plain_location(open, plain, all));
    }
    for (const char* other :
         {"numpy.py", "Makefile", ".data", "..data", ".ssh/w.data", "sub/.w.data", "w..data",
          "w.data\n", "no/w.data", "w.onnx_data_", "w.onnx_data_x", "w.\xff.data"}) {
        CAPTURE(other);
        CHECK(!save::is_plain_location(open, other, all));
    }
    save::Callbacks none;
    none.is_printable = [](std::string_view) { return false; };
    CHECK(!save::is_plain_location(open, "w.data", none));
}

TEST_CASE("data_names: names for those that cannot keep theirs") {
    const save::Callbacks all = sees_all();
    const auto name_after = [&](const std::string& name, std::size_t i) {
        return save::data_name_after("n.onnx", name, i, all);
    };
    CHECK(name_after(".bashrc", 0) == "n.bashrc.data");
    CHECK(name_after("w.bin", 0) == "n.w.bin");
    CHECK(name_after("view.ONNX", 0) == "n.onnx.data");
    CHECK(name_after("w..bin", 0) == "n.onnx.data");
    CHECK(name_after("w", 1) == "n.onnx.data");
    CHECK(name_after("w", 2) == "n.onnx.2.data");
}

TEST_CASE("data_names: spellings of one location get one new one, and no name is given twice") {
    const TemporaryFolder folder;
    const os::OutputFolder open(folder.path().string(), "");
    const save::Callbacks all = sees_all();
    const std::set<std::string> locations = {"a.py", "./a.py", "x/a.py", "n.a.py.data", "w.data"};
    const auto copied = save::locations_beside(
        "n.onnx", open, locations, [](const std::string&) { return true; }, all);
    CHECK(copied.size() == 3);
    CHECK(copied.at("a.py") == "n.onnx.data");
    CHECK(copied.at("./a.py") == "n.onnx.data");
    CHECK(copied.at("x/a.py") == "n.onnx.2.data");
    const auto is_free = [](const std::string& name) {
        return name != "w.data" && name != "n.w.data";
    };
    const auto taken = save::locations_beside("n.onnx", open, {"w.data"}, is_free, all);
    CHECK(taken.at("w.data") == "n.onnx.data");
}

}  // namespace onnxmap::test
