#include "save/save_plan.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "external_folder.hpp"
#include "loaded_model.hpp"
#include "model/load.hpp"
#include "model/message_walk.hpp"
#include "model/tensor.hpp"
#include "sample_models.hpp"
#include "save/write_content.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using External = save::PlanOptions::External;
using Places = std::map<std::string, std::string>;

constexpr std::uint64_t kLarge = 2000;
constexpr std::uint64_t kStart = 16;  // of the external values in their file

// A model with values of each kind, in a folder of its own.
struct PlannedSave {
    explicit PlannedSave(const Bytes& more = {}) {
        folder.write("w.data", Bytes(kStart + kLarge, 1));
        const Bytes in_attribute = blob(5, raw_tensor("attribute", Bytes(kLarge, 2)));
        const Bytes typed = join(packed(1, {kLarge}), scalar(2, 2), blob(8, "typed"),
                                 packed(5, std::vector<std::uint64_t>(kLarge, 3)));
        const Bytes graph = join(
            blob(1, node("Constant", {attribute("value", 4, in_attribute)})),
            blob(5, raw_tensor("large", Bytes(kLarge, 4))), blob(5, raw_tensor("small", {5})),
            blob(5, typed), blob(5, external_tensor("outside", "w.data", kStart, kLarge)), more);
        model::LoadOptions load;
        load.root = &onnx::message<"ModelProto">;
        load.folder = folder.path().string();
        load.external = external_folder(folder.path().string());
        path = folder.write("m.onnx", ByteView(model(graph)));
        planned.document = model::load_file(path, source::IoMode::mmap, load);
    }

    /// Where the values of each tensor are after a save: "inline", or LOCATION@OFFSET.
    Places places(External external, bool attributes = false) {
        save::PlanOptions options;
        options.external = external;
        options.location = "new.data";
        options.attributes = attributes;
        plan = std::make_unique<save::SavePlan>(options);
        plan->add(planned);
        files.clear();
        for (const auto& file : plan->data_files()) files.push_back(file.location);
        const std::vector<save::FileContent> written = plan->models({});
        Bytes bytes;
        save::SinkFunction sink([&](ByteView part) { append(bytes, part); });
        static_cast<void>(save::write_content(written.at(0), sink));
        const auto saved = LoadedModel::whole(bytes);
        Places found;
        model::for_each_tensor(*saved, [&](const std::string&, const onnx::Message& message) {
            const model::Tensor tensor(*saved, message);
            const auto entry = tensor.external();
            found[std::string(tensor.header().name)] =
                entry ? std::string(entry->location) + "@" + std::to_string(entry->offset)
                      : "inline";
        });
        return found;
    }

    /// The places if all values stay where they are, with exceptions.
    static Places all_but(const Places& moved) {
        Places places = moved;
        for (const char* name : {"attribute", "large", "small", "typed"}) {
            places.try_emplace(name, "inline");
        }
        places.try_emplace("outside", "w.data@16");
        return places;
    }

    TemporaryFolder folder;
    std::string path;
    save::PlannedModel planned;
    std::unique_ptr<save::SavePlan> plan;
    std::vector<std::string> files;
};

using FileNames = std::vector<std::string>;

}  // namespace

TEST_CASE("save_plan: keep leaves values where they are") {
    PlannedSave save;
    CHECK(save.places(External::keep, true) == PlannedSave::all_but({}));
    CHECK(save.files.empty());
    CHECK(save.plan->referenced() == kLarge);
    const auto& loaded = save.plan->loaded_files();
    REQUIRE(loaded.size() == 1);
    CHECK(loaded.begin()->first == save.folder / "w.data");
    CHECK(loaded.begin()->second.source->size() == kStart + kLarge);
    CHECK(loaded.begin()->second.used.nbytes() == kLarge);
}

TEST_CASE("save_plan: keep copies a data file into another folder, or where it is told") {
    PlannedSave save;
    save.planned.copies = {{"w.data", "v.data"}};
    CHECK(save.places(External::keep) == PlannedSave::all_but({{"outside", "v.data@0"}}));
    CHECK(save.files == FileNames{"v.data"});
    CHECK(save.plan->loaded_files().empty());
    save.planned.copies.clear();
    save.planned.is_same_folder = false;
    CHECK(save.places(External::keep) == PlannedSave::all_but({{"outside", "w.data@0"}}));
    CHECK(save.files == FileNames{"w.data"});
    CHECK(save.plan->referenced() == 0);
}

