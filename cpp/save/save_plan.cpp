#include "save/save_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "model/ep_context.hpp"
#include "model/flatten.hpp"
#include "model/message_walk.hpp"
#include "model/overlap_limit.hpp"
#include "model/structure_pages.hpp"
#include "model/view_keys.hpp"
#include "save/tensor_edits.hpp"
#include "save/view_models.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

namespace {

constexpr std::uint64_t kMostForProtobuf = 0x7fff'ffff;

// Collects the bytes of a message as parts of a file.
class ContentSink final : public model::ByteSink {
  public:
    // `edits`: those that the message was flattened with.
    ContentSink(const TensorEdits& edits, FileContent& parts) : edits_(edits), parts_(parts) {}

    void take(ByteView bytes) override {
        auto source = edits_.source_of(bytes);
        if (source->in_memory() && bytes.size() < kLeastRange) {
            parts_.copy(bytes);
        } else {
            parts_.range(source, source->offset_of(bytes), bytes.size());
        }
    }
    void take_new(ByteView bytes) override { parts_.copy(bytes); }

  private:
    static constexpr std::uint64_t kLeastRange = 4096;  // fewer bytes in memory are copied

    const TensorEdits& edits_;
    FileContent& parts_;
};

}  // namespace

std::size_t SavePlan::group(const std::string& location, const LayoutOptions& options,
                            bool replaces) {
    const auto known = std::ranges::find(groups_, location, &Group::location);
    if (known != groups_.end()) return static_cast<std::size_t>(known - groups_.begin());
    groups_.push_back({location, DataLayout(options), replaces});
    return groups_.size() - 1;
}

std::uint64_t SavePlan::nbytes_of_files() const {
    std::uint64_t sum = 0;
    for (const Group& each : groups_) sum += each.layout.nbytes();
    return sum;
}

void SavePlan::add(PlannedModel planned) {
    ModelPlan& model = models_.emplace_back();
    model.planned = std::move(planned);
    const model::Document& document = *model.planned.document;
    model.inlines.emplace(document);
    static_cast<void>(document.check_for_changes());
    find_changes(model);
    const std::uint64_t nbytes_before = nbytes_of_files();
    source::guard_reads(document.source(), [&] {
        model.viewed = viewed_file(document);
        std::uint64_t position = 0;
        model::for_each_tensor(document,
                               [&](const std::string& path, const onnx::Message& message) {
                                   add_tensor(model, path, message, position++);
                               });
    });
    name_copies(model);  // not under the guard: it may read other models
    source::guard_reads(document.source(), [&] {
        find_ep_context_files(model);
        copy_data_files(model);
        keep_in_place(model);
    });
    if (options_.external == PlanOptions::External::view) {
        check_referred(document.source(), document.store().external.folder().model_path);
    }
    // Not under the guard: values may be compared for a long time, with looks by the caller.
    std::set<std::shared_ptr<const source::Source>> sources;
    for (Moved& each : model.moved) {
        if (!each.place) each.place = groups_[each.group].layout.add(each.values);
        sources.insert(each.values.source);
    }
    // A small file whose tensors all name the same bytes must not become a large one.
    std::uint64_t nbytes = nbytes_of_files() - nbytes_before;
    for (const Placed& each : model.inlined) {
        sources.insert(each.values.source);
        nbytes += each.values.nbytes;
    }
    for (const Placed& each : model.copied) sources.insert(each.values.source);
    if (options_.if_nothing && does_nothing(model)) options_.if_nothing(model.planned.document);
    sources.erase(converted_);
    sources.insert(converted_->sources().begin(), converted_->sources().end());
    model::check_overlap(document, std::vector(sources.begin(), sources.end()), nbytes);
}

void SavePlan::find_changes(ModelPlan& model) const {
    if (!options_.types_of) return;
    const model::Document& document = *model.planned.document;
    model.changes = options_.external == PlanOptions::External::weights
                        ? find_weight_changes(document, options_.types_of, options_.names)
                        : find_type_changes(document, *model.inlines, options_.types_of);
}

bool SavePlan::does_nothing(const ModelPlan& model) const {
    using enum PlanOptions::External;
    const PlanOptions::External external = options_.external;
    const bool takes_values = external == file || external == view || external == weights;
    return (options_.types_of && !model.changes.has_candidates) ||
           (takes_values && !has_external(model));
}

void SavePlan::name_copies(ModelPlan& model) const {
    PlannedModel& planned = model.planned;
    if (model.copied.empty() || !planned.new_locations) return;
    std::set<std::string> locations;
    for (const Placed& each : model.copied) locations.insert(each.location);
    planned.copies = planned.new_locations(locations);
    for (Placed& each : model.copied) take_new(each.location, planned.copies);
}

