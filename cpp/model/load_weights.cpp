#include "model/load_weights.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/load.hpp"
#include "model/name_table.hpp"
#include "model/other_formats.hpp"
#include "onnx/operators.hpp"
#include "os/file.hpp"
#include "os/folder.hpp"
#include "safetensors/header.hpp"
#include "safetensors/json_reader.hpp"
#include "source/owned_bytes.hpp"
#include "source/shared_source.hpp"
#include "wire/writer.hpp"

namespace onnxmap::model {

namespace {

using onnx::field;
using safetensors::Entry;
using safetensors::kLengthBytes;
using SourcePtr = std::shared_ptr<const source::Source>;

std::string read_text(const source::Source& file, std::uint64_t offset, std::uint64_t nbytes) {
    std::string text(nbytes, '\0');
    file.read(offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    return text;
}

// Calls read(), whose errors are about the file.
template <class Read>
decltype(auto) about_file(const source::Source& file, Read&& read) {
    try {
        return read();
    } catch (const Error& error) {
        if (error.code == "file.changed") throw;
        std::string text = in_quotes(file.path()) + ": " + error.what();
        if (error.offset) text += ", at offset " + std::to_string(*error.offset);
        Error full = with_text(error, text);
        full.file = file.path();
        throw full;
    }
}

struct SafetensorsFile {
    safetensors::Header header;
    std::uint64_t data_begin = 0;
};

// Behind the length of its header, the header of a file of weights begins.
void refuse_other_formats(const source::Source& file) {
    const std::string head = read_text(file, 0, std::min<std::uint64_t>(file.size(), kHeadBytes));
    if (head.size() <= kLengthBytes || head[kLengthBytes] == '{') return;
    const std::string kind(looks_like(as_bytes(head)));
    if (kind.empty()) return;
    throw Error("model.safetensors", {"this is not a safetensors file; it looks like ", kind});
}

SafetensorsFile read_safetensors(const source::Source& file) {
    return about_file(file, [&] {
        refuse_other_formats(file);
        const std::uint64_t nbytes = file.size();
        const std::string head = read_text(file, 0, std::min(nbytes, kLengthBytes));
        const std::uint64_t json = safetensors::json_nbytes(as_bytes(head), nbytes);
        const std::uint64_t begin = kLengthBytes + json;
        return SafetensorsFile{
            safetensors::parse_header(read_text(file, kLengthBytes, json), nbytes - begin), begin};
    });
}

// The names of the tensors in each shard, by its location.
using Shards = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Reads the index that transformers writes: {"weight_map": {tensor: file}}.
Shards read_index(const source::Source& file) {
    return about_file(file, [&] {
        if (file.size() > safetensors::kMostJson) {
            throw Error("model.safetensors", "an index of shards has at most 100,000,000 bytes");
        }
        const std::string text = read_text(file, 0, file.size());
        safetensors::JsonReader reader(text);
        Shards shards;
        std::map<std::string, std::size_t, std::less<>> places;  // of files in `shards`
        bool has_map = false;
        reader.for_each_member([&](const std::string& key) {
            if (key != "weight_map") {
                reader.skip_value();
                return;
            }
            if (std::exchange(has_map, true)) reader.fail("the index has weight_map twice");
            reader.for_each_member([&](const std::string& tensor) {
                const std::string location = reader.string();
                const auto place = places.try_emplace(location, shards.size());
                if (place.second) shards.push_back({location, {}});
                shards[place.first->second].second.push_back(tensor);
            });
        });
        reader.end();
        std::vector<std::string_view> names;
        for (const auto& [location, tensors] : shards)
            names.insert(names.end(), tensors.begin(), tensors.end());
        std::ranges::sort(names);
        if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
            reader.fail("the index names the tensor " + in_quotes(*twice) + " twice");
        }
        if (!has_map) reader.fail("the file is not an index of shards: it has no weight_map");
        return shards;
    });
}

// Writes a ModelProto. Each message is written behind the room for its longest head.
class ModelWriter {
  public:
    void add(const Entry& tensor, const std::string& location, std::uint64_t data_begin) {
        const std::uint64_t nbytes = tensor.end - tensor.begin;
        std::string message;
        for (const std::uint64_t dim : tensor.shape) {
            if (dim > INT64_MAX) {
                Error error("tensor.size_overflow", {"tensor ", Quoted(tensor.name),
                                                     ": ONNX has no dimension of 2^63 and more"});
                error.tensor = tensor.name;
                throw error;
            }
            put(message, field<"TensorProto.dims">, dim);
        }
        put(message, field<"TensorProto.data_type">, static_cast<std::uint64_t>(tensor.type->type));
        put(message, field<"TensorProto.name">, tensor.name);
        if (nbytes == 0) {
            put(message, field<"TensorProto.raw_data">, "");
        } else {
            put_entry(message, field<"TensorProto.external_data">, "location", location);
            put_entry(message, field<"TensorProto.external_data">, "offset",
                      std::to_string(data_begin + tensor.begin));
            put_entry(message, field<"TensorProto.external_data">, "length",
                      std::to_string(nbytes));
            put(message, field<"TensorProto.data_location">, kExternal);
        }
        put(initializers_, field<"GraphProto.initializer">, message);
    }

