// Which data files a model uses, and how much of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "model/document.hpp"
#include "model/tensor.hpp"

namespace onnxmap::save {

/// The bytes of a data file that exists, and how many of them the new models use.
struct UsedBytes {
    std::uint64_t nbytes = 0;
    std::uint64_t used = 0;
    std::shared_ptr<const source::Source> source = nullptr;  // the file
    bool is_viewed = false;  // the file is a model, of which a model that uses it is a view
};

/// Those of the files whose other bytes nobody needs: not models, which have structure, and no
/// files that have lost their name to another file.
[[nodiscard]] std::map<std::string, UsedBytes> with_unused_bytes(
    std::map<std::string, UsedBytes> files);

/// A location without "." and "..", so that "./w" and "a/../w" are "w".
[[nodiscard]] std::string plain_location(std::string_view location);

/// The path under which each data file is known, although a model may spell its location in several
/// ways. Links have paths of their own.
class FilePaths {
  public:
    /// The path by which the file was first met.
    [[nodiscard]] const std::string& of(const model::ExternalFile& file);

  private:
    // A folder in the path may be a link: two spellings are one only if they lead to the same file.
    std::map<std::pair<const source::Source*, std::string>, std::string> paths_;
};

/// The external files of a model, by path, as with_unused_bytes() gives them. Throws Error `ext.*`,
/// `tensor.*`, and FileError.
[[nodiscard]] std::map<std::string, UsedBytes> external_use(const model::Document& document);

/// Opens the data files of a model as it was loaded, without its edits, so that it can read them
/// even if they or the model are replaced. Leaves out files that cannot be opened. Throws
/// FileError.
void open_loaded_files(const model::Document& document);

/// The locations that the external tensors of a model name, as the model has them. Opens no file.
[[nodiscard]] std::set<std::string> external_locations(const model::Document& document);

}  // namespace onnxmap::save
