#include "save/save_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "model/flatten.hpp"
#include "model/message_walk.hpp"
#include "model/overlap.hpp"
#include "model/structure_pages.hpp"
#include "save/check_loaded.hpp"
#include "save/parts_sink.hpp"
#include "save/tensor_values.hpp"
#include "save/view_keys.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

namespace {

constexpr std::uint64_t kDataAlignment = 4096;
constexpr std::uint64_t kLeastKeptAlignment = 16;  // less is chance
constexpr std::uint64_t kMostForProtobuf = 0x7fff'ffff;

std::string shard_name(const std::string& location, std::size_t i, std::size_t count) {
    if (count == 1) return location;
    const std::size_t folder = location.rfind('/') + 1;
    std::size_t dot = location.rfind('.');
    if (dot == std::string::npos || dot <= folder) dot = location.size();
    std::array<char, 48> number{};
    std::snprintf(number.data(), number.size(), "-%05zu-of-%05zu", i + 1, count);
    return location.substr(0, dot) + number.data() + location.substr(dot);
}

}  // namespace

void OffsetBits::add(std::uint64_t offset) noexcept {
    any_ = true;
    bits_ |= offset;
}

std::uint64_t OffsetBits::common() const noexcept {
    return std::uint64_t{1} << std::countr_zero(bits_ | kDataAlignment);
}

std::uint64_t OffsetBits::alignment() const noexcept {
    return any_ && common() >= kLeastKeptAlignment ? common() : 1;
}

SavePlan::SavePlan(PlanOptions options) : options_(std::move(options)) {
    layout_.alignment = std::max<std::uint64_t>(options_.alignment.value_or(kDataAlignment), 1);
    layout_.most_nbytes = options_.most_nbytes;
    layout_.dedupe = options_.dedupe;
    layout_.look = options_.look;
}

std::size_t SavePlan::group(const std::string& location, const LayoutOptions& options,
                            bool replaces) {
    const auto known = std::ranges::find(groups_, location, &Group::location);
    if (known != groups_.end()) return static_cast<std::size_t>(known - groups_.begin());
    groups_.push_back({location, DataLayout(options), replaces});
    return groups_.size() - 1;
}

void SavePlan::move(Model& model, std::size_t group, const onnx::Message& tensor,
                    const SourceRange& values) {
    model.moved.push_back({tensor, group, values});
    model.sources.insert(values.source);
}

std::uint64_t SavePlan::nbytes_of_files() const {
    std::uint64_t sum = 0;
    for (const Group& each : groups_) {
        for (const std::uint64_t nbytes : each.layout.used()) sum += nbytes;
    }
    return sum;
}

void SavePlan::add(PlannedModel planned) {
    Model& model = models_.emplace_back();
    model.planned = std::move(planned);
    const model::Document& document = *model.planned.document;
    model.inlines.emplace(document);
    static_cast<void>(document.look_for_changes());
    model.viewed = viewed_file(document);
    const std::uint64_t nbytes_before = nbytes_of_files();
    source::guard_reads(document.source(), [&] {
        std::uint64_t position = 0;
        model::for_each_tensor(document,
                               [&](const std::string& path, const onnx::Message& message) {
                                   add_tensor(model, path, message, position++);
                               });
        copy_data_files(model);
        keep_in_place(model);
    });
    if (options_.external == PlanOptions::External::view) {
        check_referred(document.source(), document.store().external.folder().model_path);
    }
    // Not under the guard: values may be compared for a long time, with looks by the caller.
    for (Moved& each : model.moved) {
        if (!each.place) each.place = groups_[each.group].layout.add(each.values);
    }
    // A small file whose tensors all name the same bytes must not become a large one.
    std::uint64_t nbytes = nbytes_of_files() - nbytes_before;
    for (const Inlined& each : model.inlined) {
        model.sources.insert(each.values.source);
        nbytes += each.values.nbytes;
    }
    model::check_overlap(document, std::vector(model.sources.begin(), model.sources.end()), nbytes);
}

