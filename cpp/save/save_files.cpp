#include "save/save_files.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "os/new_file.hpp"
#include "save/destination.hpp"
#include "save/name_changes.hpp"

namespace onnxmap::save {

namespace {

using Kind = OutputFile::Kind;

class FileSink final : public Sink {
  public:
    explicit FileSink(os::NewFile& file) noexcept : file_(file) {}

    void write(ByteView bytes) override { file_.write(bytes); }
    [[nodiscard]] std::uint64_t copy(const os::File& file, std::uint64_t offset,
                                     std::uint64_t nbytes) override {
        return file_.copy(file, offset, nbytes);
    }
    [[nodiscard]] bool skip(std::uint64_t nbytes) override { return file_.skip(nbytes); }

  private:
    os::NewFile& file_;
};

// An output file, its place, and the temporary file once it is complete.
struct Output {
    const OutputFile* file;
    Destination place;
    std::unique_ptr<os::NewFile> made;

    [[nodiscard]] bool is(Kind kind) const noexcept { return file->kind == kind; }
};

class Saving {
  public:
    Saving(std::span<const OutputFile> files, const SaveOptions& options) : options_(options) {
        Destinations destinations(options.overwrite, options.replace_read_only);
        find(files, Kind::data, AtOutputLink::refuse, destinations);
        find(files, Kind::model,
             options.follow_symlinks ? AtOutputLink::follow : AtOutputLink::replace, destinations);
        for (const std::string& path : options.no_longer_used) find_unused(path);
    }

    void write_all() {
        for (Output& output : outputs_) write(output);
    }

    void change_names() {
        try {
            move_old_files();
            put(Kind::data);
            if (has(Kind::model)) sync_folders(Kind::data);
            put(Kind::model);
            // There is no way back from a name that was replaced.
            if (replaces_model() && !keeps_old_models()) commit();
            sync_folders(has(Kind::model) ? Kind::model : Kind::data);
        } catch (const std::exception& failure) {
            changes_.undo(failure.what());
            throw;
        }
        commit();
        remove_unused();
    }

    [[nodiscard]] SaveResult take_result() { return std::move(result_); }

  private:
    void find(std::span<const OutputFile> files, Kind kind, AtOutputLink at_link,
              Destinations& destinations) {
        for (const OutputFile& file : files) {
            if (file.kind != kind) continue;
            outputs_.push_back({&file, destinations.find(file.path, at_link), nullptr});
            total_ += file.parts.nbytes();
        }
    }

    void find_unused(const std::string& path) {
        Destination place =
            Destinations(true, options_.replace_read_only).find(path, AtOutputLink::refuse);
        if (!place.replaced()) return;
        const auto identity = place.folder->identity_of(place.name, path);
        if (identity) unused_.emplace_back(std::move(place), *identity);
    }

    // Another process may have made a file of the name meanwhile.
    void remove_unused() {
        for (const auto& [place, identity] : unused_) {
            try {
                const auto now = place.folder->identity_of(place.name, place.path);
                if (now != identity) continue;
                place.folder->remove(place.name, place.path);
            } catch (const FileError&) {
                result_.left_over.push_back(place.path);
            }
        }
    }

    void write(Output& output) {
        const Destination& place = output.place;
        auto file =
            std::make_unique<os::NewFile>(place.folder, place.name, place.path, place.replaced());
        FileSink sink(*file);
        const Parts& parts = output.file->parts;
        Progress progress;
        if (options_.progress) {
            progress = [&](std::uint64_t done, std::uint64_t) {
                options_.progress(done_ + done, total_);
            };
        }
        result_.nbytes += write_parts(parts, sink, progress);
        done_ += parts.nbytes();
        file->finish(options_.sync);
        output.made = std::move(file);
    }

    // Old models must not read new data, and several models change together or not at all. A disk
    // may lose any of the names that have changed since the last sync.
    void move_old_files() {
        const bool mixes = replaces_data();
        if (!mixes && !keeps_old_models()) return;
        for (const Output& output : outputs_) {
            if (!output.is(Kind::model) || !output.place.old) continue;
            mixes ? changes_.move_aside(output.place) : changes_.keep_aside(output.place);
        }
        if (!mixes) return;
        sync_folders(Kind::model);
        for (const Output& output : outputs_) {
            if (output.is(Kind::data) && output.place.old) changes_.move_aside(output.place);
        }
        sync_folders(Kind::data);
    }

    void put(Kind kind) {
        for (const Output& output : outputs_) {
            if (!output.is(kind)) continue;
            changes_.put(output.place, *output.made, options_.overwrite && kind == Kind::model);
        }
    }

    void sync_folders(Kind kind) const {
        if (!options_.sync) return;
        std::vector<const os::OutputFolder*> synced;
        for (const Output& output : outputs_) {
            const os::OutputFolder* const folder = output.place.folder.get();
            if (!output.is(kind)) continue;
            if (std::find(synced.begin(), synced.end(), folder) != synced.end()) continue;
            folder->sync(output.place.path);
            synced.push_back(folder);
        }
    }

    void commit() {
        for (std::string& path : changes_.commit()) result_.left_over.push_back(std::move(path));
    }

    [[nodiscard]] bool has(Kind kind) const {
        return std::any_of(outputs_.begin(), outputs_.end(),
                           [&](const Output& output) { return output.is(kind); });
    }
    [[nodiscard]] bool replaces_data() const {
        return std::any_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
            return output.is(Kind::data) && output.place.old;
        });
    }
    [[nodiscard]] bool replaces_model() const {
        return std::any_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
            return output.is(Kind::model) && output.place.old;
        });
    }
    // Whether each old model keeps a name until the end.
    [[nodiscard]] bool keeps_old_models() const {
        const auto models = std::count_if(outputs_.begin(), outputs_.end(), [](const auto& output) {
            return output.is(Kind::model);
        });
        return models > 1 || replaces_data();
    }

    const SaveOptions& options_;
    std::uint64_t total_ = 0;
    std::uint64_t done_ = 0;
    std::vector<Output> outputs_;  // the data files first
    std::vector<std::pair<Destination, os::FileIdentity>> unused_;
    NameChanges changes_;
    SaveResult result_;
};

}  // namespace

SaveResult save_files(std::span<const OutputFile> files, const SaveOptions& options) {
    Saving saving(files, options);
    saving.write_all();
    saving.change_names();
    return saving.take_result();
}

}  // namespace onnxmap::save
