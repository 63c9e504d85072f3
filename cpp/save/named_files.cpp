#include "save/named_files.hpp"

#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "model/copy_message.hpp"
#include "model/edit_message.hpp"
#include "model/ep_context.hpp"
#include "model/message_walk.hpp"
#include "model/name_table.hpp"
#include "model/tensor.hpp"
#include "onnx/schema.hpp"
#include "save/external_use.hpp"
#include "save/paths.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

using onnx::field;

namespace {

// A field of a message, which becomes a text.
struct NewText {
    onnx::Message message;
    const wire::FieldRow& row;
    std::string_view text;
};

std::string if_local_file(const std::optional<std::string>& path) {
    const auto status = path ? object_at(*path, os::AtLink::its_target) : std::nullopt;
    return status && status->kind == os::FileKind::regular ? *path : std::string();
}

}  // namespace

std::set<std::string> file_locations(const model::Document& document) {
    std::set<std::string> locations = external_locations(document);
    source::guard_reads(document.source(), [&] {
        model::for_each_ep_context_file(document,
                                        [&](const std::string&, const model::Attribute& attribute) {
                                            locations.emplace(model::location_of(attribute));
                                        });
    });
    return locations;
}

std::vector<std::pair<std::string, std::string>> file_paths(const model::Document& document) {
    std::vector<std::pair<std::string, std::string>> files;
    model::TextMap<std::size_t> known;
    // `path`: finds it, unless the location is not valid.
    const auto add = [&](std::string_view location, const auto& path) {
        const auto [place, is_new] = known.try_emplace(std::string(location), files.size());
        if (is_new) files.emplace_back(location, std::string());
        std::string& found = files[place->second].second;
        if (found.empty()) found = if_local_file(path());
    };
    // Reading the tensor or the node raises the error.
    const auto visit_tensor = [&](const std::string&, const onnx::Message& message) {
        static_cast<void>(if_possible([&] {
            const model::Tensor tensor(document, message);
            if (const auto entry = tensor.external()) {
                add(entry->location, [&] { return tensor.file(); });
            }
            return true;
        }));
    };
    const auto visit_node = [&](const std::string&, const model::Attribute& attribute) {
        static_cast<void>(if_possible([&] {
            const std::string_view location = model::location_of(attribute);
            add(location,
                [&] { return std::optional(document.store().external.path_of(location, {})); });
            return true;
        }));
    };
    source::guard_reads(document.source(), [&] {
        model::for_each_tensor(document, visit_tensor);
        model::for_each_ep_context_file(document, visit_node);
    });
    return files;
}

void rename_locations(const model::Document& document, const NewLocations& names) {
    std::vector<NewText> found;
    const auto note = [&](const onnx::Message& message, const wire::FieldRow& row) {
        const std::string_view text = message.text(row);
        const auto renamed = names.find(text);
        // The same text would be an edit.
        if (renamed == names.end() || renamed->second == text) return;
        found.push_back({message, row, renamed->second});
    };
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& tensor) {
        tensor.for_each_child(field<"TensorProto.external_data">, [&](const onnx::Message& entry) {
            if (entry.text(field<"StringStringEntryProto.key">) == "location") {
                note(entry, field<"StringStringEntryProto.value">);
            }
        });
    });
    model::for_each_ep_context_file(document,
                                    [&](const std::string&, const model::Attribute& attribute) {
                                        note(attribute.message(), field<"AttributeProto.s">);
                                    });
    for (const NewText& each : found) {
        model::set_value(document, each.message, each.row, model::text_value(each.row, each.text));
    }
}

std::map<std::uint64_t, std::string> take_locations(const model::Document& document) {
    std::map<std::uint64_t, std::string> locations;
    std::vector<onnx::Message> found;
    std::uint64_t position = 0;
    model::for_each_tensor(document, [&](const std::string&, const onnx::Message& message) {
        const std::uint64_t here = position++;
        const model::Tensor tensor(document, message);
        const tensor::Header& header = tensor.header();
        if (!header.external || (!header.raw_data && header.typed_fields == 0)) return;
        locations.emplace(here, plain_location(tensor.external()->location));
        found.push_back(message);
    });
    for (const onnx::Message& message : found) {
        const auto rows = onnx::Pieces::rows(message.table(), field<"TensorProto.external_data">) |
                          onnx::Pieces::rows(message.table(), field<"TensorProto.data_location">);
        document.editable().set(message, model::fields_of(message)->replace(rows, std::nullopt, {}),
                                rows);
        static_cast<void>(model::Tensor(document, message.current()).values());
    }
    return locations;
}

}  // namespace onnxmap::save
