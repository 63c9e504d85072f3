// Which data files a model uses, and how much of them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_ranges.hpp"
#include "model/document.hpp"
#include "model/tensor.hpp"

namespace onnxmap::save {

/// A data file that exists, and the bytes of it that the new models use.
struct LoadedFile {
    std::shared_ptr<const source::Source> source = nullptr;
    ByteRanges used = {};
    bool is_viewed = false;  // the file is a model, of which a model that uses it is a view
};

using LoadedFiles = std::map<std::string, LoadedFile>;  // by path

/// Bytes of data files that no tensor uses, by path; each stands once.
using UnusedBytes = std::vector<std::pair<std::string, std::uint64_t>>;

/// Those of the files whose other bytes nobody needs: not models, which have structure, and no
/// files that have lost their name to another file.
[[nodiscard]] LoadedFiles with_unused_bytes(LoadedFiles files);

/// A location without "." and "..", so that "./w" and "a/../w" are "w".
[[nodiscard]] std::string plain_location(std::string_view location);

/// Finds the data files of models, which may spell the location of a file in several ways.
class FileFinder {
  public:
    /// The path by which the file was first met. Links have paths of their own.
    [[nodiscard]] const std::string& path_of(const model::ExternalFile& file);

    /// The data file of a tensor; null if it has none. `viewed`: see viewed_file(), of its model.
    LoadedFiles::value_type* find(const model::Tensor& tensor, const std::string& viewed);

    /// All files that were found.
    [[nodiscard]] const LoadedFiles& files() const noexcept { return files_; }

  private:
    // A folder in the path may be a link: two spellings are one only if they lead to the same file.
    std::map<std::pair<const source::Source*, std::string>, std::string> paths_;
    LoadedFiles files_;
};

/// The external files of a model, by path, as with_unused_bytes() gives them. Throws Error `ext.*`,
/// `tensor.*`, and FileError.
[[nodiscard]] LoadedFiles external_use(const model::Document& document);

/// The locations that the external tensors of a model name, as the model has them. Opens no file.
[[nodiscard]] std::set<std::string> external_locations(const model::Document& document);

}  // namespace onnxmap::save
