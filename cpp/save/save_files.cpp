#include "save/save_files.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "os/file_system.hpp"
#include "os/new_file.hpp"
#include "save/destination.hpp"
#include "save/folder_locks.hpp"
#include "save/name_changes.hpp"
#include "save/refuse.hpp"

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
    Saving(std::span<const OutputFile> files, const SaveOptions& options)
        : options_(options), destinations_(options.replace_read_only, true, options.sync) {
        const AtOutputLink at_model =
            options.follow_symlinks ? AtOutputLink::follow : AtOutputLink::replace;
        find(files, Kind::data, AtOutputLink::refuse);
        find(files, Kind::model, at_model);
        for (const std::string& path : options.no_longer_used) find_unused(path);
    }

    void write_all() {
        for (Output& output : outputs_) write(output);
    }

    void change_names() {
        FolderLocks locks;
        locks.take(destinations_.folders(), options_.look, options_.patience,
                   outputs_.empty() ? "" : outputs_.back().place.path);
        look_again();
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
        destinations_.keep_folders();
        remove_unused();
        note_models();
    }

    [[nodiscard]] SaveResult take_result() { return std::move(result_); }

  private:
    void find(std::span<const OutputFile> files, Kind kind, AtOutputLink at_link) {
        for (const OutputFile& file : files) {
            if (file.kind != kind) continue;
            outputs_.push_back({&file,
                                destinations_.find(file.path, at_link, file.location,
                                                   options_.overwrite && file.may_replace),
                                nullptr});
            check_replaced(outputs_.back());
            total_ += file.parts.nbytes();
        }
    }

    void find_unused(const std::string& path) {
        Destination place = destinations_.find(path, AtOutputLink::refuse);
        if (place.replaced()) unused_.push_back(std::move(place));
    }

    // Others may have changed the names since they were looked at.
    void look_again() {
        bool has_changed = !unused_.empty();
        for (Output& output : outputs_) {
            const auto before = output.place.old_identity;
            destinations_.look_again(output.place);
            check_replaced(output);
            has_changed |= output.is(Kind::data) && output.place.old_identity != before;
        }
        if (!has_changed || !options_.check_again) return;
        const std::vector<std::string> unused = options_.check_again();
        std::erase_if(unused_, [&](const Destination& place) {
            return std::find(unused.begin(), unused.end(), place.path) == unused.end();
        });
    }

    // A file that somebody has written since a model was loaded from it, or saved there, has what
    // the new file lacks.
    void check_replaced(const Output& output) const {
        const Destination& place = output.place;
        // The target of a link stays.
        if (!output.is(Kind::model) || !place.replaced()) return;
        const KnownFile* missed = nullptr;
        for (const KnownFile& known : options_.known) {
            if (known.state == *place.old_identity) return;
            const bool is_that = (known.keeps_others && known.path == place.path) ||
                                 known.state.same_file(*place.old_identity);
            if (is_that) missed = &known;
        }
        if (missed == nullptr) return;
        const os::FileIdentity& state = missed->state;
        const char* const end =
            " after it was loaded or saved, and the new file would lack that; "
            "load it again";
        if (!state.same_file(*place.old_identity)) {
            refuse("file.changed", place.path,
                   " was replaced by another file since it was loaded or saved, and that file "
                   "would be lost; load the model again, or remove that file");
        }
        const bool has_grown = place.old_identity->size > state.size;
        refuse("file.changed", place.path,
               std::string(has_grown ? " was appended to" : " was written to") + end);
    }

    void note_models() {
        for (const Output& output : outputs_) {
            if (!output.is(Kind::model) || os::on_network(output.place.folder->descriptor())) {
                continue;  // there, a time may change after the file was closed
            }
            result_.models.push_back({output.place.path, output.made->identity()});
        }
    }

    void remove_unused() {
        for (const Destination& place : unused_) {
            try {
                const auto now = place.folder->identity_of(place.name, place.path);
                if (now != place.old_identity) continue;
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
    Destinations destinations_;  // first: their new folders go last
    std::uint64_t total_ = 0;
    std::uint64_t done_ = 0;
    std::vector<Output> outputs_;  // the data files first
    std::vector<Destination> unused_;
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