TEST_CASE("save_plan: keep moves values to the locations that a message names") {
    PlannedSave save;
    // In the order of the walk: the node's, then the initializers.
    save.planned.locations = {{0, "a.data"}, {2, "s.data"}, {3, "t.data"}};
    const Places moved = {{"attribute", "a.data@0"}, {"small", "s.data@0"}, {"typed", "t.data@0"}};
    CHECK(save.places(External::keep) == PlannedSave::all_but(moved));
    CHECK(save.files == FileNames{"a.data", "s.data", "t.data"});
}

TEST_CASE("save_plan: inlined brings external values into the model") {
    PlannedSave save;
    for (const bool is_same_folder : {true, false}) {
        save.planned.is_same_folder = is_same_folder;
        CHECK(save.places(External::inlined, true) ==
              PlannedSave::all_but({{"outside", "inline"}}));
        CHECK(save.files.empty());
        CHECK(save.plan->loaded_files().size() == (is_same_folder ? 1U : 0U));
    }
}

TEST_CASE("save_plan: a file takes large initializers, and attributes if it may") {
    PlannedSave save;
    const Places moved = {
        {"large", "new.data@0"}, {"typed", "new.data@4096"}, {"outside", "new.data@8192"}};
    CHECK(save.places(External::file) == PlannedSave::all_but(moved));
    CHECK(save.files == FileNames{"new.data"});
    const Places all = {{"attribute", "new.data@0"},
                        {"large", "new.data@4096"},
                        {"typed", "new.data@8192"},
                        {"outside", "new.data@12288"}};
    CHECK(save.places(External::file, true) == PlannedSave::all_but(all));
}

TEST_CASE("save_plan: a view refers to the bytes of the loaded model") {
    PlannedSave save;
    save.planned.view_location = "m.onnx";
    const Places found = save.places(External::view);
    const std::string& large = found.at("large");
    REQUIRE(large.starts_with("m.onnx@"));
    CHECK(found == PlannedSave::all_but({{"large", large}}));  // typed values have no bytes there
    CHECK(save.plan->referenced() == 2 * kLarge);
    CHECK(save.places(External::view, true).at("attribute").starts_with("m.onnx@"));
    save.planned.is_same_folder = false;
    CHECK(save.places(External::view).at("outside") == "inline");
}

TEST_CASE("save_plan: refer names each file by its path, and a new file for other values") {
    PlannedSave save;
    const Places found = save.places(External::refer);
    const std::string real = std::filesystem::canonical(save.path).string().substr(1);
    const std::string& large = found.at("large");
    CHECK(large.starts_with(real + "@"));
    const std::string outside = real.substr(0, real.rfind('/')) + "/w.data@16";
    CHECK(found ==
          PlannedSave::all_but({{"large", large}, {"outside", outside}, {"typed", "new.data@0"}}));
    CHECK(save.files == FileNames{"new.data"});
    CHECK(save.plan->referenced() == 2 * kLarge);
    save.plan->check_referred_files();
    std::filesystem::remove(save.path);
    CHECK(code_of([&] { save.plan->check_referred_files(); }) == "file.changed");
}

TEST_CASE("save_plan: external values in segments only stay") {
    const Bytes segment = join(external_tensor("s", "w.data", 0, 2), blob(3, join(scalar(2, 2))));
    PlannedSave save(blob(5, segment));
    CHECK(save.places(External::keep).at("s") == "w.data@0");
    for (const External external : {External::inlined, External::file, External::refer}) {
        CHECK(code_of([&] { save.places(external); }) == "save.segments");
    }
}

TEST_CASE("save_plan: values that must be there") {
    using enum save::PlannedModel::MustExist;
    PlannedSave save(blob(5, external_tensor("gone", "gone.data", 0, 2)));
    for (const auto must_exist : {none, placed}) {
        save.planned.must_exist = must_exist;
        CHECK(save.places(External::keep).at("gone") == "gone.data@0");
    }
    save.planned.must_exist = all;
    CHECK(code_of([&] { save.places(External::keep); }) == "ext.missing");
    save.planned.must_exist = none;
    CHECK(code_of([&] { save.places(External::inlined); }) == "ext.missing");
}

}  // namespace onnxmap::test
