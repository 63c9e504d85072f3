// Data files that are safetensors files: tensors in the order of the official library, behind a
// header, without gaps.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "model/load_weights.hpp"
#include "safetensors/header.hpp"
#include "safetensors/json_reader.hpp"
#include "save/save_plan.hpp"

namespace onnxmap::save {

namespace {

using onnx::field;

constexpr std::size_t kMostNamed = 10;  // in an error text

// Why a safetensors file cannot hold a tensor of that name; empty if it can.
std::string why_not(const onnx::Message& tensor, const std::string& name,
                    const TypeChange* change) {
    const tensor::Header header = tensor::read_header(tensor);
    const onnx::DataTypeInfo& type = new_type(header, change);
    if (type.safetensors.empty()) return "of type " + std::string(type.name);
    if (tensor::element_count(header) * type.bits % 8 != 0) return "which ends within a byte";
    if (name == safetensors::kMetadataName) return "whose name the format reserves";
    return std::string(why_not_as_name(name));
}

// The entry of a tensor whose place is not known yet.
safetensors::Entry entry_of(const onnx::Message& tensor, const std::string& name,
                            const TypeChange* change) {
    const tensor::Header header = tensor::read_header(tensor);
    safetensors::Entry entry;
    entry.name = name;
    entry.type = &new_type(header, change);
    for (const std::int64_t dim : header.dims()) {
        entry.shape.push_back(static_cast<std::uint64_t>(dim));
    }
    return entry;
}

}  // namespace

std::string_view why_not_as_name(std::string_view name) noexcept {
    if (!is_utf8(name)) return "whose name is not UTF-8";
    if (name.find('\0') != std::string_view::npos) return "whose name has a null byte";
    return {};
}

// Copies the tensors of a safetensors file. Returns whether the new file can be one as well.
bool SavePlan::copy_safetensors(ModelPlan& model, const std::string& location,
                                const std::vector<const Placed*>& tensors) {
    if (!location.ends_with(kSafetensors)) return false;
    std::set<std::string_view> names;
    for (const Placed* each : tensors) {
        if (each->is_whole_file || !why_not(each->tensor, each->name, each->change).empty())
            return false;
        if (!names.insert(each->name).second) return false;
    }
    LayoutOptions layout;
    layout.container = LayoutOptions::Container::safetensors;
    const std::size_t file = group(location, layout, model.planned.replaces_copies);
    groups_[file].metadata = model::safetensors_metadata(*tensors.front()->values.source);
    for (const Placed* each : tensors) {
        model.moved.push_back({each->tensor, each->values, file, each->name, each->change});
    }
    return true;
}

std::vector<SavePlan::Moved*> SavePlan::moved_to(std::size_t group) {
    std::vector<Moved*> found;
    for (ModelPlan& model : models_) {
        for (Moved& each : model.moved) {
            if (each.group == group) found.push_back(&each);
        }
    }
    return found;
}

bool SavePlan::is_same(const Moved& a, const Moved& b) {
    const tensor::Header one = tensor::read_header(a.tensor);
    const tensor::Header other = tensor::read_header(b.tensor);
    return one.data_type == other.data_type && std::ranges::equal(one.dims(), other.dims()) &&
           a.values.source == b.values.source && a.values.offset == b.values.offset &&
           a.values.nbytes == b.values.nbytes;
}

// Refuses tensors that a file of weights cannot hold, and two of one name. Tensors of several
// models that are the same are one: only the first is returned.
std::vector<SavePlan::Moved*> SavePlan::carried_in(
    std::size_t group, const char* container,
    const std::function<std::string(const Moved&)>& why_not) {
    std::map<std::string_view, const Moved*> first;
    std::vector<Moved*> found;
    for (Moved* each : moved_to(group)) {
        std::string reason = why_not(*each);
        const auto [known, is_new] = first.try_emplace(each->name, each);
        if (is_new) {
            found.push_back(each);
        } else if (!is_same(*known->second, *each)) {
            reason = "which is the name of two tensors";
        }
        if (!reason.empty()) not_carried_.push_back(in_quotes(each->name) + ", " + reason);
    }
    if (not_carried_.empty()) return found;
    std::string text = std::string(container) + " cannot hold ";
    const std::size_t named = std::min(not_carried_.size(), kMostNamed);
    for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : "; ") + not_carried_[i];
    if (named < not_carried_.size()) {
        text += "; and " + std::to_string(not_carried_.size() - named) + " more";
    }
    throw Error("save.not_carried", text);
}

