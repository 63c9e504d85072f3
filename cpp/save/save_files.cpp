#include "save/save_files.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "os/file_system.hpp"
#include "os/new_file.hpp"
#include "save/destination.hpp"
#include "save/folder_locks.hpp"
#include "save/name_changes.hpp"

namespace onnxmap::save {

namespace {

using Kind = OutputFile::Kind;
using Aside = NameChanges::Aside;

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
        if (options.folder && !files.empty()) {
            destinations_.know(folder_part(files.back().path), options.folder);
        }
        find(files, Kind::data, AtOutputLink::refuse);
        find(files, Kind::model, at_model);
        find_unused(options.no_longer_used);
    }

    [[nodiscard]] SaveResult run() {
        for (Output& output : outputs_) write(output);
        options_.check_written();
        FolderLocks locks;
        locks.take(destinations_.folders(), options_.look, options_.patience,
                   outputs_.empty() ? "" : outputs_.back().place.path);
        check_again();
        try {
            move_old_files();
            put(Kind::data);
            if (count(Kind::model) > 0) sync_folders(Kind::data);
            put(Kind::model);
            // There is no way back from a name that was replaced.
            if (replaces(Kind::model) && !keeps_old_models()) commit();
            sync_folders(count(Kind::model) > 0 ? Kind::model : Kind::data);
        } catch (const std::exception& failure) {
            changes_.undo(failure.what());
            throw;
        }
        commit();
        destinations_.keep_folders();
        remove_unused();
        note_models();
        return std::move(result_);
    }

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

    void find_unused(std::span<const std::string> paths) {
        for (const std::string& path : paths) {
            if (std::ranges::find(unused_, path, &Destination::path) != unused_.end()) continue;
            Destination place = destinations_.find(path, AtOutputLink::refuse);
            if (place.replaced()) unused_.push_back(std::move(place));
        }
    }

    // Others may have changed the names since they were looked at. The old model may be another
    // one, with other side files.
    void check_again() {
        bool has_changed = !unused_.empty();
        for (Output& output : outputs_) {
            const auto before = output.place.old_identity();
            destinations_.check_again(output.place);
            check_replaced(output);
            has_changed |= output.place.old_identity() != before;
        }
        if (!has_changed || !options_.check_again) return;
        const std::vector<std::string> unused = options_.check_again();
        std::erase_if(unused_, [&](const Destination& place) {
            return std::ranges::find(unused, place.path) == unused.end();
        });
        find_unused(unused);
    }

    // A file that somebody has written since a model was loaded from it, or saved there, has what
    // the new file lacks.
    void check_replaced(const Output& output) const {
        const Destination& place = output.place;
        // The target of a link stays.
        if (!output.is(Kind::model) || !place.replaced()) return;
        const KnownFile* missed = nullptr;
        for (const KnownFile& known : options_.known) {
            if (known.state == place.old->identity) return;
            const bool is_that = (known.keeps_others && known.path == place.path) ||
                                 known.state.same_file(place.old->identity);
            if (is_that) missed = &known;
        }
        if (missed == nullptr) return;
        const os::FileIdentity& state = missed->state;
        if (!state.same_file(place.old->identity)) {
            fail_at("file.changed", place.path,
                    " was replaced by another file since it was loaded or saved, and that file "
                    "would be lost; load the model again, or remove that file");
        }
        const std::string how = place.old->identity.size > state.size ? "appended" : "written";
        fail_at("file.changed", place.path,
                " was " + how +
                    " to after it was loaded or saved, and the new file would lack that; load it "
                    "again");
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
                const auto now = place.folder->look(place.name, place.path);
                if (!now || now->identity != place.old->identity) continue;
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
        const FileContent& parts = output.file->parts;
        Progress progress;
        if (options_.progress) {
            progress = [&](std::uint64_t done, std::uint64_t) {
                options_.progress(done_ + done, total_);
            };
        }
        const ByteCounts nbytes = write_content(parts, *file, progress);
        result_.nbytes.written += nbytes.written;
        result_.nbytes.copied += nbytes.copied;
        done_ += parts.nbytes();
        file->finish(options_.sync);
        output.made = std::move(file);
    }

    // Old models must not read new data, and several models change together or not at all. A disk
    // may lose any of the names that have changed since the last sync.
    void move_old_files() {
        const bool mixes = replaces(Kind::data);
        if (!mixes && !keeps_old_models()) return;
        for (const Output& output : outputs_) {
            if (!output.is(Kind::model) || !output.place.old) continue;
            changes_.set_aside(output.place, mixes ? Aside::moved : Aside::linked);
        }
        if (!mixes) return;
        sync_folders(Kind::model);
        for (const Output& output : outputs_) {
            if (output.is(Kind::data) && output.place.old)
                changes_.set_aside(output.place, Aside::moved);
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
            if (std::ranges::find(synced, folder) != synced.end()) continue;
            folder->sync(output.place.path);
            synced.push_back(folder);
        }
    }

    void commit() {
        for (std::string& path : changes_.commit()) result_.left_over.push_back(std::move(path));
    }

    [[nodiscard]] std::int64_t count(Kind kind) const {
        return std::ranges::count_if(outputs_, [&](const Output& each) { return each.is(kind); });
    }
    [[nodiscard]] bool replaces(Kind kind) const {
        return std::ranges::any_of(
            outputs_, [&](const Output& each) { return each.is(kind) && each.place.old; });
    }
    // Whether each old model keeps a name until the end.
    [[nodiscard]] bool keeps_old_models() const {
        return count(Kind::model) > 1 || replaces(Kind::data);
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
    return Saving(files, options).run();
}

}  // namespace onnxmap::save