    void add(const safetensors::Metadata& metadata) {
        if (!metadata.empty()) metadata_.push_back(metadata);
    }

    [[nodiscard]] std::string model() const {
        std::string opset;
        put(opset, field<"OperatorSetIdProto.version">,
            static_cast<std::uint64_t>(onnx::operator_domains()[0].newest));
        std::string graph_name;
        put(graph_name, field<"GraphProto.name">, "arrays");  // as that of from_arrays
        std::string out;
        put(out, field<"ModelProto.ir_version">, onnx::kNewestIrVersion);
        wire::write_head(out, field<"ModelProto.graph">.number,
                         graph_name.size() + initializers_.size());
        out += graph_name;
        out += initializers_;
        put(out, field<"ModelProto.opset_import">, opset);
        // If several files have a key, the first one decides.
        NameTable known(NameTable::Text::copied);
        for (const safetensors::Metadata& each : metadata_) {
            safetensors::JsonReader reader(each);
            reader.for_each_member([&](const std::string& key) {
                const std::string value = reader.string();
                if (metadata_.size() > 1 && !known.add(key).is_new) return;
                put_entry(out, field<"ModelProto.metadata_props">, key, value);
            });
        }
        return out;
    }

  private:
    static constexpr std::uint64_t kExternal = 1;  // TensorProto.DataLocation

    static void put(std::string& out, const wire::FieldRow& row, std::uint64_t value) {
        wire::write_tag(out, row.number, wire::WireType::varint);
        wire::write_varint(out, value);
    }
    static void put(std::string& out, const wire::FieldRow& row, std::string_view content) {
        wire::write_head(out, row.number, content.size());
        out += content;
    }
    static void put_entry(std::string& out, const wire::FieldRow& row, std::string_view key,
                          std::string_view value) {
        std::string entry;
        put(entry, field<"StringStringEntryProto.key">, key);
        put(entry, field<"StringStringEntryProto.value">, value);
        put(out, row, entry);
    }

    std::string initializers_;
    std::vector<safetensors::Metadata> metadata_;
};

class Loading {
  public:
    explicit Loading(LoadOptions options) : options_(std::move(options)) {}

    [[nodiscard]] std::shared_ptr<const Document> load(const SourcePtr& file,
                                                       const std::string& location) {
        const std::string head =
            read_text(*file, 0, std::min<std::uint64_t>(file->size(), kHeadBytes));
        const std::size_t first = head.find_first_not_of(" \t\n\r");
        const bool is_index = first != std::string::npos && head[first] == '{' &&
                              !safetensors::begins_file(as_bytes(head), file->size());
        if (is_index) {
            add_shards(read_index(*file));
        } else {
            const SafetensorsFile read = read_safetensors(*file);
            add(read.header.tensors, read.data_begin, file, location);
            writer_.add(read.header.metadata);
        }
        return model();
    }