// Lays out the files of a group anew. Which tensors share a file is known.
void SavePlan::add_safetensors(std::size_t group) {
    const std::string& location = groups_[group].location;
    const std::size_t count = groups_[group].layout.take_files().size();
    std::vector<std::vector<Moved*>> files(std::max<std::size_t>(count, 1));
    const std::vector<Moved*> moved =
        carried_in(group, "a safetensors file",
                   [](const Moved& each) { return why_not(each.tensor, each.name, each.change); });
    for (Moved* each : moved) files.at(each->place.value().file).push_back(each);
    const safetensors::Metadata metadata =
        options_.metadata ? weights_metadata() : groups_[group].metadata;
    const std::uint64_t alignment =
        std::max(options_.layout.alignment.value_or(1), safetensors::kLengthBytes);
    for (std::size_t i = 0; i < files.size(); ++i) {
        std::vector<std::pair<safetensors::Entry, Moved*>> rows;
        rows.reserve(files[i].size());
        for (Moved* each : files[i]) {
            rows.emplace_back(entry_of(each->tensor, each->name, each->change), each);
        }
        std::ranges::sort(rows, {}, [](const auto& row) {
            return std::tuple(safetensors::order_of(row.first), std::string_view(row.first.name));
        });
        std::vector<safetensors::Entry> entries;
        entries.reserve(rows.size());
        std::uint64_t end = 0;
        for (auto& [entry, each] : rows) {
            entry.begin = end;
            entry.end = end += each->values.nbytes;
            entries.push_back(std::move(entry));
        }
        DataFile& file = files_.emplace_back();
        file.location = shard_name(location, i, files.size());
        file.replaces = groups_[group].replaces;
        file.parts.copy(safetensors::header_bytes(entries, metadata, alignment));
        for (const auto& [entry, each] : rows) {
            each->place->offset = file.parts.nbytes();
            file.parts.range(each->values.source, each->values.offset, each->values.nbytes);
        }
    }
    std::map<std::string_view, const Moved*> places;
    for (const Moved* each : moved) places.emplace(each->name, each);
    for (Moved* each : moved_to(group)) each->place = places.at(each->name)->place;
}

safetensors::Metadata SavePlan::weights_metadata() const {
    safetensors::Metadata metadata;
    std::set<std::string> keys;
    const onnx::Message root = models_.front().planned.document->root();
    root.for_each_child(field<"ModelProto.metadata_props">, [&](const onnx::Message& entry) {
        const std::string key(entry.text(field<"StringStringEntryProto.key">));
        const std::string text(entry.text(field<"StringStringEntryProto.value">));
        if (!is_utf8(key) || !is_utf8(text)) {
            throw Error("save.not_carried", {"the metadata ", Quoted(key), " is not UTF-8"});
        }
        if (!keys.insert(key).second) {
            throw Error("save.not_carried", {"the metadata has ", Quoted(key), " twice"});
        }
        metadata += metadata.empty() ? '{' : ',';
        safetensors::write_json_string(metadata, key);
        metadata += ':';
        safetensors::write_json_string(metadata, text);
    });
    if (!metadata.empty()) metadata += '}';
    return metadata;
}

FileContent SavePlan::index() const {
    std::uint64_t total = 0;
    std::map<std::string_view, std::string_view> files;
    for (const Moved& each : models_.front().moved) {
        total += each.values.nbytes;
        files[each.name] = files_.at(each.place.value().file).location;
    }
    std::string text = "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(total) +
                       "\n  },\n  \"weight_map\": {";
    const char* separator = "\n    ";
    for (const auto& [name, location] : files) {
        text += separator;
        safetensors::write_json_string(text, name);
        text += ": ";
        safetensors::write_json_string(text, location);
        separator = ",\n    ";
    }
    text += "\n  }\n}\n";
    FileContent content;
    content.copy(text);
    return content;
}

}  // namespace onnxmap::save
