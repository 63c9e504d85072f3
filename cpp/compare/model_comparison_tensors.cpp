// The part of the walk that compares tensors, and the list of what was found.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/model_comparison.hpp"
#include "model/initializer_casts.hpp"
#include "model/message_walk.hpp"
#include "model/overlap_limit.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::compare {

using model::Tensor;
using onnx::field;
using onnx::Message;

namespace {

// Bytes that an entry of the list takes besides its texts, here and in Python.
constexpr std::uint64_t kEntry = 512;

// Bytes. The values of a larger tensor are compared after the walk, by several threads.
constexpr std::uint64_t kLargeTensor = 1 << 20;

// Bytes that may be read before it is checked whether tensors refer to the same bytes too often.
constexpr std::uint64_t kReadUnchecked = 256 << 20;

// The fields of a tensor that say what its values are and where they are stored.
constexpr const wire::FieldRow* kValueRows[] = {
    &field<"TensorProto.dims">,          &field<"TensorProto.data_type">,
    &field<"TensorProto.segment">,       &field<"TensorProto.raw_data">,
    &field<"TensorProto.external_data">, &field<"TensorProto.data_location">,
};

bool is_value_row(const wire::FieldRow& row) noexcept {
    return std::ranges::find(kValueRows, &row) != std::end(kValueRows) ||
           (tensor::kPayloadFields >> row.number & 1) != 0;
}

std::uint64_t nbytes_of(const Value& value) {
    const auto of_scalar = [](const Scalar& scalar) -> std::uint64_t {
        if (const auto* text = std::get_if<Text>(&scalar)) return text->text.size() + 48;
        if (const auto* bytes = std::get_if<Bytes>(&scalar)) return bytes->bytes.size() + 48;
        return 48;
    };
    if (const auto* scalar = std::get_if<Scalar>(&value)) return of_scalar(*scalar);
    std::uint64_t sum = 0;
    if (const auto* list = std::get_if<List>(&value)) {
        for (const Scalar& scalar : list->values) sum += of_scalar(scalar);
    }
    return sum;
}

}  // namespace

TensorDifference::Side side_of(const Message& tensor) {
    const tensor::Header header = tensor::read_header(tensor);
    const auto dims = header.dims();
    return {std::string(header.name), header.data_type, {dims.begin(), dims.end()}};
}

void ReadBytes::add(const tensor::Payload& payload) {
    sources_.insert(payload.source);
    nbytes_ += payload.nbytes;
    if (nbytes_ - checked_ < kReadUnchecked) return;
    checked_ = nbytes_;
    const std::vector sources(sources_.begin(), sources_.end());
    model::check_overlap(document_, sources, nbytes_);
}

void ReadBytes::add(const model::Tensor& tensor) {
    const auto values = tensor.values_if_valid();
    if (!values) return;
    if (const tensor::Payload* const stored = values->payload()) {
        add(*stored);
        return;
    }
    if (!values->in_pieces()) return;
    values->for_each_range([&](const auto& source, std::uint64_t offset, std::uint64_t nbytes) {
        add({source, offset, nbytes});
    });
}

void ReadBytes::check_again(source::Timestamp now) const {
    for (const auto& source : sources_) document_.store().check_after_reading(*source, now);
}

std::string ModelComparison::below(const std::string& path, std::size_t begin) {
    if (path.size() <= begin) return {};
    return path.substr(begin == 0 ? 0 : begin + 1);  // after the dot
}

bool ModelComparison::has_room(std::uint64_t nbytes) {
    const std::uint64_t needed = kEntry + nbytes;
    if (needed > room_) {
        room_ = 0;  // the rest is only counted
        return false;
    }
    room_ -= needed;
    return true;
}

Scope ModelComparison::scope() {
    if (in_item_ == nullptr) return {section_, false, std::nullopt};
    make_item();
    return {section_, true, item_};
}

void ModelComparison::report_moved() {
    make_item();
    if (item_) {
        found_.items[*item_].moved = true;
    } else {
        ++found_.left_out;
    }
}

void ModelComparison::add(Kind kind, Value a, Value b) {
    add_to(scope(),
           {kind, kind == Kind::added ? std::string() : below_a(),
            kind == Kind::removed ? std::string() : below_b(), std::move(a), std::move(b)});
}

void ModelComparison::add_to(const Scope& scope, Change change) {
    const std::uint64_t nbytes =
        change.in_a.size() + change.in_b.size() + nbytes_of(change.a) + nbytes_of(change.b);
    if ((scope.in_item && !scope.item) || !has_room(nbytes)) {
        ++found_.left_out;
    } else if (scope.item) {
        found_.items[*scope.item].changes.push_back(std::move(change));
    } else {
        found_.changes.emplace_back(scope.section, std::move(change));
    }
}

void ModelComparison::compare_tensor_fields(const Message& a, const Message& b) {
    for (const Row& each : a.table().fields) {
        const bool is_name = &each == &field<"TensorProto.name">;
        if (!is_value_row(each) && !is_name) compare_field(each, a, b);
    }
    compare_unknown_fields(a, b);
}

