#include "surgery/size_places.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/tensor.hpp"
#include "onnx/data_type.hpp"
#include "onnx/operators.hpp"
#include "surgery/graph_parts.hpp"
#include "tensor/header.hpp"

namespace onnxmap::surgery {

using model::Node;
using onnx::field;
using onnx::Message;

namespace {

constexpr std::uint64_t kMostSizes = 1024;        // bytes of a list: more numbers are no shape
constexpr std::uint32_t kLengthsOfSequences = 4;  // the input of LSTM, GRU and RNN

const TakesSizes* row_of(std::span<const TakesSizes> rows, std::string_view op_type,
                         std::string_view domain) {
    const auto found = std::ranges::find(rows, op_type, &TakesSizes::op_type);
    return found == rows.end() || !onnx::plain_domain(domain).empty() ? nullptr : &*found;
}

// One of 64 bits: few usual names have that of another one.
constexpr std::uint64_t mark_of(std::string_view op_type) {
    const std::size_t first = op_type.empty() ? 0 : static_cast<unsigned char>(op_type.front());
    return std::uint64_t{1} << (first * 6 + op_type.size()) % 64;
}

// Operators that pass numbers or tensors on as they are, and the inputs that have these.
const TakesSizes* passed_on_by(std::string_view op_type, std::string_view domain) {
    static constexpr TakesSizes kAll[] = {
        {"Cast", 0, 0},     {"Concat", 0, UINT32_MAX}, {"Gather", 0, 0},
        {"Identity", 0, 0}, {"Reshape", 0, 0},         {"Slice", 0, 0},
        {"Squeeze", 0, 0},  {"Unsqueeze", 0, 0},       {"Where", 1, 2},
    };
    return row_of(kAll, op_type, domain);
}

// Whether 1 changes nothing.
bool is_times(TakesSizes::As as) {
    return as == TakesSizes::As::repeats || as == TakesSizes::As::copies;
}

bool is_batch_first(const Node& node) {
    return std::ranges::any_of(node.attributes(), [](const model::Attribute& attribute) {
        return attribute.name() == "layout" &&
               attribute.message().int64(field<"AttributeProto.i">) == 1;
    });
}

// The attribute with the value of a Constant node.
std::optional<model::Attribute> attribute_of(const Message& maker) {
    return model::is_node(maker) ? value_of_constant(Node(maker)) : std::nullopt;
}

std::optional<Message> tensor_of(const Message& maker) {
    if (&maker.table() == &onnx::message<"TensorProto">) return maker;
    const auto value = attribute_of(maker);
    const wire::FieldRow& row = field<"AttributeProto.t">;
    return value && value->value_field() == &row ? value->message().child(row) : std::nullopt;
}

std::vector<std::int64_t> numbers_in(const model::Document& document, const Message& message) {
    const model::Tensor tensor(document, message);
    std::vector<std::int64_t> found;
    const std::uint64_t nbytes = tensor::packed_nbytes(tensor.count(), tensor.type().bits);
    const bool is_long = tensor.type().type == onnx::DataType::INT64;
    if ((!is_long && tensor.type().type != onnx::DataType::INT32) || nbytes > kMostSizes)
        return found;
    tensor::Values values = tensor.values();
    values.check_count();
    std::vector<std::uint8_t> bytes(nbytes);
    values.read_packed(bytes);
    const auto read = [&]<class Number>(Number number) {
        for (std::size_t at = 0; at < bytes.size(); at += sizeof number) {
            std::memcpy(&number, &bytes[at], sizeof number);
            found.push_back(number);
        }
    };
    is_long ? read(std::int64_t{}) : read(std::int32_t{});
    return found;
}

// The numbers of a list of sizes; none for other constants, and for those that cannot be read.
std::vector<std::int64_t> read_sizes(const model::Document& document, const Message& maker) {
    if (const auto tensor = tensor_of(maker)) {
        return if_possible([&] { return numbers_in(document, *tensor); })
            .value_or(std::vector<std::int64_t>());
    }
    std::vector<std::int64_t> found;
    const auto value = attribute_of(maker);
    const auto* const row = value ? value->value_field() : nullptr;
    if (row == &field<"AttributeProto.ints"> || row == &field<"AttributeProto.i">) {
        value->message().for_each_value(*row, [&](const wire::Field& number) {
            if (found.size() <= kMostSizes / sizeof(std::int64_t)) found.push_back(number.int64());
        });
    }
    return found;
}

}  // namespace

const TakesSizes* sizes_taken_by(std::string_view op_type, std::string_view domain) {
    using enum TakesSizes::As;
    static constexpr TakesSizes kAll[] = {
        {"Reshape", 1, 1, size},
        {"Expand", 1, 1, repeats},
        {"Tile", 1, 1, copies},
        {"Slice", 1, 2, position},
        {"Resize", 3, 3, size},
        {"Split", 1, 1, position},
        {"Pad", 1, 1, position},
        {"ConstantOfShape", 0, 0, size},
        {"AffineGrid", 1, 1, size},
        {"CenterCropPad", 1, 1, size},
        {"MaxUnpool", 2, 2, size},
        {"LSTM", kLengthsOfSequences, 6, state},
        {"GRU", kLengthsOfSequences, 5, state},
        {"RNN", kLengthsOfSequences, 5, state},
    };
    // Asked of each node, most of which have an operator that is in no row.
    static constexpr std::uint64_t kMarks = [] {
        std::uint64_t marks = 0;
        for (const TakesSizes& row : kAll) marks |= mark_of(row.op_type);
        return marks;
    }();
    return (kMarks & mark_of(op_type)) == 0 ? nullptr : row_of(kAll, op_type, domain);
}

void SizePlaces::find(const Message& node, std::uint64_t position, const TakesSizes& takes,
                      bool has_batch) {
    std::uint32_t i = 0;
    Node(node).for_each_input([&](std::string_view name) {
        const std::uint32_t input = i++;
        if (input < takes.first || input > takes.last || name.empty()) return;
        Step step{node, name, position, scopes_.size() - 1, input, takes.as};
        step.may_infer = takes.op_type == "Reshape";
        step.has_batch = has_batch;
        if (takes.as == As::state)
            step.axis = input == kLengthsOfSequences || is_batch_first(Node(node)) ? 0 : 1;
        waiting_.push_back(step);
    });
    for (std::size_t next = 0; next != waiting_.size();) {
        const Step step = waiting_[next++];  // a copy: the list grows
        const auto [scope, maker] = find_maker(step.name, step.scope);
        if (maker != nullptr) look_at(step, scope, *maker);
    }
    waiting_.clear();
}

// What makes a value that a scope sees, and the scope that has it; null if nothing does.
std::pair<std::size_t, SizePlaces::Maker*> SizePlaces::find_maker(std::string_view name,
                                                                  std::size_t scope) {
    for (std::size_t i = scope + 1; i-- > 0;) {
        auto& makers = scopes_[i].makers;
        if (!makers) makers = makers_in(scopes_[i]);
        auto found = makers->find(name);
        if (found == makers->end() && scopes_[i].find_node) {
            if (const auto node = scopes_[i].find_node(name))
                found = makers->emplace(name, Maker{node->first, node->second}).first;
        }
        if (found != makers->end()) return {i, &found->second};
    }
    return {0, nullptr};
}

const std::vector<std::int64_t>& SizePlaces::numbers_of(Maker& maker) const {
    if (!maker.numbers) maker.numbers = read_sizes(document_, maker.message);
    return *maker.numbers;
}

// An initializer goes before an input. Nothing is around the outermost body, so only those of its
// values matter that are constants, or made of such.
SizePlaces::Makers SizePlaces::makers_in(const Scope& scope) {
    Makers makers;
    std::uint64_t position = 0;
    scope.body.for_each_field([&](const wire::Field& element, const wire::FieldRow* row) {
        if (scope.find_node && row != &field<"GraphProto.initializer">) return;
        model::for_each_made_by(
            scope.body, element, row, [&](std::string_view name, const Message& maker) {
                if (&maker.table() == &onnx::message<"TensorProto">) {
                    makers.insert_or_assign(name, Maker{maker, 0});
                } else if (!scope.is_outermost || model::is_node(maker)) {
                    const std::string_view op_type =
                        scope.is_outermost ? Node(maker).op_type() : "";
                    const bool matters = !scope.is_outermost || op_type == "Constant" ||
                                         passed_on_by(op_type, "") || sizes_taken_by(op_type, "");
                    if (matters) makers.emplace(name, Maker{maker, position});
                }
            });
        if (row == &model::nodes_of(scope.body)) ++position;
    });
    return makers;
}

void SizePlaces::look_at(const Step& step, std::size_t scope, Maker& maker) {
    if (step.as == As::state) states_.insert(step.name);
    if (pass(step, scope, maker) || places_.contains({step.user.key(), step.input})) return;
    SizePlace place{
        {}, step.user, step.input, scopes_[scope].body, maker.message, step.as == As::state};
    const bool holds = place.is_state ? find_in_state(step, numbers_of(maker), place)
                                      : find_in_list(step, numbers_of(maker), place);
    if (!holds) return;
    if (scopes_.front().is_listed_only) place.changes.clear();
    place.path = scopes_[step.scope].path + ".node[" + std::to_string(step.position) + "].input[" +
                 std::to_string(step.input) + "]";
    take_text(text_left_, place.path);
    places_.emplace(step.user.key(), step.input);
    found_.push_back(std::move(place));
}

// Goes on at the inputs of a node that passes numbers or a state on, or that makes a state of a
// list. Returns whether the maker is such a node.
bool SizePlaces::pass(const Step& step, std::size_t scope, Maker& maker) {
    if (!model::is_node(maker.message)) return false;
    const Node node(maker.message);
    const auto* const takes = sizes_taken_by(node.op_type(), node.domain());
    const bool makes_state = step.as == As::state && takes != nullptr && takes->as <= As::copies;
    const auto* const passes = passed_on_by(node.op_type(), node.domain());
    if (!makes_state && passes == nullptr) return false;
    if (!maker.followed.insert(step.as).second) return true;
    const std::uint32_t first = makes_state ? takes->first : passes->first;
    const std::uint32_t last = makes_state ? takes->last : passes->last;
    Step next = step;
    next.user = maker.message;
    next.position = maker.position;
    next.scope = scope;
    next.as = makes_state ? As::size : step.as;
    next.may_infer = false;
    if (next.as == As::state) {
        // The first dimension, of layers and directions, goes and comes back.
        if (node.op_type() == "Unsqueeze") next.axis = 0;
        if (node.op_type() == "Gather" || node.op_type() == "Squeeze") next.axis = 1;
    }
    next.is_part = next.is_part || node.op_type() == "Gather" || node.op_type() == "Slice";
    const bool is_joined = next.as != As::state && node.op_type() == "Concat";
    next.is_whole = next.is_whole && !is_joined;
    if (is_joined) {
        node.for_each_input([&](std::string_view name) {
            auto* const part = find_maker(name, scope).second;
            next.hides_errors = next.hides_errors ||
                                (part != nullptr && std::ranges::count(numbers_of(*part), -1) > 0);
        });
    }
    std::uint32_t i = 0;
    node.for_each_input([&](std::string_view name) {
        const std::uint32_t input = i++;
        if (input < first || input > last || name.empty()) return;
        next.name = name;
        next.input = input;
        waiting_.push_back(next);
        if (!is_joined) return;
        auto* const part = find_maker(name, scope).second;
        const std::size_t length = part == nullptr ? 0 : numbers_of(*part).size();
        next.front += static_cast<std::int64_t>(std::max<std::size_t>(length, 1));  // as most have
    });
    return true;
}

// Whether a list has a size that changes. Notes what it becomes if that is certain: it is where an
// input has it, or no other size is the same, and no -1 would hide an error.
bool SizePlaces::find_in_list(const Step& step, const std::vector<std::int64_t>& numbers,
                              SizePlace& place) const {
    const auto last = static_cast<std::int64_t>(numbers.size());
    const bool has_minus = std::ranges::find(numbers, -1) != numbers.end();
    const bool has_rest = !step.is_whole || has_minus;
    // A Reshape with -1 takes any other size as well, so that a wrong one would not show.
    const bool hides_errors = step.hides_errors || (step.may_infer && has_minus);
    bool can_infer = step.may_infer && !has_rest;
    bool holds = false;
    for (std::int64_t i = 0; i < last; ++i) {
        const std::int64_t number = numbers[static_cast<std::size_t>(i)];
        const auto found = sizes_.changed.find(number);
        const std::int64_t front = step.front + (step.is_part ? 0 : i);
        const bool is_other = step.axis && front != step.axis;
        if (found == sizes_.changed.end() || is_other || (number == 1 && is_times(step.as)))
            continue;
        holds = true;
        const auto& by_axis = found->second;
        const bool is_alone = number != 1 && std::ranges::count(numbers, number) <=
                                                 std::ranges::count_if(by_axis, [](auto& each) {
                                                     return each.first >= 0;
                                                 });
        std::optional<std::int64_t> axis;
        if (!step.axis && by_axis.contains(front) && (front == 0 || !hides_errors)) axis = front;
        const bool has_end =
            !step.axis && !axis && step.is_whole && !step.is_part && is_alone && !hides_errors;
        if (has_end && by_axis.contains(i - last)) axis = i - last;
        const bool is_clear =
            number != 0 &&  // for a Reshape it is the dimension before
            (number != 1 || step.axis || step.has_batch) &&
            (step.axis ? is_batch(number)
                       : axis || (is_alone && !has_rest && !sizes_.kept.contains(number)));
        const NewDim* const now =
            is_clear && step.as <= As::repeats ? after(number, axis) : nullptr;
        if (now == nullptr || (!now->value && !std::exchange(can_infer, false))) continue;
        place.changes.emplace_back(i, now->value.value_or(-1));
    }
    return holds;
}

bool SizePlaces::find_in_state(const Step& step, const std::vector<std::int64_t>& numbers,
                               SizePlace& place) const {
    const auto tensor = tensor_of(place.maker);
    if (!tensor) return false;
    // Integers are lengths of sequences, whose new values only the caller knows.
    if (std::ranges::any_of(numbers, [&](auto each) { return sizes_.changed.contains(each); }))
        return true;
    const tensor::Header header = tensor::read_header(*tensor);
    const auto axis = static_cast<std::size_t>(*step.axis);
    if (axis >= header.dims().size()) return false;
    const std::int64_t number = header.dims()[axis];
    if (!sizes_.changed.contains(number)) return false;
    const NewDim* const now = is_batch(number) ? after(number, std::nullopt) : nullptr;
    if (now != nullptr && now->value) place.changes.emplace_back(*step.axis, *now->value);
    return true;
}

// Whether it is certain that the batch has this size: no other dimension has, or the first one.
bool SizePlaces::is_batch(std::int64_t number) const {
    return !sizes_.kept.contains(number) || sizes_.changed.at(number).contains(0);
}

// What a size becomes that is at an axis, or at any. Null: that is not certain.
const NewDim* SizePlaces::after(std::int64_t before, std::optional<std::int64_t> axis) const {
    const auto& by_axis = sizes_.changed.at(before);
    const auto& first = (axis ? by_axis.find(*axis) : by_axis.begin())->second;
    const bool is_certain = axis || std::ranges::all_of(by_axis, [&](const auto& each) {
                                return each.second == first;
                            });
    return is_certain && first ? &*first : nullptr;
}

}  // namespace onnxmap::surgery
