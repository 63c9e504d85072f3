#include "fuzz/read_everything.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bulk/read_items.hpp"
#include "check/check.hpp"
#include "fuzz/ask_questions.hpp"
#include "model/graph.hpp"
#include "model/load.hpp"
#include "model/message_walk.hpp"
#include "model/tensor_path.hpp"
#include "onnx/json_format.hpp"
#include "onnx/text_format.hpp"
#include "os/parallel.hpp"

namespace onnxmap::fuzz {

namespace {

using onnx::field;
using onnx::message;
using onnx::Message;

// Deeper than any document that was loaded. Bytes that change can nest to any depth.
constexpr int kDeepest = 150;

// An error of one tensor looks for its path, and one segment reads all of its tensor: each of these
// is linear in the file, so only so many are asked for in one input.
constexpr int kMostPaths = 8;
constexpr int kMostWholes = 8;
// The text of most inputs is longer.
constexpr std::uint64_t kFewCharacters = 256;

volatile std::uint8_t looked_at;

bool may_be_thrown(const Error& error, InputBytes bytes, bool structure) {
    if (bytes == InputBytes::changing) return true;
    const auto is = [&](const char* family) { return error.code.starts_with(family); };
    if (bytes == InputBytes::lazy && is("wire.")) return true;
    return !structure && (is("tensor.") || is("ext.") || is("limit.external_entries") ||
                          is("limit.overlap") || error.code == "model.duplicate_name");
}

void look_at(const Error& error) {
    touch(as_bytes(std::string_view(error.what())));
    touch(as_bytes(error.tensor));
    touch(as_bytes(error.location));
    touch(as_bytes(error.path));
}

class Reading {
  public:
    Reading(const model::Document& document, InputBytes bytes)
        : document_(document), bytes_(bytes) {}

    void read_structure() {
        attempt(true, [&] { read_message(document_.root(), 0); });
        attempt(false, [&] { ask_questions(document_, constant()); });
        onnx::TextOptions few;
        few.longest = 2;
        few.unknown_fields = true;
        for (const onnx::TextOptions& options : {onnx::TextOptions(), few}) {
            attempt(true, [&] {
                onnx::write_text(document_.root(), options,
                                 [](std::string_view part) { touch(as_bytes(part)); });
            });
            attempt(true, [&] {
                onnx::write_json(document_.root(), {options},
                                 [](std::string_view part) { touch(as_bytes(part)); });
            });
        }
        attempt(true, [&] { read_json_of_field({few, true, 1}); });
        few.max_bytes = kFewCharacters;
        attempt(true, [&] { read_limited_text(few); });
        attempt(true, [&] { read_limited_json({few}); });
        attempt(false, [&] { check_rules(); });
    }

    void read_tensors() {
        attempt(true, [&] {
            model::for_each_tensor(document_.root(), document_.limits().depth,
                                   [&](const std::string& path, const Message& tensor) {
                                       touch(as_bytes(path));
                                       read_tensor(tensor);
                                   });
        });
        attempt(true, [&] { read_bulk(); });
    }

    void read_tensor(const Message& tensor) {
        tensor::Header header;
        if (!attempt(true, [&] { header = tensor::read_header(tensor); })) return;
        attempt(false, [&] {
            static_cast<void>(tensor::element_type(header));
            static_cast<void>(tensor::element_count(header));
            tensor::check_fits_numpy(header);
        });
        attempt(true, [&] { static_cast<void>(tensor::stored_nbytes(tensor, header)); });
        if (header.external) attempt(false, [&] { read_entry(tensor, header); });
        if (header.has_segment && ++wholes_ > kMostWholes) return;
        try {
            attempt(false, [&] { read_values(tensor, header); });
        } catch (const Error& error) {
            require(may_be_thrown(error, bytes_, false), error.code.c_str());
        }
    }

    [[nodiscard]] std::uint64_t values_hash() const noexcept { return values_hash_; }

  private:
    // Whether work() ended without an error. An unexpected error ends the process.
    template <class Work>
    bool attempt(bool structure, Work&& work) {
        try {
            work();
            return true;
        } catch (const Error& error) {
            look_at(error);
            require(may_be_thrown(error, bytes_, structure), error.code.c_str());
        } catch (const FileError&) {
            require(!structure, "an error of the system for bytes in memory");
        }
        return false;
    }

    [[nodiscard]] bool constant() const noexcept { return bytes_ != InputBytes::changing; }