void SavePlan::find_ep_context_files(ModelPlan& model) const {
    const PlannedModel& planned = model.planned;
    if (planned.copies.empty() || options_.external != PlanOptions::External::keep) return;
    model::for_each_ep_context_file(
        *planned.document, [&](const std::string& path, const model::Attribute& attribute) {
            const auto copy = planned.copies.find(model::location_of(attribute));
            if (copy == planned.copies.end()) return;
            auto file = model::open_ep_context_file(*planned.document, attribute, path);
            const tensor::Payload whole{file, 0, file->size()};
            model.copied.push_back({attribute.message(), whole, copy->second, nullptr, true});
        });
}

// Copies the ranges in use into files of the same names, or of new ones. Ranges that overlap stay
// together. Values stay aligned as they were: many small ones must not become a large file.
// Different files have one plain location only if a folder in a location is a link.
void SavePlan::copy_data_files(ModelPlan& model) {
    std::map<std::string, std::vector<const Placed*>> by_location;
    for (const Placed& each : model.copied) {
        by_location[plain_location(each.location)].push_back(&each);
    }
    for (auto& [location, tensors] : by_location) {
        if (copy_safetensors(model, location, tensors)) continue;
        LayoutOptions one_file = options_.layout;
        one_file.most_nbytes = 0;
        if (!one_file.alignment) {
            OffsetBits offsets;
            for (const Placed* each : tensors) offsets.add(each->values.offset);
            one_file.alignment = offsets.common();
        }
        const std::size_t file = group(location, one_file, model.planned.replaces_copies);
        std::ranges::sort(tensors, {}, [](const Placed* each) {
            return std::pair(each->change != nullptr, each->values.offset);
        });
        for (std::size_t i = 0; i < tensors.size();) {
            const tensor::Payload& first = tensors[i]->values;
            std::uint64_t end = first.offset + first.nbytes;
            std::size_t next = i + 1;
            for (; next < tensors.size(); ++next) {
                const tensor::Payload& values = tensors[next]->values;
                if (values.source != first.source || values.offset >= end) break;
                end = std::max(end, values.offset + values.nbytes);
            }
            const tensor::Payload block{first.source, first.offset, end - first.offset};
            const DataLayout::FileOffset place = groups_[file].layout.add(block);
            for (; i < next; ++i) {
                const tensor::Payload& values = tensors[i]->values;
                if (tensors[i]->is_whole_file) continue;
                const std::uint64_t offset = place.offset + values.offset - first.offset;
                model.moved.push_back({tensors[i]->tensor,
                                       values,
                                       file,
                                       {},
                                       tensors[i]->change,
                                       DataLayout::FileOffset{place.file, offset}});
            }
        }
    }
}

// The side file of a model is replaced as a whole, so it never has values that nothing uses. Values
// in the side file of another model are copied, since that model may replace it. Values that other
// tensors already have in a data file that is written come into the new one.
void SavePlan::keep_in_place(ModelPlan& model) {
    const std::string& own_side = model.planned.side_location;
    const auto is_others = [&](const Placed& each) {
        return !own_side.empty() && each.location != own_side && each.location.ends_with(kSideEnd);
    };
    const auto is_written = [&](const std::string& location) {
        return std::ranges::find(groups_, location, &Group::location) != groups_.end();
    };
    const bool replaces_side =
        is_written(own_side) || std::ranges::any_of(model.staying, is_others);
    for (const Placed& each : model.staying) {
        const tensor::Payload& values = each.values;
        const bool goes_to_side = is_others(each) || (replaces_side && each.location == own_side);
        if (goes_to_side || is_written(each.location)) {
            const std::string& location = goes_to_side ? own_side : each.location;
            model.moved.push_back({each.tensor, values, group(location, options_.layout, true)});
        } else {
            auto& [path, file] = *each.loaded_file;
            referenced_ += values.nbytes;
            if (file.used.empty()) check_referred(*values.source, path);
            file.used.add(values.offset, values.offset + values.nbytes);
        }
    }
}

bool SavePlan::has_external(const ModelPlan& model) noexcept {
    return !(model.moved.empty() && model.staying.empty() && model.referring.empty());
}

bool SavePlan::has_external() const {
    return std::ranges::any_of(models_, [](const ModelPlan& each) { return has_external(each); });
}

