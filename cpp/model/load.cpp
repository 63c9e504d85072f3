#include "model/load.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/graph.hpp"
#include "model/other_formats.hpp"
#include "os/append_file.hpp"
#include "os/fault_handler.hpp"
#include "os/file.hpp"
#include "os/folder.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::model {

namespace {

std::vector<std::uint8_t> head_of(const source::Source& source) {
    std::vector<std::uint8_t> head(std::min<std::uint64_t>(kHeadBytes, source.size()));
    source.read(0, head);
    return head;
}

// If the file does not begin like the message, the text says so before the parse error, and names
// the format if it is known. The code stays.
Error explained(const Error& error, const source::Source& source,
                const wire::MessageTable& message) {
    const std::string reason = why_not(head_of(source), message);
    std::string text = source.path().empty() ? "buffer" : in_quotes(source.path());
    text += ": ";
    if (!reason.empty()) text += reason + " (";
    text += error.what();
    if (error.offset) text += ", at offset " + std::to_string(*error.offset);
    if (!error.path.empty()) text += ", in " + error.path;
    if (!reason.empty()) text += ')';
    Error full = with_text(error, text);
    full.file = source.path();
    return full;
}

// Throws Error `file.changed` if a binary model may only end too soon because it is being appended
// to, or was written to since it was opened. A text ends too soon for this parser at any time.
void check_end(const Error& error, const source::Source& source) {
    if (error.code != "wire.length_overrun" && error.code != "wire.truncated") return;
    if (!text_form_of_model(head_of(source)).empty()) return;
    const auto file = if_possible([&] { return source.file(); }).value_or(nullptr);
    if (!file) return;
    if (os::AppendFile::is_locked(*file)) {
        fail_at("file.changed", source.path(), " is being written to; load the model again");
    }
    source.check_unchanged();
}

}  // namespace

std::shared_ptr<const Document> load_source(std::shared_ptr<source::Source> source,
                                            const LoadOptions& options, bool require_model) {
    os::renew_fault_handler();
    return source::guard_reads(*source, [&] {
        try {
            if (require_model && source->size() == 0) {
                Error error("model.empty", "the file is empty");
                error.offset = 0;
                throw error;
            }
            auto document = std::make_shared<const Document>(source, options);
            if (require_model) static_cast<void>(main_graph_message(*document));
            return document;
        } catch (const Error& error) {
            if (error.code == "file.changed") throw;
            if (require_model) check_end(error, *source);
            throw explained(error, *source, *options.root);
        }
    });
}

std::shared_ptr<const Document> load_file(const std::string& path, source::IoMode mode,
                                          LoadOptions options) {
    const bool is_model = options.is_model();
    os::File file = os::File::open(path);
    options.external.model_folder = os::real_folder_of(path, file.identity());
    // The second path stays valid if the process changes its working directory.
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::string lasting = options.folder.empty() ? path : options.folder + "/" + name;
    auto source = source::open_source(std::move(file), mode, os::path_locator(lasting));
    options.external.model_path = lasting;
    if (options.watch) options.external.model = source;
    return load_source(std::move(source), options, is_model);
}

}  // namespace onnxmap::model