    void check_rules() {
        const bool is_set = &document_.root().table() == &message<"OperatorSetProto">;
        if (!document_.is_model() && !is_set) return;
        constexpr std::uint64_t kKept = 4;
        const std::vector<bool> all(check::rules().size(), true);
        const check::Findings findings = check::check(document_, {all, kKept, true});
        for (const check::Finding& each : findings.found()) {
            touch(as_bytes(each.where));
            touch(as_bytes(each.message));
        }
    }

    void read_limited_text(const onnx::TextOptions& options) {
        std::uint64_t read = 0;
        try {
            onnx::write_text(document_.root(), options,
                             [&](std::string_view part) { read += part.size(); });
        } catch (const Error& error) {
            if (error.code != "limit.text_bytes") throw;
        }
        require(read <= options.max_bytes, "more text was written than the limit allows");
    }

    void read_limited_json(const onnx::JsonOptions& options) {
        std::uint64_t read = 0;
        try {
            onnx::write_json(document_.root(), options,
                             [&](std::string_view part) { read += part.size(); });
        } catch (const Error& error) {
            if (error.code != "limit.text_bytes") throw;
        }
        require(read <= options.text.max_bytes, "more JSON was written than the limit allows");
    }

    // What `onnxmap dump FILE FIELD[1]` does, for a field that depends on the input.
    void read_json_of_field(const onnx::JsonOptions& options) {
        const Message root = document_.root();
        const auto& rows = root.table().fields;
        onnx::write_json(root, rows[root.nbytes() % rows.size()], 1, options,
                         [](std::string_view part) { touch(as_bytes(part)); });
    }

    void read_message(const Message& message, int depth) {
        if (depth > kDeepest) return;
        const bool keeps_index = model::Document::is_large(message);
        if (keeps_index || depth < 2) compare_index(message);
        std::string_view oneof;
        for (const wire::FieldRow& row : message.table().fields) {
            if (!row.oneof.empty() && row.oneof != oneof) {
                oneof = row.oneof;
                const wire::FieldRow* member = message.which(oneof);
                require(!constant() || member == nullptr || message.has(*member),
                        "a oneof names a member that is not set");
            }
            require(message.table().find(row.name) == &row, "a field is not found by its name");
            if (row.repeated()) {
                read_repeated(message, row, depth);
            } else if (row.is_message()) {
                read_child(message, row, depth);
            } else {
                read_scalar(message, row);
            }
        }
    }

    void read_repeated(const Message& message, const wire::FieldRow& row, int depth) {
        message.for_each_value(row, [&](const wire::Field& value) {
            if (row.is_message()) {
                read_message(message.inner(row, value), depth + 1);
            } else if (row.is_text()) {
                touch(value.bytes);
            }
        });
    }

    void read_child(const Message& message, const wire::FieldRow& row, int depth) {
        const auto child = message.child(row);
        const auto same = document_.child(message, row);
        if (constant()) {
            require(child.has_value() == same.has_value(), "a child is there one way only");
            require(child.has_value() == message.has(row), "a child is there but not set");
            if (child) compare_pieces(*child, *same);
        }
        if (child) read_message(*child, depth + 1);
    }

    static void compare_pieces(const Message& one, const Message& other) {
        std::vector<std::pair<const std::uint8_t*, std::size_t>> pieces;
        one.for_each_range(
            [&](ByteView piece) { pieces.emplace_back(piece.data(), piece.size()); });
        std::size_t i = 0;
        other.for_each_range([&](ByteView piece) {
            require(i < pieces.size() && pieces[i] == std::pair(piece.data(), piece.size()),
                    "a piece of a child is elsewhere");
            ++i;
        });
        require(i == pieces.size(), "a child has other pieces");
    }

    void read_scalar(const Message& message, const wire::FieldRow& row) {
        const auto found = message.find(row);
        const auto same = document_.find(message, row);
        if (found && row.is_text()) touch(found->bytes);
        if (!constant()) return;
        require(found.has_value() == same.has_value(), "a field is there one way only");
        require(!found || found->begin == same->begin, "a field is found in two places");
    }

    // Compares the index of every field with a walk over the message.
    void compare_index(const Message& message) {
        const auto fields = message.table().fields;
        std::vector<std::vector<const std::uint8_t*>> walked(fields.size());
        message.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
            if (row == nullptr) {
                touch({found.begin, found.end});
            } else {
                walked[message.table().position[row->number]].push_back(found.begin);
            }
        });
        const auto index = document_.index(message);
        for (std::size_t position = 0; position < fields.size(); ++position) {
            const wire::FieldRow& row = fields[position];
            const std::uint64_t count = index->count(row);
            if (constant()) {
                require(count == walked[position].size(), "the index has another number of fields");
            }
            std::size_t next = 0;
            index->for_each(row, [&](const wire::Field& found) {
                const std::size_t i = next++;
                if (!constant()) return;
                require(found.begin == walked[position][i], "the index has another order");
            });
            // A walk of up to 1 KiB each.
            for (std::uint64_t i = 0; i < count; i += 1 + count / 32) {
                const wire::Field found = index->at(row, i);
                if (!constant()) continue;
                require(found.begin == walked[position][i], "the index finds another field");
            }
        }
    }

