#include "save/save_models.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "model/message_walk.hpp"
#include "safetensors/header.hpp"
#include "save/data_names.hpp"
#include "save/destination.hpp"
#include "save/external_use.hpp"
#include "save/name_checks.hpp"
#include "save/paths.hpp"
#include "save/save_files.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

namespace {

using External = PlanOptions::External;

// Tensors start at multiples of at most this.
constexpr std::uint64_t kMostPadding = 1 << 16;

// The bytes of a safetensors file that are its header.
std::uint64_t header_nbytes(const source::Source& file) {
    std::array<std::uint8_t, safetensors::kLengthBytes + 1> head{};
    if (file.size() < head.size()) return 0;
    file.read(0, head);
    if (!safetensors::begins_file(head, file.size())) return 0;
    return safetensors::kLengthBytes + safetensors::json_nbytes(head, file.size());
}

// Without the padding that lets the next tensor, or the end, be at a multiple of a power of two.
std::uint64_t unused_of(const ByteRanges& used, std::uint64_t nbytes) {
    std::uint64_t unused = 0;
    used.for_each_missing(0, nbytes, [&](std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t alignment = std::min(end & -end, kMostPadding);
        if (end - begin >= alignment) unused += end - begin;
    });
    return unused;
}

// The path without `.` and `..`, unless links make that another file.
std::string plain_path(const std::string& path) {
    std::string plain = plain_location(path);
    const auto key = plain == path ? std::nullopt : key_at(plain);
    return key && key == key_at(path) ? plain : path;
}

UnusedBytes unused_of(const LoadedFiles& files) {
    UnusedBytes unused;
    for (const auto& [path, file] : files) {
        if (path.ends_with(kNpz)) continue;  // its members have heads
        ByteRanges used = file.used;
        if (path.ends_with(kSafetensors)) used.add(0, header_nbytes(*file.source));
        unused.emplace_back(plain_path(path), unused_of(used, file.source->size()));
    }
    return unused;
}

// Opens the data files of a model as it was loaded, without its edits, so that it can read them
// even if they or the model are replaced. Leaves out files that cannot be opened. Throws FileError.
void open_loaded_files(const model::Document& document) {
    model::for_each_loaded_tensor(document, [&](const std::string&, const onnx::Message& message) {
        try {
            static_cast<void>(model::Tensor(document, message).open_external());
        } catch (const Error&) {
            // Reading the tensor raises the error.
        }
    });
}

void encode(FileContent& model, const SaveRequest::Encode& encoder) {
    if (!encoder) return;
    FileContent encoded;
    encoded.copy(encoder(model));
    model = std::move(encoded);
}

class ModelSave {
  public:
    explicit ModelSave(const SaveRequest& request)
        : request_(request), plan_(request.plan), names_(find_names()) {}

    [[nodiscard]] SaveReport run() {
        add_models();
        files_ = request_.is_message ? LoadedFiles() : plan_.loaded_files();
        keep_loaded_data();
        const std::vector<std::string> unused_sides = check_names();
        if (!request_.is_message && !request_.copies) names_.check_reachable(files_);
        finish();
        SaveReport report = write(unused_sides);
        if (!is_weights()) {
            report.unused = names_.of_nobody_else(unused_of(with_unused_bytes(files_)));
        }
        for (const std::string& location : data_) {
            report.files.push_back(plain_path(names_.path_of(location)));
            report.unused.emplace_back(report.files.back(), 0);
        }
        report.files.insert(report.files.end(), paths_.begin(), paths_.end());
        if (!request_.is_message) report.referenced = plan_.referenced();
        return report;
    }

  private:
    [[nodiscard]] bool is_weights() const noexcept {
        return request_.plan.external == External::weights;
    }

