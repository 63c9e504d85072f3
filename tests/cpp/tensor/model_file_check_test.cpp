#include "tensor/model_file_check.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "caught.hpp"
#include "memory_source.hpp"
#include "os/descriptor_pool.hpp"
#include "os/folder.hpp"
#include "os/output_folder.hpp"
#include "plain_os.hpp"
#include "source/source.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;

// A model file that is open, and its way by the folder.
struct Loaded {
    void check(const source::Source& of) const {
        tensor::check_not_replaced(of, *locator, path, {&models, 1});
    }
    [[nodiscard]] std::string code() const {
        return code_of([&] {
            check(*source);
            return 0;
        });
    }
    void put_another() const {
        folder.write("new", "another");
        fs::rename(folder / "new", path);
    }

    TemporaryFolder folder;
    std::string path = folder.write("models/m", "model");
    std::shared_ptr<const os::Folder> models = os::Folder::open_shared(folder / "models");
    std::shared_ptr<const os::FileLocator> locator = os::folder_locator(models, "m");
    std::shared_ptr<const source::Source> source =
        source::open_source(os::File::open(path), source::IoMode::mmap, os::path_locator(path));
};

}  // namespace

TEST_CASE("model_file_check: another file under its name is an error") {
    const Loaded model;
    CHECK(model.code() == "accepted");
    model.put_another();
    CHECK(model.code() == "file.changed");
    const auto error = error_of([&] {
        model.check(*model.source);
        return 0;
    });
    REQUIRE(error);
    CHECK(error->file == model.path);
    CHECK(std::string(error->what()).find("load it again") != std::string::npos);
}

TEST_CASE("model_file_check: a file that was moved or deleted is no error") {
    const Loaded model;
    fs::rename(model.path, model.folder / "models/other");
    CHECK(model.code() == "accepted");
    fs::remove(model.folder / "models/other");
    CHECK(model.code() == "accepted");
    os::close_held();
    CHECK(model.code() == "accepted");
}

TEST_CASE("model_file_check: another folder under the folder's name is not asked") {
    const Loaded model;
    fs::rename(model.folder / "models", model.folder / "moved");
    model.folder.write("models/m", "another");
    CHECK(model.code() == "accepted");
    os::close_held();  // the folder cannot be opened again
    CHECK(model.code() == "accepted");
}

TEST_CASE("model_file_check: a file that a save has moved aside is an error") {
    ONNXMAP_NEEDS_LINUX("which reports the name of an open file");
    const Loaded model;
    const std::string aside = model.path + ".0123abcd" + std::string(os::kAsideEnd);
    fs::rename(model.path, aside);
    CHECK(model.code() == "file.changed");
    fs::remove(aside);  // the next save may have moved the new model aside by now
    CHECK(model.code() == "file.changed");
}

TEST_CASE("model_file_check: a save that moves another file of the name aside is an error") {
    const Loaded model;
    fs::remove(model.path);
    CHECK(model.code() == "accepted");
    for (const char* other : {"other.0123abcd", "m.0123abc", "m0123abcd"})
        model.folder.write("models/" + std::string(other) + std::string(os::kAsideEnd), "");
    CHECK(model.code() == "accepted");
    model.folder.write("models/m.0123abcd" + std::string(os::kAsideEnd), "");
    CHECK(model.code() == "file.changed");
}

TEST_CASE("model_file_check: a file that was written to is an error") {
    const Loaded model;
    model.folder.write("models/m", "longer than it was");
    CHECK(model.code() == "file.changed");
}

TEST_CASE("model_file_check: a model that is in no file has no name") {
    const Loaded model;
    model.put_another();
    const MemorySource buffer(as_bytes("model"));
    CHECK(code_of([&] {
              model.check(buffer);
              return 0;
          }) == "accepted");
}

}  // namespace onnxmap::test
