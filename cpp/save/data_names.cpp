#include "save/data_names.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/utf8.hpp"
#include "contain/location.hpp"
#include "save/external_use.hpp"
#include "save/folders_beneath.hpp"
#include "save/model_files.hpp"
#include "save/paths.hpp"

namespace onnxmap::save {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t kLongestName = 255;  // bytes

// The extensions that exporters and tools give to files of weights.
constexpr std::array kOfData = {
    ".data"sv,   ".bin"sv, ".dat"sv,    ".raw"sv,     ".weight"sv,      ".weights"sv,  ".bias"sv,
    ".params"sv, ".pb"sv,  ".tensor"sv, ".tensors"sv, ".safetensors"sv, ".onnx_data"sv};

// Whether other programs can read a data file of this name.
bool is_text(std::string_view location) {
    return location.find('\\') == std::string_view::npos && is_utf8(location);
}

// The position of a name's extension with its dot. Dots at the front begin none.
std::size_t extension_of(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    const bool is_extension = dot != std::string_view::npos && name.find_first_not_of('.') < dot;
    return is_extension ? dot : name.size();
}

bool is_of_data(std::string_view name) {
    constexpr std::string_view kShard = ".onnx_data_";
    const std::string extension = lower(name.substr(extension_of(name)));
    if (extension.starts_with(kShard) && is_number(extension.substr(kShard.size()))) return true;
    return std::ranges::find(kOfData, extension) != kOfData.end();
}

bool is_data_name(const std::string& name, const Callbacks& callbacks) {
    // onnx refuses two dots anywhere in a location.
    return is_of_data(name) && is_text(name) && callbacks.is_printable(name) &&
           name.find("..") == std::string::npos && name.size() <= kLongestName;
}

}  // namespace

void check_data_location(const std::string& folder, const std::string& location) {
    os::for_each_component(location, "/", [&](std::string_view name) {
        if (name.size() > kLongestName) throw FileError(ENAMETOOLONG, joined(folder, location));
    });
    try {
        contain::check_location(location);
    } catch (const contain::LocationFault& fault) {
        const bool is_unsafe = std::string_view(fault.code) == "ext.unsafe_path";
        Error error("ext.unsafe_path", {"the name of the data file ", Quoted(location),
                                        (is_unsafe ? " is unsafe: " : " "), fault.why});
        error.location = location;
        throw error;
    }
}

void check_text(const std::string& location) {
    if (is_text(location)) return;
    throw Error("save.data_name",
                {"the name of the data file ", Quoted(location),
                 " is not UTF-8 or has a backslash, and other programs would not find it; "
                 "choose another name"});
}

bool is_plain_location(const os::OutputFolder& folder, const std::string& location,
                       const Callbacks& callbacks) {
    const std::string subfolder = folder_part(location);
    const bool is_hidden = location.starts_with('.') || location.find("/.") != std::string::npos;
    return !is_hidden && is_data_name(location.substr(subfolder.size()), callbacks) &&
           (subfolder.empty() || has_object(folder, subfolder.substr(0, subfolder.size() - 1)));
}

std::string data_name_after(const std::string& model, const std::string& name, std::size_t i,
                            const Callbacks& callbacks) {
    const std::string kept = name.substr(std::min(name.find_first_not_of('.'), name.size()));
    std::string made =
        model.substr(0, extension_of(model)) + "." + kept + (is_of_data(kept) ? "" : ".data");
    // The data file of a view is a model itself.
    if (i == 0 && !is_named_as_model(name) && is_data_name(made, callbacks)) return made;
    return model + (i < 2 ? "" : "." + std::to_string(i)) + ".data";
}

NewLocations locations_beside(const std::string& model, const os::OutputFolder& folder,
                              const std::set<std::string>& locations, const IsFree& is_free,
                              const Callbacks& callbacks) {
    std::set<std::string> left;
    std::set<std::string> taken{model};
    for (const std::string& location : locations) {
        std::string plain = plain_location(location);
        const bool is_kept =
            plain != model && is_plain_location(folder, plain, callbacks) && is_free(plain);
        (is_kept ? taken : left).insert(std::move(plain));
    }
    NewLocations named;
    for (const std::string& plain : left) {
        const std::string name = plain.substr(folder_part(plain).size());
        std::string made;
        for (std::size_t i = 0; made.empty() || taken.contains(made) || !is_free(made); ++i) {
            made = data_name_after(model, name, i, callbacks);
        }
        taken.insert(made);
        named[plain] = std::move(made);
    }
    NewLocations copies;
    for (const std::string& location : locations) {
        const auto found = named.find(plain_location(location));
        if (found != named.end()) copies[location] = found->second;
    }
    return copies;
}

}  // namespace onnxmap::save