    // Where the models are written, or the file of weights. Opens their folder.
    [[nodiscard]] NameChecks find_names() {
        const std::string& first = request_.models.front().path;
        // The save itself would name a data file.
        if (!object_at(parent_of(first), os::AtLink::its_target)) throw FileError(ENOENT, first);
        std::vector<DocumentPtr> documents;
        Locations models;
        for (const SavedModel& model : request_.models) {
            const auto old = object_at(model.path, os::AtLink::the_link);
            if (request_.files.overwrite || (old && old->kind == os::FileKind::link)) {
                Destinations judge(request_.files.replace_read_only, false, false);
                static_cast<void>(judge.find(model.path, AtOutputLink::replace));
            }
            paths_.push_back(request_.files.follow_symlinks ? place_of(follow_links(model.path))
                                                            : model.path);
            if (!is_weights()) {
                encoders_.push_back(request_.encoder_of(encoders_.size(), paths_.back()));
            }
            if (parent_of(paths_.back()) != parent_of(paths_.front())) {
                throw std::invalid_argument(
                    "the models must be in one folder, since they share a data file");
            }
            if (!is_weights()) {
                models.push_back(paths_.back().substr(folder_part(paths_.back()).size()));
            }
            if (!request_.is_message) documents.push_back(model.document);
        }
        const std::string folder = parent_of(paths_.front());
        folder_ = std::make_shared<const os::OutputFolder>(folder, paths_.front());
        return {folder_, folder, std::move(models), std::move(documents), request_.callbacks};
    }

    void add_models() {
        const bool is_plain =
            request_.plan.external == External::keep && !request_.copies && !request_.is_message;
        if (request_.plan.external == External::file || is_weights()) {
            check_data(request_.plan.location);
        }
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            const SavedModel& model = request_.models[i];
            const model::Document& document = *model.document;
            const std::string name = is_weights() ? std::string() : names_.models()[i];
            PlannedModel planned{model.document};
            planned.must_exist = model.must_exist;
            planned.is_same_folder =
                request_.copies || request_.is_message || names_.is_root_of(document);
            if (is_plain) planned.side_location = names_.side_location(name);
            if (request_.plan.external == External::view) {
                planned.view_location = names_.viewed_name(document, name);
            }
            if (request_.copies) planned.copies = *request_.copies;
            planned.replaces_copies = request_.files.overwrite;
            if (is_plain && !planned.is_same_folder) {
                planned.new_locations = [this, name](const std::set<std::string>& locations) {
                    return names_.copied_locations(locations, name);
                };
            }
            if (is_plain) planned.locations = names_.new_locations(model.locations, name);
            plan_.add(std::move(planned));
        }
        for (const SavePlan::DataFile& file : plan_.data_files()) {
            check_data(file.location);
            data_.push_back(file.location);
        }
    }

    void check_data(const std::string& location) const {
        check_data_location(parent_of(paths_.front()), location);
        check_text(location);
    }

    // A model that may be replaced, and with it its data files, still reads its old values.
    void keep_loaded_data() {
        for (const SavedModel& model : request_.models) {
            const model::Document& document = *model.document;
            if (request_.is_message || !document.edits().edited()) continue;
            if (!names_.may_lose_data(document)) continue;
            source::guard_reads(document.source(), [&] { open_loaded_files(document); });
        }
    }

    // Refuses names that are in use. Returns the side files that nothing uses any longer.
    [[nodiscard]] std::vector<std::string> check_names() {
        if (!request_.copies) names_.check_replaced(data_, files_, request_.files.overwrite);
        if (!request_.files.overwrite || request_.is_message) return {};
        const External external = request_.plan.external;
        return names_.unused_sides(data_, external == External::keep || external == External::view);
    }

    void finish() {
        std::vector<std::string> checksums;
        if (request_.checksum) {
            for (const SavePlan::DataFile& file : plan_.data_files()) {
                checksums.push_back(request_.checksum(file.parts));
            }
        }
        if (is_weights()) {
            if (data_.size() == 1) {
                paths_.clear();
                return;
            }
            models_.push_back(plan_.index());
            paths_.front() += ".index.json";
            return;
        }
        models_ = plan_.models(checksums);
        for (std::size_t i = 0; i < models_.size(); ++i) encode(models_[i], encoders_[i]);
    }