  private:
    void add(const std::vector<Entry>& tensors, std::uint64_t data_begin, const SourcePtr& file,
             const std::string& location) {
        about_file(*file, [&] {
            for (const Entry& each : tensors) writer_.add(each, location, data_begin);
        });
        options_.external.opened.emplace(location, file);
    }

    void add_shards(const Shards& shards) {
        const tensor::ExternalFiles files(options_.external);
        for (const auto& [location, names] : shards) {
            const SourcePtr file = files.open(location, names.front());
            const SafetensorsFile read = read_safetensors(*file);
            add(chosen(read.header.tensors, names, *file), read.data_begin, file, location);
            writer_.add(read.header.metadata);
        }
    }

    // The document of all that was added.
    [[nodiscard]] std::shared_ptr<const Document> model() {
        const std::string bytes = writer_.model();
        auto source = std::make_shared<source::OwnedBytes>(bytes.size());
        std::ranges::copy(bytes, source->writable().begin());
        return load_source(std::move(source), options_, true);
    }

    // The tensors that the index names; a shard may have others.
    [[nodiscard]] static std::vector<Entry> chosen(const std::vector<Entry>& tensors,
                                                   std::vector<std::string> names,
                                                   const source::Source& file) {
        std::ranges::sort(names);
        std::vector<Entry> found;
        std::ranges::copy_if(tensors, std::back_inserter(found), [&](const Entry& each) {
            return std::ranges::binary_search(names, each.name);
        });
        if (found.size() == names.size()) return found;
        std::vector<std::string_view> present;
        present.reserve(found.size());
        for (const Entry& each : found) present.push_back(each.name);
        std::ranges::sort(present);
        const auto missing = std::ranges::find_if(names, [&](const std::string& name) {
            return !std::ranges::binary_search(present, name);
        });
        fail_at("model.safetensors", file.path(),
                ": the shard has no tensor " + in_quotes(*missing) + ", which the index names");
    }

    LoadOptions options_;
    ModelWriter writer_;
};

// Opens a local file, and returns its location in its folder.
std::pair<SourcePtr, std::string> open_file(const std::string& path, LoadOptions& options) {
    os::File file = os::File::open(path);
    options.external.model_folder = os::real_folder_of(path, file.identity());
    std::string name = path.substr(path.rfind('/') + 1);
    const std::string lasting = options.folder.empty() ? path : options.folder + "/" + name;
    return {source::open_shared(std::move(file), options.external.mode, os::path_locator(lasting)),
            std::move(name)};
}

}  // namespace

std::shared_ptr<const Document> load_safetensors(const SourcePtr& file, const std::string& location,
                                                 LoadOptions options) {
    return Loading(std::move(options)).load(file, location);
}

std::shared_ptr<const Document> load_safetensors(const std::string& path, LoadOptions options) {
    auto [file, name] = open_file(path, options);
    return Loading(std::move(options)).load(file, name);
}

safetensors::Metadata safetensors_metadata(const source::Source& file) {
    try {
        return read_safetensors(file).header.metadata;
    } catch (const Error& error) {
        if (error.code == "file.changed") throw;
        return {};
    }
}

std::shared_ptr<const Document> load_beside(const std::string& path,
                                            std::shared_ptr<source::Source> model,
                                            const FileState& state, LoadOptions options) {
    auto [file, name] = open_file(path, options);
    const os::FileIdentity now = file->identity().value();
    const FileState found = {now.device, now.inode, now.size,
                             static_cast<std::uint64_t>(now.modified_ns)};
    if (found != state) {
        fail_at("file.changed", path, " was replaced or written to while it was read");
    }
    options.external.opened.emplace(name, file);
    return load_source(std::move(model), options, true);
}

}  // namespace onnxmap::model
