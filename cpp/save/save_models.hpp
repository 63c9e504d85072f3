// Saves models with their data files: decides what is written, checks that nothing is lost, and
// writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "save/callbacks.hpp"
#include "save/file_content.hpp"
#include "save/paths.hpp"
#include "save/save_files.hpp"
#include "save/save_plan.hpp"
#include "save/write_content.hpp"

namespace onnxmap::save {

struct SavedModel {
    std::shared_ptr<const model::Document> document;
    std::string path;  // absolute; empty for a Sink
    // See PlannedModel.
    std::map<std::uint64_t, std::string> locations = {};
    PlannedModel::MustExist must_exist = PlannedModel::MustExist::placed;
};

struct SaveRequest {
    /// Returns the bytes of a model in another form.
    using Encode = std::function<std::string(const FileContent&)>;

    std::vector<SavedModel> models;  // of one folder
    PlanOptions plan;
    /// The new locations of data files that are copied beside the models, by location; all others
    /// stay. Which other models use a file that is replaced is then known.
    std::optional<NewLocations> copies;
    bool is_message = false;  // one message, which may be no model
    SaveOptions files;        // the save itself sets what is not an option of the user

    Callbacks callbacks;
    /// How the i-th model is written to a path, which a link may have led to; null: in binary form.
    std::function<Encode(std::size_t i, const std::string& path)> encoder_of;
    /// The SHA-1 of a data file in hexadecimal; null: none is noted.
    std::function<std::string(const FileContent&)> checksum;
    /// Called once, before anything is written.
    std::function<Progress(std::uint64_t total)> start;
};

struct SaveReport {
    std::vector<std::string> files;  // the data files, then the models
    ByteCounts nbytes;
    std::uint64_t referenced = 0;                   // bytes of files that stay
    UnusedBytes unused;                             // of files that stay, then of the new ones
    std::vector<std::string> left_over;             // see SaveResult
    std::map<std::string, std::uint64_t> vanished;  // see SavePlan
};

/// Bytes of the external files of a model that no tensor uses, by path. Throws what external_use()
/// throws.
[[nodiscard]] UnusedBytes unused_bytes(const model::Document& document);

/// Writes all models. Throws what SavePlan, NameChecks and save_files() throw, and
/// std::invalid_argument if the models are in several folders.
[[nodiscard]] SaveReport save_models(const SaveRequest& request);

/// Writes the only model to a sink. Throws std::invalid_argument if values would go to a data file.
[[nodiscard]] SaveReport write_model(const SaveRequest& request, Sink& sink);

}  // namespace onnxmap::save
