// External data: the `external_data` entries of a tensor, and the files that they name.
// Source: onnx.proto, TensorProto.external_data; docs/ExternalData.md of ONNX.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "contain/contained_open.hpp"
#include "onnx/message.hpp"
#include "os/fork_safe_mutex.hpp"
#include "source/remote_file.hpp"
#include "source/source.hpp"

namespace onnxmap::tensor {

struct ExternalEntry {
    std::string_view location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;  // absent: what shape and type need
    std::optional<std::string_view> checksum;

    [[nodiscard]] bool operator==(const ExternalEntry&) const = default;
};

/// Reads the entries of `tensor`, a TensorProto. `name` is its name for error texts. Throws Error
/// `ext.location`, `ext.offset`, `ext.length`, `ext.duplicate_key` or `limit.external_entries`.
[[nodiscard]] ExternalEntry read_external_entry(const onnx::Message& tensor, std::string_view name,
                                                std::uint64_t max_entries);

/// The folders that may hold the external data of a model, and how the files are opened.
struct ExternalFolder {
    std::string root;  // absolute path of the folder that locations are relative
                       // to; empty: none
    std::shared_ptr<const os::Folder>
        model_folder;  // the folder that really holds the model, if it differs
    contain::OpenPolicy policy;
    source::IoMode mode = source::IoMode::automatic;
    // If set, this is the folder, and `root` is its URL. A remote folder has no links that could be
    // checked.
    std::shared_ptr<const source::RemoteFolder> remote = nullptr;
    // If set: the file of the model, which must not have been replaced when one of the external
    // files is opened for the first time.
    std::shared_ptr<const source::Source> model = nullptr;
    std::string model_path = {};  // the absolute path of the model, if it is a local file
    // The files that are open already, by location. They need no folder.
    std::map<std::string, std::shared_ptr<const source::Source>, std::less<>> opened = {};
};

/// The external files of one model. Each is opened and mapped once, on first use, and closed when
/// the model and all its arrays are gone. Safe to share between threads.
class ExternalFiles {
  public:
    /// Opens the folder now: a folder that gets its name later is never used. Throws FileError if
    /// the process has no descriptor left.
    explicit ExternalFiles(ExternalFolder folder);

    /// Opens a file. Throws Error `ext.*`; `file.changed` if another folder has the folder's name
    /// now, or if the model was replaced before this first use of the file; and FileError if the
    /// process has no descriptor left.
    [[nodiscard]] std::shared_ptr<const source::Source> open(std::string_view location,
                                                             std::string_view tensor) const;

    /// The path of a location, after a check of its text; nothing is opened. Empty if there is no
    /// root. Throws Error `ext.location` or `ext.unsafe_path`.
    [[nodiscard]] std::string path_of(std::string_view location, std::string_view tensor) const;

    /// The folders that may hold the files: the folder of the locations, and the folder that really
    /// holds the model if it is a different one.
    [[nodiscard]] std::vector<std::shared_ptr<const os::Folder>> folders() const;

    [[nodiscard]] const std::string& root() const noexcept { return folder_.root; }
    [[nodiscard]] const ExternalFolder& folder() const noexcept { return folder_; }

  private:
    [[nodiscard]] std::shared_ptr<const source::Source> open_file(std::string_view location,
                                                                  std::string_view tensor) const;
    [[noreturn]] void fail_to_open(const FileError& error, std::string_view location,
                                   std::string_view tensor) const;
    void check(std::string_view location, std::string_view tensor) const;
    [[nodiscard]] std::string relative_to_root(std::string_view location) const;
    [[nodiscard]] bool is_folder(std::string_view location) const;
    [[nodiscard]] std::string near_name(std::string_view location) const;
    [[nodiscard]] std::string find_near_name(std::string_view location) const;
    void find_way_to_model();
    void check_model() const;

    ExternalFolder folder_;
    std::shared_ptr<const contain::ContainedOpen> opener_;  // null if remote or without a folder
    std::optional<FileError> no_folder_;                    // why there is no folder
    std::shared_ptr<const os::FileLocator> way_to_model_;   // null: the model is not checked
    mutable os::ForkSafeMutex mutex_;
    // A map, not a hash table: the file chooses the names.
    mutable std::map<std::string, std::shared_ptr<const source::Source>, std::less<>> files_;
    mutable std::map<std::string, std::string, std::less<>> near_names_;
};

}  // namespace onnxmap::tensor