    void read_entry(const Message& tensor, const tensor::Header& header) const {
        const tensor::Store& store = document_.store();
        const tensor::ExternalEntry entry =
            tensor::read_external_entry(tensor, header.name, store.max_external_entries);
        touch(as_bytes(entry.location));
        if (entry.checksum) touch(as_bytes(*entry.checksum));
        static_cast<void>(store.external.path_of(entry.location, header.name));
    }

    // Without the path of the tensor in an error: to find it takes as long as to read the message.
    [[nodiscard]] tensor::Values find_values(const Message& tensor,
                                             const tensor::Header& header) const {
        auto segments = header.has_segment ? document_.segments_of(tensor) : nullptr;
        return {tensor, header, document_.store(), source::kRecently, std::move(segments)};
    }

    void read_values(const Message& tensor, const tensor::Header& header) {
        try {
            tensor::Values values = find_values(tensor, header);
            values.for_each_range([](const auto& source, std::uint64_t offset, std::uint64_t size) {
                require(offset <= source->size() && size <= source->size() - offset,
                        "values are outside of their file");
            });
            static_cast<void>(values.is_view());
            static_cast<void>(values.stored_nbytes());
            values.check_count();
            if (values.type().bits == 0) {
                values.for_each_string(
                    [](std::uint64_t, std::string_view text) { touch(as_bytes(text)); });
            } else {
                read_numbers(values);
            }
        } catch (const Error& error) {
            if (++paths_ > kMostPaths) throw;
            throw model::with_tensor_path(error, document_, header.begin);
        }
    }

    void read_numbers(const tensor::Values& values) {
        const tensor::Conversion own = tensor::Conversion::none(values.type());
        const Block array = read_as(values, own);
        touch(array.bytes());
        if (!values.in_pieces() || !array.bytes().empty()) read_packed(values);
        if (values.payload() != nullptr && values.count() > 0) {
            // The second half by itself, which may begin within a byte.
            const std::uint64_t begin = values.count() / 2;
            Block part((values.count() - begin) * values.type().itemsize());
            values.read_part(begin, values.count() - begin, own, part.data());
            const std::uint64_t offset = begin * values.type().itemsize();
            require(!constant() || part.same_as(array.bytes().subspan(offset)),
                    "a part of a tensor differs from the whole");
        }
        for (const onnx::DataTypeInfo& type : onnx::data_types()) {
            const auto conversion = tensor::Conversion::find(values.type(), type);
            if (!conversion || conversion->is_copy()) continue;
            const Block converted = read_as(values, *conversion);
            Block again(converted.bytes().size());
            conversion->elements(array.bytes().data(), values.count(), again.data());
            require(!constant() || again.same_as(converted.bytes()),
                    "a tensor is converted to other values than its elements are");
        }
    }

    void read_packed(const tensor::Values& values) {
        Block packed(tensor::packed_nbytes(values.count(), values.type().bits));
        values.read_packed(packed.bytes_to_write());
        touch(packed.bytes());
    }

    // A block of exactly that size: the sanitizer notices one byte too many.
    class Block {
      public:
        explicit Block(std::uint64_t nbytes) : size_(nbytes), block_(new std::uint8_t[nbytes]) {}
        [[nodiscard]] std::uint8_t* data() noexcept { return block_.get(); }
        [[nodiscard]] ByteView bytes() const noexcept { return {block_.get(), size_}; }
        [[nodiscard]] std::span<std::uint8_t> bytes_to_write() noexcept {
            return {block_.get(), size_};
        }
        [[nodiscard]] bool same_as(ByteView other) const noexcept {
            return size_ == other.size() &&
                   (size_ == 0 || std::memcmp(block_.get(), other.data(), size_) == 0);
        }

      private:
        std::uint64_t size_;
        std::unique_ptr<std::uint8_t[]> block_;
    };

    Block read_as(const tensor::Values& values, const tensor::Conversion& conversion) {
        Block block(values.count() * conversion.to().itemsize());
        values.read(conversion, block.bytes_to_write());
        values_hash_ = values_hash_ * 31 + hash_of(block.bytes());
        return block;
    }

