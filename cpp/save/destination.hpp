// The place of an output file: a name in an open folder. Links are judged here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/output_folder.hpp"

namespace onnxmap::save {

struct Destination {
    std::shared_ptr<const os::OutputFolder> folder;
    std::string folder_path;  // with a slash at its end; empty for the working folder
    std::string name;
    std::string path;                   // as the caller wrote it, for error texts
    std::optional<os::NameStatus> old;  // what has the name now

    /// The file whose permissions the new one gets.
    [[nodiscard]] std::optional<os::NameStatus> replaced() const noexcept {
        return old && old->kind == os::FileKind::regular ? old : std::nullopt;
    }
};

enum class AtOutputLink { refuse, replace, follow };

/// Finds the places of the files of one save.
class Destinations {
  public:
    /// `overwrite` and `replace_read_only` as in SaveOptions.
    Destinations(bool overwrite, bool replace_read_only) noexcept
        : overwrite_(overwrite), replace_read_only_(replace_read_only) {}

    /// Throws what save_files() throws before anything is written.
    [[nodiscard]] Destination find(const std::string& path, AtOutputLink at_link);

  private:
    struct OpenFolder {
        std::string path;
        std::shared_ptr<const os::OutputFolder> folder;
    };

    [[nodiscard]] Destination look(const std::string& place, const std::string& path);
    void judge(const Destination& found, AtOutputLink at_link) const;
    [[nodiscard]] std::shared_ptr<const os::OutputFolder> open_folder(
        const std::string& folder_path, const std::string& path);

    bool overwrite_;
    bool replace_read_only_;
    std::vector<OpenFolder> folders_;
    std::vector<Destination> known_;
};

}  // namespace onnxmap::save