std::vector<SavePlan::DataFile>& SavePlan::data_files() {
    if (std::exchange(is_laid_out_, true)) return files_;
    if (options_.external == PlanOptions::External::weights) {  // perhaps without any tensor
        static_cast<void>(group(options_.location, options_.layout, true));
    }
    for (Group& group : groups_) {
        group.first_file = files_.size();
        const auto number = static_cast<std::size_t>(&group - groups_.data());
        switch (group.layout.options().container) {
            case LayoutOptions::Container::safetensors: add_safetensors(number); continue;
            case LayoutOptions::Container::numpy: add_arrays(number); continue;
            case LayoutOptions::Container::plain: break;
        }
        std::vector<FileContent> contents = group.layout.take_files();
        for (std::size_t i = 0; i < contents.size(); ++i) {
            files_.push_back({shard_name(group.location, i, contents.size()),
                              std::move(contents[i]), group.replaces});
        }
    }
    return files_;
}

std::vector<FileContent> SavePlan::models(const std::vector<std::string>& checksums) {
    static_cast<void>(data_files());
    std::vector<FileContent> made;
    made.reserve(models_.size());
    for (ModelPlan& model : models_) made.push_back(parts_of(model, checksums));
    return made;
}

// Whether the new model needs no other metadata: values of it are still in the file of which the
// loaded one is a view, or that is no view.
bool SavePlan::keeps_metadata(const ModelPlan& model) const {
    if (options_.external != PlanOptions::External::keep || !model.planned.is_same_folder) {
        return false;
    }
    return model.planned.copies.empty() &&
           (model.viewed.empty() || std::ranges::find(model.staying, model.viewed,
                                                      &Placed::location) != model.staying.end());
}

FileContent SavePlan::parts_of(ModelPlan& model, const std::vector<std::string>& checksums) {
    const model::Document& document = *model.planned.document;
    TensorEdits edits(document);
    model::StructurePages pages(document.source(), true);
    for (const Moved& each : model.moved) {
        pages.note_read({each.tensor.key(), 0});
        const DataLayout::FileOffset place = each.place.value();
        const std::size_t file = groups_[each.group].first_file + place.file;
        edits.make_external(each.tensor, files_[file].location, place.offset, each.values.nbytes,
                            checksums.empty() ? std::string_view() : checksums.at(file));
        if (each.change != nullptr) edits.change_type(each.tensor, *each.change);
    }
    for (const Placed& each : model.inlined) {
        pages.note_read({each.tensor.key(), 0});
        edits.make_inline(each.tensor, each.values);
        if (each.change != nullptr) edits.change_type(each.tensor, *each.change);
    }
    for (const TypeChanges::OfGraph& each : model.changes.graphs) {
        edits.add_casts(each, model.changes);
    }
    for (const Placed& each : model.referring) {
        pages.note_read({each.tensor.key(), 0});
        edits.make_external(each.tensor, each.location, each.values.offset, each.values.nbytes);
    }
    for (const Placed& each : model.copied) {
        const std::string location = plain_location(each.location);
        const wire::FieldRow& row = onnx::field<"AttributeProto.s">;
        if (!each.is_whole_file || each.tensor.text(row) == location) continue;
        pages.note_read({each.tensor.key(), 0});
        edits.replace_text(each.tensor, row, location);
    }
    const bool is_view =
        options_.external == PlanOptions::External::view && !model.referring.empty();
    if (document.is_model() && !keeps_metadata(model)) {
        edits.replace_metadata(document.root(), model::kViewKeys,
                               is_view ? view_metadata(document, model.planned.view_location)
                                       : TensorEdits::Metadata());
    }
    model::Alignment alignment;
    const bool is_in_model = options_.external == PlanOptions::External::keep ||
                             options_.external == PlanOptions::External::inlined;
    if (is_in_model && options_.layout.alignment) {
        alignment = {*options_.layout.alignment, 1};
    } else if (is_in_model && !edits.all().empty()) {
        alignment = {model.offsets.alignment(), 1};
        if (alignment.of_raw_data == 1) {
            alignment = {model.large_offsets.alignment(), options_.least_nbytes};
        }
    }
    FileContent parts;
    source::guard_reads(document.source(), [&] {
        const model::FlatMessage flat(document, document.root(), edits.all(), alignment);
        if (flat.nbytes() > kMostForProtobuf && !options_.over_2gib) {
            Error error("save.too_large", {"the model would have ", flat.nbytes(),
                                           " bytes, and protobuf reads at most 2 GiB"});
            error.remedy = "over_2gib";
            throw error;
        }
        if (flat.nbytes() == 0 && document.is_model()) {
            throw Error("save.empty",
                        "the model has no field that is set, and no program loads an empty file");
        }
        if (document.is_model() && !document.root().has(onnx::field<"ModelProto.graph">)) {
            throw Error("save.no_graph", "the model has no graph, and no program loads it");
        }
        ContentSink sink(edits, parts);
        flat.write(sink);
    });
    return parts;
}

}  // namespace onnxmap::save