void SavePlan::add_tensor(Model& model, const std::string& path, const onnx::Message& message,
                          std::uint64_t position) {
    using enum PlanOptions::External;
    const model::Document& document = *model.planned.document;
    const model::Tensor tensor(document, message);
    const tensor::Header& header = tensor.header();
    const Role role = role_of(path);
    if (role == Role::initializer && header.raw_data && !header.raw_data->empty() &&
        document.store().holds(*header.raw_data)) {
        const std::uint64_t offset = document.source().offset_of(*header.raw_data);
        model.offsets.add(offset);
        if (header.raw_data->size() >= options_.least_nbytes) model.large_offsets.add(offset);
    }
    const std::string* const copy = copied_to(model.planned, tensor);
    // What stays where it is need not be readable, unless an edit or another library put it there.
    const bool stays =
        !header.external || (copy == nullptr && model.planned.is_same_folder &&
                             (options_.external == keep || options_.external == view));
    using Needed = PlannedModel::Needed;
    const Needed needed = model.planned.needed;
    const bool must_be_there = header.external && needed != Needed::none &&
                               (needed == Needed::all || has_new_place(document, tensor));
    const auto values =
        stays && !must_be_there ? tensor.values_if_valid() : std::optional(tensor.values());
    if (!stays && (values->in_pieces() || header.has_segment)) {
        throw Error("save.segments", "tensor " + path +
                                         " has external data in segments, which a save leaves "
                                         "where they are; save into the folder of the model");
    }
    if (!values || values->in_pieces() || header.has_segment || values->type().bits == 0) return;
    const tensor::Payload* const payload = values->payload();
    const std::uint64_t nbytes = tensor::packed_nbytes(values->count(), values->type().bits);
    const bool is_large = nbytes > 0 && nbytes >= options_.least_nbytes;
    const bool goes_into_file = options_.external == file || options_.external == refer;
    const bool is_kind =
        role == Role::initializer || (role == Role::attribute && options_.attributes);
    const auto is_movable = [&] { return !model.inlines->contains(path, header, nbytes); };
    const bool is_chosen =
        is_kind && is_large && (goes_into_file || options_.external == view) && is_movable();

    if (options_.external == refer && is_chosen && payload != nullptr) {
        if (const std::string& file = referred_.path_of(payload->source); !file.empty()) {
            // The folder of these locations is the root of the file system.
            model.referring.push_back({message, file.substr(1), payload->offset, nbytes});
            referenced_ += nbytes;
            return;
        }
    }
    if (header.external) {
        const auto opened = tensor.open_external();
        if (model.planned.is_same_folder && copy == nullptr) {
            UsedBytes& used = loaded_files_[paths_.of(*opened)];
            used.nbytes = opened->source->size();
            used.source = opened->source;
            used.is_viewed |= !model.viewed.empty() &&
                              plain_location(tensor.external()->location) == model.viewed;
        }
        if (copy != nullptr) {
            model.copied.push_back({message, *copy, range_of(*payload)});
        } else if ((options_.external == keep || options_.external == view) &&
                   model.planned.is_same_folder) {
            model.staying.push_back({message, paths_.of(*opened), range_of(*payload)});
        } else if (options_.external == keep) {
            const auto entry = tensor.external();
            model.copied.push_back({message, std::string(entry->location), range_of(*payload)});
        } else if (goes_into_file && is_chosen) {
            move(model, group(options_.location, layout_, true), message, range_of(*payload));
        } else {
            model.inlined.push_back({message, range_of(*payload)});
        }
        return;
    }
    const auto named = model.planned.locations.find(position);
    const bool is_named = named != model.planned.locations.end();
    const bool goes_where_named =
        is_named && options_.external == keep && role != Role::other && nbytes > 0 && is_movable();
    if (goes_where_named || (goes_into_file && is_chosen)) {
        const std::string& location = goes_where_named ? named->second : options_.location;
        const auto range = payload != nullptr ? range_of(*payload) : decoded_if_valid(*values);
        if (range) move(model, group(location, layout_, true), message, *range);
    } else if (options_.external == keep && is_large && payload != nullptr && !is_named &&
               was_external(document.edits(), message) && is_movable()) {
        move(model, group(model.planned.side_location, layout_, true), message, range_of(*payload));
    } else if (options_.external == view && is_chosen && payload != nullptr &&
               payload->source.get() == &document.source()) {
        model.referring.push_back({message, model.planned.view_location, payload->offset, nbytes});
        referenced_ += nbytes;
    }
}

