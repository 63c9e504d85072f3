// Which data files a model uses, and how much of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "model/document.hpp"

namespace onnxmap::save {

/// The bytes of a data file that exists, and how many of them the new models use.
struct UsedBytes {
    std::uint64_t nbytes = 0;
    std::uint64_t used = 0;
};

/// The external files of a model that are in use, by path. Throws Error `ext.*`, `tensor.*`, and
/// FileError.
[[nodiscard]] std::map<std::string, UsedBytes> external_use(const model::Document& document);

/// Opens the data files of a model as it was loaded, without its edits, so that it can read them
/// even if they or the model are replaced. Leaves out files that cannot be opened. Throws
/// FileError.
void open_loaded_files(const model::Document& document);

/// The locations that the external tensors of a model name, as the model has them. Opens no file.
[[nodiscard]] std::set<std::string> external_locations(const model::Document& document);

}  // namespace onnxmap::save