    // Compares a read of all good initializers at once with reads one by one.
    void read_bulk() {
        if (&document_.root().table() != &message<"ModelProto">) return;
        const auto graph = document_.child(document_.root(), field<"ModelProto.graph">);
        if (!graph) return;
        const std::shared_ptr<const model::Document> borrowed(&document_, [](auto*) {});
        const model::Graph opened(borrowed, *graph);
        std::vector<std::uint32_t> good;
        std::uint32_t position = 0;
        int wholes = 0;
        opened.initializers().for_each_tensor([&](const model::Tensor& tensor) {
            const std::uint32_t here = position++;
            if (tensor.header().has_segment && ++wholes > kMostWholes) return;
            const tensor::TolerateQuietly quietly;
            try {
                tensor::Values values = find_values(tensor.message(), tensor.header());
                values.check_count();
                if (values.type().bits > 0) static_cast<void>(read_as(values, own_of(values)));
                good.push_back(here);
            } catch (const Error& error) {
                require(may_be_thrown(error, bytes_, false), error.code.c_str());
            } catch (const FileError&) {}
        });
        for (const onnx::DataType to : {onnx::DataType::UNDEFINED, onnx::DataType::FLOAT}) {
            attempt(false, [&] { read_planned(opened, good, onnx::find_data_type(int(to))); });
        }
    }

    static tensor::Conversion own_of(const tensor::Values& values) {
        return tensor::Conversion::none(values.type());
    }

    void read_planned(const model::Graph& graph, const std::vector<std::uint32_t>& positions,
                      const onnx::DataTypeInfo* float_type) {
        bulk::Options options;
        options.float_type = float_type;
        const bulk::Plan plan(graph.initializers(), positions, options);
        require(plan.items().size() == positions.size(), "a plan leaves tensors out");
        const os::WithThreadBudget alone({1, nullptr});
        std::atomic<std::uint64_t> done = 0;
        const auto memory = bulk::read_items(plan, plan.items(), done);
        for (std::size_t i = 0; i < memory.size(); ++i) {
            const bulk::Item& item = plan.items()[i];
            if (item.reading == bulk::Reading::text) continue;
            const tensor::TolerateQuietly quietly;
            tensor::Values values = plan.stored().values(item);
            values.check_count();
            const Block one = read_as(values, item.conversion());
            require(!constant() || one.same_as(memory[i].bytes),
                    "a bulk read gives other values than a single one");
        }
    }

    const model::Document& document_;
    InputBytes bytes_;
    int paths_ = 0;
    int wholes_ = 0;
    std::uint64_t values_hash_ = 0;
};

}  // namespace

void load_and_read(std::shared_ptr<source::Source> source, const model::LoadOptions& options,
                   bool require_model, InputBytes bytes) {
    const std::uint64_t size = source->size();
    std::shared_ptr<const model::Document> document;
    try {
        document = model::load_source(std::move(source), options, require_model);
    } catch (const Error& error) {
        look_at(error);
        const bool verdict = error.code.starts_with("wire.") || error.code.starts_with("limit.") ||
                             (require_model && error.code.starts_with("model."));
        require(verdict || bytes == InputBytes::changing, error.code.c_str());
        require(error.offset.value_or(0) <= size, "an error is behind the end of its file");
        return;
    }
    Reading reading(*document, bytes);
    reading.read_structure();
    reading.read_tensors();
}

void read_document(const model::Document& document) {
    Reading reading(document, InputBytes::constant);
    reading.read_structure();
    reading.read_tensors();
}

std::uint64_t read_tensor(const model::Document& document, InputBytes bytes) {
    Reading reading(document, bytes);
    reading.read_tensor(document.root());
    return reading.values_hash();
}

void fail(const char* what) {
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
}

// Not counted as work: only the work of the core counts.
[[gnu::no_profile_instrument_function, clang::no_sanitize("coverage", "undefined")]] void touch(
    ByteView bytes) {
    const std::uint8_t* const begin = bytes.data();
    const std::uint8_t* const end = begin + bytes.size();
    std::uint8_t sum = 0;
    for (const std::uint8_t* p = begin; p != end; ++p) sum = static_cast<std::uint8_t>(sum ^ *p);
    looked_at = sum;
}

[[gnu::no_profile_instrument_function, clang::no_sanitize("coverage", "undefined")]] std::uint64_t
hash_of(ByteView bytes) noexcept {
    const std::uint8_t* const begin = bytes.data();
    const std::uint8_t* const end = begin + bytes.size();
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;  // FNV-1a
    for (const std::uint8_t* p = begin; p != end; ++p) {
        hash = (hash ^ *p) * 0x0000'0100'0000'01b3;
    }
    return hash ^ hash >> 32;
}

}  // namespace onnxmap::fuzz