// The new location of external data that are copied although the folder is the same, or null.
const std::string* SavePlan::copied_to(const PlannedModel& planned,
                                       const model::Tensor& tensor) const {
    if (planned.copies.empty() || options_.external != PlanOptions::External::keep) return nullptr;
    const auto entry = tensor.external();
    if (!entry) return nullptr;
    const auto copy = planned.copies.find(entry->location);
    return copy == planned.copies.end() ? nullptr : &copy->second;
}

// Copies the ranges in use into files of the same names, or of new ones. Ranges that overlap stay
// together. Values stay aligned as they were: many small ones must not become a large file.
// Different files have one plain location only if a folder in a location is a link.
void SavePlan::copy_data_files(Model& model) {
    std::map<std::string, std::vector<const Copied*>> by_location;
    for (const Copied& each : model.copied) {
        by_location[plain_location(each.location)].push_back(&each);
    }
    for (auto& [location, tensors] : by_location) {
        for (const Copied* each : tensors) model.sources.insert(each->values.source);
        LayoutOptions one_file = layout_;
        one_file.most_nbytes = 0;
        if (!options_.alignment) {
            OffsetBits offsets;
            for (const Copied* each : tensors) offsets.add(each->values.offset);
            one_file.alignment = offsets.common();
        }
        const std::size_t file = group(location, one_file, model.planned.replaces_copies);
        std::ranges::sort(tensors, {}, [](const Copied* each) { return each->values.offset; });
        for (std::size_t i = 0; i < tensors.size();) {
            const SourceRange& first = tensors[i]->values;
            std::uint64_t end = first.offset + first.nbytes;
            std::size_t next = i + 1;
            for (; next < tensors.size(); ++next) {
                const SourceRange& values = tensors[next]->values;
                if (values.source != first.source || values.offset >= end) break;
                end = std::max(end, values.offset + values.nbytes);
            }
            const SourceRange block{first.source, first.offset, end - first.offset};
            const DataLayout::Place place = groups_[file].layout.add(block);
            for (; i < next; ++i) {
                const SourceRange& values = tensors[i]->values;
                const std::uint64_t offset = place.offset + values.offset - first.offset;
                model.moved.push_back(
                    {tensors[i]->tensor, file, values, DataLayout::Place{place.file, offset}});
            }
        }
    }
}

// The side file of a model is replaced as a whole, so it never has values that nothing uses. Values
// in the side file of another model are copied, since that model may replace it. Values that other
// tensors already have in a data file that is written come into the new one.
void SavePlan::keep_in_place(Model& model) {
    const std::string& own_side = model.planned.side_location;
    const auto location_of = [&](const Staying& each) {
        const model::Tensor tensor(*model.planned.document, each.tensor);
        return plain_location(tensor.external()->location);
    };
    const auto is_others = [&](const Staying& each) {
        if (own_side.empty()) return false;
        const std::string location = location_of(each);
        return location != own_side && location.ends_with(kSideEnd);
    };
    const auto is_written = [&](const std::string& location) {
        return std::ranges::find(groups_, location, &Group::location) != groups_.end();
    };
    const bool replaces_side =
        is_written(own_side) || std::ranges::any_of(model.staying, is_others);
    for (const Staying& each : model.staying) {
        const SourceRange& values = each.values;
        if (is_others(each) || (replaces_side && location_of(each) == own_side)) {
            move(model, group(own_side, layout_, true), each.tensor, values);
        } else if (!groups_.empty() && is_written(location_of(each))) {
            move(model, group(location_of(each), layout_, true), each.tensor, values);
        } else {
            referenced_ += values.nbytes;
            const auto [ranges, is_new] = used_ranges_.try_emplace(each.path);
            if (is_new) check_referred(*values.source, each.path);
            ranges->second.add(values.offset, values.offset + values.nbytes);
        }
    }
}