    [[nodiscard]] SaveReport write(const std::vector<std::string>& unused_sides) {
        std::vector<OutputFile> files;
        std::uint64_t total = 0;
        for (SavePlan::DataFile& data : plan_.data_files()) {
            OutputFile& file = files.emplace_back(names_.path_of(data.location),
                                                  std::move(data.parts), OutputFile::Kind::model);
            // A file of weights alone is replaced at once, as a model is.
            if (is_weights() && models_.empty()) continue;
            file.kind = OutputFile::Kind::data;
            file.location = data.location;
            file.may_replace = data.replaces;
        }
        for (std::size_t i = 0; i < models_.size(); ++i) {
            files.push_back({paths_[i], std::move(models_[i]), OutputFile::Kind::model});
        }
        for (const OutputFile& file : files) total += file.parts.nbytes();
        SaveOptions options = request_.files;
        options.folder = folder_;
        options.known = known_files();
        options.no_longer_used = unused_sides;
        options.check_again = [&] {
            names_.check_again();
            return check_names();
        };
        options.check_written = [&] { plan_.check_loss(); };
        options.look = request_.callbacks.look;
        options.progress = request_.start(total);
        SaveResult result = save_files(files, options);
        for (const KnownFile& made : result.models) {
            if (is_weights()) break;  // an index is not the model
            const auto i = std::ranges::find(paths_, made.path) - paths_.begin();
            request_.models[static_cast<std::size_t>(i)].document->saved().note(place_of(made.path),
                                                                                made.state);
        }
        SaveReport report;
        report.nbytes = result.nbytes;
        report.left_over = std::move(result.left_over);
        report.vanished = plan_.vanished();
        return report;
    }

    // What the documents know of the files at the paths, and the files that they were loaded from.
    [[nodiscard]] std::vector<KnownFile> known_files() const {
        std::vector<KnownFile> known;
        for (const SavedModel& model : request_.models) {
            const model::Document& document = *model.document;
            const bool is_loaded = is_from_file(document);
            const std::string& loaded = document.store().external.folder().model_path;
            const os::FileIdentity identity =
                document.source().identity().value_or(os::FileIdentity());
            if (is_loaded) known.push_back({loaded, identity});
            for (const std::string& path : paths_) {
                const std::string place = place_of(path);
                // The model may have been loaded through a link.
                const bool was_loaded =
                    is_loaded && (place == place_of(loaded) || place == os::real_path_of(loaded));
                if (const auto saved = document.saved().at(place)) {
                    // Whoever saves to a place that was not loaded may replace whatever is there.
                    known.push_back({path, *saved, was_loaded});
                } else if (was_loaded) {
                    known.push_back({path, identity});
                }
            }
        }
        return known;
    }

    const SaveRequest& request_;
    SavePlan plan_;
    std::vector<std::string> paths_;
    std::vector<SaveRequest::Encode> encoders_;
    OpenFolder folder_;
    NameChecks names_;  // after the members that find_names() sets
    Locations data_;
    LoadedFiles files_;  // that were loaded
    std::vector<FileContent> models_;
};

}  // namespace

UnusedBytes unused_bytes(const model::Document& document) {
    return unused_of(external_use(document));
}

SaveReport save_models(const SaveRequest& request) { return ModelSave(request).run(); }

SaveReport write_model(const SaveRequest& request, Sink& sink) {
    const SavedModel& model = request.models.front();
    SavePlan plan(request.plan);
    PlannedModel planned{model.document};
    planned.locations = model.locations;
    plan.add(std::move(planned));
    if (!plan.data_files().empty()) {
        throw std::invalid_argument(
            "values would go to a data file, and a file object has no folder for one; pass a path, "
            "or external_data=False");
    }
    std::vector<FileContent> written = plan.models({});
    plan.check_loss_ahead();
    encode(written.front(), request.encoder_of(0, {}));
    SaveReport report;
    report.nbytes = write_content(written.front(), sink, request.start(written.front().nbytes()));
    report.vanished = plan.vanished();
    if (request.is_message) return report;
    report.referenced = plan.referenced();
    return report;
}

}  // namespace onnxmap::save
