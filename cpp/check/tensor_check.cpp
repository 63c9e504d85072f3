#include "check/tensor_check.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "check/metadata_check.hpp"
#include "check/string_check.hpp"
#include "model/sparse_tensor.hpp"
#include "model/tensor.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"
#include "tensor/conversion.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

// Typed fields of this size are read without being asked for: counting varints means reading them,
// and the small tensors of shapes and axes are stored that way.
constexpr std::uint64_t kSmall = 64 << 10;
constexpr std::uint64_t kBlock = 64 << 10;
constexpr std::uint64_t kPageSize = 4096;  // Source: onnx.proto, TensorProto.external_data

// The rule that an error of the core is about; nothing if the error is not about the model.
std::optional<Rule> rule_of(const Error& error) {
    if (error.code == "limit.external_entries") return Rule::ext_entries;
    return find_rule(error.code);
}

// Whether the tensor has many segments, of which this one is not the first. The whole tensor is
// checked through its first segment.
bool is_later_segment(const Error& error) { return error.code == "limit.overlap"; }

using BrokenRule = std::optional<Rule>;

// Calls work(). An error about the tensor becomes a finding, unless a part has it already. Returns
// the rule that it is about.
template <class Work>
BrokenRule broken_by(Checking& checking, const FieldPath& path, Work&& work,
                     std::span<const BrokenRule> of_parts = {}) {
    try {
        work();
        return std::nullopt;
    } catch (const Error& error) {
        if (is_later_segment(error)) return std::nullopt;
        const BrokenRule rule = rule_of(error);
        if (!rule) throw;
        if (std::ranges::find(of_parts, rule) == of_parts.end()) {
            checking.found(*rule, path, error.what());
        }
        return rule;
    }
}

void check_version(Checking& checking, const tensor::Header& header, const FieldPath& path) {
    const onnx::DataTypeInfo* const type = onnx::find_data_type(header.data_type);
    if (type == nullptr || type->ir_version <= checking.ir_version) return;
    checking.found(Rule::tensor_dtype_version, path,
                   {"IR version ", checking.ir_version, " has no type ", type->name, "; version ",
                    type->ir_version, " added it"});
}

// Whether a length is 0. Reading a tensor takes it for a length that is left out.
bool is_zero(std::string_view number) noexcept {
    return !number.empty() && std::ranges::all_of(number, [](char c) { return c == '0'; });
}

// The entries of external_data that reading the tensor does not look at. Returns whether one says
// that the length is 0.
bool check_entries(Checking& checking, const onnx::Message& tensor, const tensor::Header& header,
                   const FieldPath& path) {
    const wire::FieldRow& row = field<"TensorProto.external_data">;
    bool has_zero_length = false;
    for_each_child(tensor, row, path, [&](const onnx::Message& entry, const FieldPath& here) {
        const auto key = entry.text(field<"StringStringEntryProto.key">);
        const auto text = entry.text(field<"StringStringEntryProto.value">);
        has_zero_length = has_zero_length || (key == "length" && is_zero(text));
        // onnxruntime keeps prepacked weights behind keys of its own, and onnx knows basepath.
        const bool is_known = key == "location" || key == "offset" || key == "length" ||
                              key == "checksum" || key == "basepath" ||
                              key.starts_with("prepacked");
        if (!is_known) {
            checking.found(Rule::ext_unknown_key, here,
                           {Quoted(key), " is not a key of external data"});
        }
        if (key == "checksum" && !is_sha1(text)) {
            checking.found(Rule::ext_checksum_form, here, {Quoted(text), " is not a SHA-1 digest"});
        }
    });
    if (!header.external && tensor.has(row)) {
        checking.found(Rule::ext_not_used, path,
                       "the tensor has external_data, and its data_location is not EXTERNAL");
    }
    return has_zero_length;
}

bool is_in_training(const FieldPath& path) {
    const FieldPath* outermost = &path;
    while (outermost->parent != nullptr && outermost->parent->row != nullptr) {
        outermost = outermost->parent;
    }
    return outermost->row == &field<"ModelProto.training_info">;
}

void check_external(Checking& checking, const model::Tensor& tensor, const tensor::Values& values,
                    bool has_zero_length, const FieldPath& path) {
    const auto entry = tensor.external();
    const tensor::Payload* const payload = values.payload();
    if (!entry || payload == nullptr) return;
    if (has_zero_length && payload->nbytes > 0) {
        checking.found(Rule::ext_length_zero, path, "the length is 0, and the tensor has values");
    }
    if (entry->offset % kPageSize != 0) {
        checking.found(Rule::ext_alignment, path,
                       {"the offset ", entry->offset, " is not a multiple of 4096"});
    }
    const auto model = checking.document.source().identity();
    const auto file = payload->source->identity();
    if (model && file && model->same_file(*file)) {
        checking.found(Rule::ext_model_file, path, "the values are in the file of the model");
    }
    if (payload->nbytes > 0 && checking.inlines.decides_shape(tensor.header())) {
        checking.found(Rule::ext_decides_shape, path,
                       "a node reads the values to tell a shape, and they are external");
    }
    if (is_in_training(path)) {
        checking.found(Rule::ext_training, path, "the tensor is in training_info and external");
    }
    if (payload->nbytes > 0) {
        checking.external.push_back(
            {payload->source, payload->offset, payload->nbytes, checking.kept.keep(path)});
    }
}