void SavePlan::lay_out() {
    if (std::exchange(is_laid_out_, true)) return;
    for (Group& group : groups_) {
        group.first_file = files_.size();
        std::vector<std::uint64_t> used = group.layout.used();
        std::vector<Parts> contents = group.layout.take_files();
        for (std::size_t i = 0; i < contents.size(); ++i) {
            files_.push_back({shard_name(group.location, i, contents.size()),
                              std::move(contents[i]), used[i], group.replaces});
        }
    }
    for (const auto& [path, ranges] : used_ranges_) {
        for (const auto& range : ranges) loaded_files_[path].used += range.end - range.begin;
    }
}

std::vector<SavePlan::DataFile>& SavePlan::data_files() {
    lay_out();
    return files_;
}

std::vector<Parts> SavePlan::models(const std::vector<std::string>& checksums) {
    lay_out();
    std::vector<Parts> made;
    made.reserve(models_.size());
    for (Model& model : models_) made.push_back(parts_of(model, checksums));
    return made;
}

// Whether values of the new model are still in the file of which the loaded one is a view.
bool SavePlan::stays_a_view(const Model& model) {
    if (!model.planned.is_same_folder || !model.planned.copies.empty()) return false;
    const model::Document& document = *model.planned.document;
    const std::string shown = viewed_file(document);
    if (shown.empty()) return true;
    return std::ranges::any_of(model.staying, [&](const Staying& each) {
        const model::Tensor tensor(document, each.tensor);
        return plain_location(tensor.external()->location) == shown;
    });
}

Parts SavePlan::parts_of(Model& model, const std::vector<std::string>& checksums) {
    const model::Document& document = *model.planned.document;
    TensorEdits edits(document);
    model::StructurePages pages(document.source(), true);
    for (const Moved& each : model.moved) {
        pages.looked_at({each.tensor.key(), 0});
        const DataLayout::Place place = each.place.value();
        const std::size_t file = groups_[each.group].first_file + place.file;
        edits.make_external(each.tensor, {files_[file].location, place.offset, each.values.nbytes,
                                          checksums.empty() ? std::string() : checksums.at(file)});
    }
    for (const Inlined& each : model.inlined) {
        pages.looked_at({each.tensor.key(), 0});
        const SourceRange& values = each.values;
        edits.make_inline(each.tensor, values.source,
                          {values.source->addresses() + values.offset, values.nbytes});
    }
    for (const Referring& each : model.referring) {
        pages.looked_at({each.tensor.key(), 0});
        edits.make_external(each.tensor, {each.location, each.offset, each.nbytes, {}});
    }
    const bool is_kept = options_.external == PlanOptions::External::keep;
    if (document.is_model() && !(is_kept && stays_a_view(model))) {
        edits.remove_metadata(document.root(), kViewKeys);
    }
    if (options_.external == PlanOptions::External::view && !model.referring.empty()) {
        note_view(edits, document, model.planned.view_location);
    }
    model::Alignment alignment;
    const bool is_in_model = is_kept || options_.external == PlanOptions::External::inlined;
    if (is_in_model && options_.alignment) {
        alignment = {*options_.alignment, 1};
    } else if (is_in_model && !edits.all().empty()) {
        alignment = {model.offsets.alignment(), 1};
        if (alignment.of_raw_data == 1) {
            alignment = {model.large_offsets.alignment(), options_.least_nbytes};
        }
    }
    Parts parts;
    source::guard_reads(document.source(), [&] {
        const model::FlatMessage flat(document, document.root(), edits.all(), alignment);
        if (flat.nbytes() > kMostForProtobuf && !options_.over_2gib) {
            throw Error("save.too_large",
                        "the model would have " + std::to_string(flat.nbytes()) +
                            " bytes, and protobuf reads at most 2 GiB; put the weights into a "
                            "data file with external_data=\"weights.data\", or pass "
                            "allow_over_2gib=True");
        }
        if (flat.nbytes() == 0 && document.is_model()) {
            throw Error("save.empty",
                        "the model has no field that is set, and no program loads an empty file");
        }
        if (document.is_model() && !document.root().has(onnx::field<"ModelProto.graph">)) {
            throw Error("save.no_graph", "the model has no graph, and no program loads it");
        }
        PartsSink sink(edits, parts);
        flat.write(sink);
    });
    return parts;
}

}  // namespace onnxmap::save
