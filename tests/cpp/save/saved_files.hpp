// Output files made of text, and what a folder holds afterwards.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "save/save_files.hpp"

namespace onnxmap::test {

[[nodiscard]] inline save::FileContent parts_of(std::string_view text) {
    save::FileContent parts;
    parts.copy(text);
    return parts;
}

[[nodiscard]] inline save::OutputFile model_file(std::string path, std::string_view text) {
    return {std::move(path), parts_of(text), save::OutputFile::Kind::model};
}
[[nodiscard]] inline save::OutputFile data_file(std::string path, std::string_view text) {
    return {std::move(path), parts_of(text), save::OutputFile::Kind::data};
}

/// Moved into a list: an OutputFile cannot be copied.
template <class... Files>
[[nodiscard]] std::vector<save::OutputFile> list_of(Files... files) {
    std::vector<save::OutputFile> list;
    (list.push_back(std::move(files)), ...);
    return list;
}

template <class... Files>
save::SaveResult saved(const save::SaveOptions& options, Files... files) {
    return save::save_files(list_of(std::move(files)...), options);
}

[[nodiscard]] inline std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

using Texts = std::map<std::string, std::string>;

/// One line, for the messages of doctest.
[[nodiscard]] inline std::string line_of(const Texts& texts) {
    std::string line;
    for (const auto& [name, text] : texts) line += name + "=" + text + " ";
    return line;
}

/// The names in a folder and the texts of the files. A link has the text "-> TARGET".
[[nodiscard]] inline Texts texts_in(const std::filesystem::path& folder) {
    Texts texts;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (entry.is_symlink()) {
            texts[name] = "-> " + std::filesystem::read_symlink(entry.path()).string();
        } else {
            texts[name] = entry.is_regular_file() ? text_of(entry.path().string()) : "(other)";
        }
    }
    return texts;
}

}  // namespace onnxmap::test
