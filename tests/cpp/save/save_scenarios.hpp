// Saves over folders of all kinds, to interrupt at any call. Old files contain "1", and new ones
// "2". All models of a save refer to all of its data files.
#pragma once

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "save/save_files.hpp"
#include "save/saved_files.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"

namespace onnxmap::test {

struct SaveScenario {
    std::string title;
    std::vector<std::string> old_files;
    std::vector<std::string> models;
    std::vector<std::string> data;
    bool overwrite = true;

    [[nodiscard]] bool was_there(const std::string& name) const {
        return std::find(old_files.begin(), old_files.end(), name) != old_files.end();
    }

    /// Whether the old models referred to these data.
    [[nodiscard]] bool replaces_data() const {
        return std::any_of(data.begin(), data.end(),
                           [&](const std::string& name) { return was_there(name); });
    }

    [[nodiscard]] Texts old_texts() const {
        Texts texts;
        for (const std::string& name : old_files) texts[name] = "1";
        return texts;
    }
    [[nodiscard]] Texts new_texts() const {
        Texts texts = old_texts();
        for (const std::string& name : models) texts[name] = "2";
        for (const std::string& name : data) texts[name] = "2";
        return texts;
    }

    void prepare(const TemporaryFolder& folder) const {
        for (const std::string& name : old_files) folder.write(name, "1");
    }

    [[nodiscard]] save::SaveResult save_in(const TemporaryFolder& folder) const {
        std::vector<save::OutputFile> files;
        for (const std::string& name : models) files.push_back(model_file(folder / name, "2"));
        for (const std::string& name : data) files.push_back(data_file(folder / name, "2"));
        save::SaveOptions options;
        options.overwrite = overwrite;
        return save::save_files(files, options);
    }
};

[[nodiscard]] inline std::vector<SaveScenario> save_scenarios() {
    return {
        {"a new model", {}, {"m"}, {}},
        {"an old model", {"m"}, {"m"}, {}},
        {"a new pair", {}, {"m"}, {"w"}},
        {"an old model and a new data file", {"m", "other"}, {"m"}, {"w"}},
        {"an old pair", {"m", "w"}, {"m"}, {"w"}},
        {"a data file that a new one joins", {"m", "w"}, {"m"}, {"w", "v"}},
        {"a new model on an old data file", {"w"}, {"m"}, {"w"}},
        {"two old models", {"m", "n"}, {"m", "n"}, {}},
        {"an old and a new model on new data", {"m"}, {"m", "n"}, {"w"}},
        {"two old models on old data", {"m", "n", "w"}, {"m", "n"}, {"w"}},
        {"a new pair that must not replace", {}, {"m"}, {"w"}, false},
    };
}

/// File systems and kernels: with everything, without renameat2, and without hard links, too.
[[nodiscard]] inline std::vector<std::map<Write, int>> lesser_systems() {
    return {{},
            {{Write::rename_to_new, EINVAL}},
            {{Write::rename_to_new, ENOSYS}, {Write::link, EPERM}}};
}

/// The texts of files whose names end so.
[[nodiscard]] inline Texts with_ending(const Texts& texts, std::string_view ending) {
    Texts found;
    for (const auto& [name, text] : texts) {
        if (name.ends_with(ending)) found[name] = text;
    }
    return found;
}

}  // namespace onnxmap::test