void ModelComparison::note_casts() {
    struct Side {
        std::vector<model::InitializerCast> casts;
        std::map<std::string_view, std::set<std::int32_t>> types;  // of values, by name
    };
    const auto read = [](const model::Document& document) {
        Side side;
        model::for_each_graph(document, [&](const std::string&, const Message& graph) {
            for (model::InitializerCast& each : model::initializer_casts(document, graph)) {
                side.types[each.name].insert(static_cast<std::int32_t>(each.type->type));
                side.casts.push_back(std::move(each));
            }
            const Row& row = field<"GraphProto.initializer">;
            graph.for_each_child(row, [&](const Message& tensor) {
                side.types[tensor.text(field<"TensorProto.name">)].insert(
                    static_cast<std::int32_t>(tensor.int64(field<"TensorProto.data_type">)));
            });
        });
        return side;
    };
    const std::array sides{read(documents_.a), read(documents_.b)};
    for (const std::size_t i : {0U, 1U}) {
        for (const model::InitializerCast& each : sides.at(i).casts) {
            const auto other = sides.at(1 - i).types.find(each.name);
            const std::set<std::int32_t> own{static_cast<std::int32_t>(each.type->type)};
            if (other == sides.at(1 - i).types.end() || other->second != own) continue;
            old_names_.emplace(each.tensor.key(), each.name);
            casts_.insert(each.node.key());
        }
    }
}

void ModelComparison::drop_casts(Elements& nodes) const {
    if (casts_.empty()) return;
    nodes.drop_if([&](std::uint32_t i) { return casts_.contains(nodes.at(i).key()); });
}

std::string ModelComparison::key_in_list(const Row& row, const Message& element) const {
    const auto old_name = old_names_.find(element.key());
    return old_name == old_names_.end() ? key_of(row, element) : std::string(old_name->second);
}

void ModelComparison::compare_tensors(const Message& a, const Message& b) {
    if (!old_names_.contains(a.key()) && !old_names_.contains(b.key())) {
        compare_field(field<"TensorProto.name">, a, b);
    }
    compare_tensor_fields(a, b);
    TensorDifference::Side in_a = side_of(a);
    TensorDifference::Side in_b = side_of(b);
    if (item_ && section_ == Section::tensors) {  // an initializer, of which other fields differ
        TensorDifference& difference = found_.items[*item_].tensor.emplace();
        difference.a = in_a;
        difference.b = in_b;
    }
    const bool same_shape =
        can_compare(in_a.data_type, in_b.data_type) &&
        same_list({documents_.a, a}, {documents_.b, b}, field<"TensorProto.dims">);
    if (same_shape) {
        compare_tensor_values(a, b);
    } else {
        TensorDifference difference;
        difference.a = std::move(in_a);
        difference.b = std::move(in_b);
        report_tensor(job_of(a, b), std::move(difference));
    }
}

void ModelComparison::compare_tensor_values(const Message& a, const Message& b) {
    const Tensor in_a(documents_.a, a);
    const Tensor in_b(documents_.b, b);
    const bool one_type = in_a.header().data_type == in_b.header().data_type;
    const auto bytes = one_type ? stored_bytes(documents_, in_a, in_b) : std::nullopt;
    if (bytes) {
        if (is_same_place(bytes->a, bytes->b)) return;
        read_a_.add(bytes->a);
        read_b_.add(bytes->b);
        if (bytes->a.nbytes >= kLargeTensor) {
            jobs_.push_back(job_of(a, b));
            jobs_.back().bytes = *bytes;
            return;
        }
    }
    if (!bytes) {
        read_a_.add(in_a);
        read_b_.add(in_b);
    }
    ComparedValues compared = compare_values(documents_, in_a, in_b);
    if (!compared.same) finish(job_of(a, b), std::move(compared));
}

bool ModelComparison::can_compare(std::int32_t type_a, std::int32_t type_b) const {
    if (type_a == type_b) return true;
    const auto is_float = [](std::int32_t type) {
        const onnx::DataTypeInfo* const known = onnx::find_data_type(type);
        return known != nullptr && known->format.is_float();
    };
    return documents_.options.casts && is_float(type_a) && is_float(type_b);
}

TensorJob ModelComparison::job_of(const Message& a, const Message& b) {
    return {a, b, {}, scope(), path_a_, path_b_, below_a(), below_b()};
}

void ModelComparison::finish(const TensorJob& job, ComparedValues compared) {
    if (compared.same) return;
    report_tensor(job, {.a = side_of(job.a),
                        .b = side_of(job.b),
                        .elements = compared.elements,
                        .failure = std::move(compared.failure)});
}

void ModelComparison::report_tensor(const TensorJob& job, TensorDifference difference) {
    const auto& [section, in_item, item] = job.scope;
    if (section == Section::tensors && in_item) {  // an initializer, which is an item itself
        if (item) {
            found_.items[*item].tensor = std::move(difference);
        } else {
            ++found_.left_out;
        }
        return;
    }
    add_to(job.scope, {Kind::changed, job.below_a, job.below_b, {}, {}});
    if (!has_room(job.in_a.size() + job.in_b.size() + difference.failure.size())) return;
    found_.items.push_back({.section = Section::tensors,
                            .in_a = job.in_a,
                            .in_b = job.in_b,
                            .name = difference.a->name,
                            .name_in_b = difference.b->name,
                            .op_type = {},
                            .op_type_in_b = {},
                            .tensor = std::move(difference)});
}

void ModelComparison::report_unmatched_tensor(const Message& tensor, bool in_a) {
    TensorDifference difference;
    (in_a ? difference.a : difference.b) = side_of(tensor);
    found_.items[*item_].tensor = std::move(difference);
    const Tensor checked(in_a ? documents_.a : documents_.b, tensor);
    if (!checked.values_if_valid()) return;  // it has no partner under another name
    (in_a ? read_a_ : read_b_).add(checked);
    (in_a ? only_in_a_ : only_in_b_).push_back({tensor, *item_});
}

}  // namespace onnxmap::compare