void check_booleans(Checking& checking, const tensor::Values& values, const FieldPath& path) {
    std::vector<std::uint8_t> block(std::min(kBlock, values.count()));
    for (std::uint64_t begin = 0; begin < values.count(); begin += block.size()) {
        const auto part =
            std::span(block).first(std::min<std::uint64_t>(block.size(), values.count() - begin));
        values.read_packed_part(begin, part);
        const auto found = std::ranges::find_if(part, [](std::uint8_t byte) { return byte > 1; });
        if (found == part.end()) continue;
        checking.found(Rule::tensor_bool_value, path, [&] {
            return "the byte of element " +
                   std::to_string(begin + static_cast<std::uint64_t>(found - part.begin())) +
                   " is " + std::to_string(*found);
        });
        return;
    }
}

void check_strings(Checking& checking, const tensor::Values& values, const FieldPath& path) {
    bool is_first = true;
    values.for_each_string([&](std::uint64_t i, std::string_view text) {
        const char* const fault = fault_of_string(text);
        if (fault == nullptr || !is_first) return;
        is_first = false;
        checking.found(Rule::tensor_string_value, path, {"element ", i, " ", fault});
    });
}

// What only the values tell.
void check_values(Checking& checking, tensor::Values& values, const FieldPath& path) {
    values.check_count();
    const onnx::DataTypeInfo& type = values.type();
    if (type.bits == 0) {
        check_strings(checking, values, path);
        return;
    }
    values.check_padding();
    if (values.payload() == nullptr) {
        std::vector<std::uint8_t> decoded(values.count() * type.itemsize());
        values.read(tensor::Conversion::none(type), decoded);
    } else if (type.type == onnx::DataType::BOOL) {
        check_booleans(checking, values, path);
    }
}

BrokenRule check_part(Checking& checking, const onnx::Message& tensor, const FieldPath& path) {
    model::Tensor checked(checking.document, tensor);
    checked.leave_paths_out();
    const tensor::Header& header = checked.header();
    check_version(checking, header, path);
    const bool has_zero_length = check_entries(checking, tensor, header, path);
    return broken_by(checking, path, [&] {
        tensor::Values values = checked.values(checking.timestamp);
        if (header.external) check_external(checking, checked, values, has_zero_length, path);
        const bool is_small = values.payload() == nullptr && tensor.nbytes() <= kSmall;
        if (checking.values || is_small) check_values(checking, values, path);
    });
}

}  // namespace

void check_tensor(Checking& checking, const onnx::Message& tensor, const FieldPath& path) {
    check_part(checking, tensor, path);
    check_texts(checking.findings, tensor, path);
    if (tensor.has(field<"TensorProto.segment">)) {
        checking.found(Rule::tensor_segment_used, path, "the tensor has a segment");
    }
    if (tensor.has(field<"TensorProto.metadata_props">)) {
        check_metadata(checking.findings, tensor, field<"TensorProto.metadata_props">, path);
    }
}

void check_sparse_tensor(Checking& checking, const onnx::Message& sparse, const FieldPath& path) {
    std::vector<BrokenRule> of_parts;
    for (const wire::FieldRow* const row :
         {&field<"SparseTensorProto.values">, &field<"SparseTensorProto.indices">}) {
        const auto part = sparse.child(*row);
        if (part) of_parts.push_back(check_part(checking, *part, FieldPath{&path, row}));
    }
    if (sparse.count(field<"SparseTensorProto.dims">) == 0) {
        checking.found(Rule::tensor_sparse_rank, path, "the sparse tensor has no dimensions");
        return;
    }
    model::SparseTensor checked(checking.document, sparse);
    checked.leave_paths_out();
    const auto check_whole = [&] {
        const model::SparseStructure structure = checked.check_structure();
        if (checking.values) static_cast<void>(checked.positions(structure));
    };
    broken_by(checking, path, check_whole, of_parts);
}

void check_external_ranges(Checking& checking) {
    if (!checking.findings.wants(Rule::ext_overlap)) return;
    std::vector<ExternalRange>& ranges = checking.external;
    std::unordered_map<const source::Source*, std::uint64_t> files;  // in the order of first use
    for (ExternalRange& range : ranges) {
        range.file = files.try_emplace(range.source.get(), files.size()).first->second;
    }
    std::ranges::stable_sort(ranges, {}, [](const ExternalRange& range) {
        return std::tuple(range.file, range.offset, range.nbytes);
    });
    const ExternalRange* before = nullptr;  // the one of its file that ends last so far
    const ExternalRange* other = nullptr;   // the one that a range shares a part with
    const ExternalRange* last = nullptr;
    for (const ExternalRange& range : ranges) {
        const bool is_same_file = before != nullptr && before->file == range.file;
        // The same range as the last one shares parts with the same ranges.
        const bool is_shared =
            is_same_file && range.offset == last->offset && range.nbytes == last->nbytes;
        if (!is_shared) {
            const bool overlaps = is_same_file && range.offset < before->offset + before->nbytes;
            other = overlaps ? before : nullptr;
        }
        last = &range;
        if (other != nullptr) {
            checking.found(Rule::ext_overlap, *range.path, [&] {
                return "its bytes from " + std::to_string(range.offset) + " on are also those of " +
                       other->path->text();
            });
        }
        if (!is_same_file || range.offset + range.nbytes > before->offset + before->nbytes) {
            before = &range;
        }
    }
}

}  // namespace onnxmap::check
