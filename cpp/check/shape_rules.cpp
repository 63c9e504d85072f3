#include "check/shape_rules.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/made_once.hpp"
#include "model/name_table.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::check {

namespace {

struct Row {
    std::int64_t since;
    ShapeFunction* function;
    std::string_view how;
    std::string_view operators;
};

constexpr Row kRows[] = {
#define SHAPES(...) {__VA_ARGS__},
#include "check/shapes.def"
#undef SHAPES
};

using Rules = model::NameMap<std::vector<std::uint16_t>>;
constinit std::atomic<const Rules*> all_rules = nullptr;

// The rules of each operator, as their numbers.
const Rules& rules_by_operator() {
    return made_once(all_rules, [] {
        auto made = std::make_unique<Rules>();
        std::uint16_t rule = 0;
        for (const Row& row : kRows) {
            ++rule;
            for (const std::string_view name : words(row.operators)) (*made)[name].push_back(rule);
        }
        return std::unique_ptr<const Rules>(std::move(made));
    });
}

}  // namespace

std::vector<std::string_view> parts(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> found;
    for (std::size_t end = 0; end != std::string_view::npos;) {
        end = text.find(separator);
        std::string_view part = text.substr(0, end);
        while (part.starts_with(' ')) part.remove_prefix(1);
        while (part.ends_with(' ')) part.remove_suffix(1);
        found.push_back(part);
        if (end != std::string_view::npos) text.remove_prefix(end + separator.size());
    }
    return found;
}

std::vector<std::string_view> words(std::string_view text) {
    auto found = parts(text, " ");
    std::erase_if(found, [](auto each) { return each.empty(); });
    return found;
}

std::uint16_t shape_rule_of(const onnx::Operator& op) {
    const auto found = rules_by_operator().find(op.name());
    if (found == rules_by_operator().end()) return 0;
    std::uint16_t newest = 0;
    for (const std::uint16_t rule : found->second) {
        if (kRows[rule - 1].since <= op.since()) newest = rule;
    }
    return newest;
}

void apply_shape_rule(std::uint16_t rule, NodeShapes& node) {
    const Row& row = kRows[rule - 1];
    row.function(node, row.how);
}

bool Broadcast::add(NumberView shape) {
    while (rank_ < shape.size()) dims_.at(dims_.size() - ++rank_) = 1;
    for (std::size_t i = 1; i <= shape.size(); ++i) {
        std::int64_t& made = dims_.at(dims_.size() - i);
        const std::int64_t dim = shape[shape.size() - i];
        if (dim == 1 || dim == made) continue;
        if (made == 1 || made == kUnknown) {
            made = dim == kUnknown && made != 1 ? made : dim;
        } else if (dim != kUnknown) {
            return false;
        }
    }
    return true;
}

std::int64_t sum(NumberView numbers) {
    std::int64_t sum = 0;
    for (const std::int64_t each : numbers) {
        if (each < 0 || __builtin_add_overflow(sum, each, &sum)) return kUnknown;
    }
    return sum;
}

void same(NodeShapes& n, std::string_view) { n.pass(0, 0); }

// There is an axis on which the shapes do not depend. `how`: "1" if an input says which.
void same_along(NodeShapes& n, std::string_view how) {
    n.pass(0, 0);
    if (!n.dims(0)) return;
    const std::size_t rank = n.dims(0)->size();
    if (n.has("axis")) {
        // Softmax once took the rank as well.
        n.axis({"axis"}, n.number("axis", 0), rank, n.since() < 13 ? 1 : 0);
    } else if (const auto values = n.elements(1); how == "1" && values && values->size() == 1) {
        n.axis({{}, 1}, values->front(), rank);
    }
}

void identity(NodeShapes& n, std::string_view) {
    // A Cast keeps integers as they are if they become integers that can hold them.
    const auto to =
        static_cast<onnx::DataType>(n.number("to", static_cast<int>(onnx::DataType::INT64)));
    const auto& elements = n.input(0).elements;
    const bool are_small = !elements || std::ranges::all_of(*elements, [](std::int64_t each) {
        return each == kUnknown || each == static_cast<std::int32_t>(each);
    });
    n.pass(0, 0, to == onnx::DataType::INT64 || (to == onnx::DataType::INT32 && are_small));
}

void broadcast(NodeShapes& n, std::string_view) {
    Broadcast all;
    bool is_known = true;
    for (std::size_t i = 0; i < n.inputs(); ++i) {
        const auto& dims = n.dims(i);
        is_known = is_known && dims;
        if (!dims || all.add(*dims)) continue;
        std::size_t other = 0;
        for (Broadcast two; other < i; ++other, two = {}) {
            if (n.dims(other) && !(two.add(*n.dims(other)) && two.add(*dims))) break;
        }
        return n.wrong(i, "the inputs do not broadcast", other);
    }
    if (is_known) n.make(0, all.dims());
}

// `how`: the positions of the two matrices.
void matmul(NodeShapes& n, std::string_view how) {
    const auto a_slot = static_cast<std::size_t>(how[0] - '0');
    const auto b_slot = static_cast<std::size_t>(how[1] - '0');
    for (const std::size_t i : {a_slot, b_slot}) {
        if (n.dims(i) && n.dims(i)->empty()) return n.wrong(i, "it does not take a scalar");
    }
    if (!n.dims(a_slot) || !n.dims(b_slot)) return;
    const NumberView a = *n.dims(a_slot);
    const NumberView b = *n.dims(b_slot);
    if (differ(a.back(), b.size() == 1 ? b[0] : b[b.size() - 2])) {
        return n.wrong(b_slot, "the inner dimensions differ", a_slot);
    }
    Broadcast outer;
    outer.add(a.first(a.size() < 2 ? 0 : a.size() - 2));
    if (!outer.add(b.first(b.size() < 2 ? 0 : b.size() - 2))) {
        return n.wrong(b_slot, "the outer dimensions differ", a_slot);
    }
    Numbers made(outer.dims().begin(), outer.dims().end());
    if (a.size() > 1) made.push_back(a[a.size() - 2]);
    if (b.size() > 1) made.push_back(b.back());
    n.make(0, made);
}

void gemm(NodeShapes& n, std::string_view) {
    for (const std::size_t i : {0, 1}) {
        if (!n.dims(i) || n.dims(i)->size() == 2) continue;
        return n.wrong(i, "it takes matrices, and the shape is " + shape_text(*n.dims(i)));
    }
    if (!n.dims(0) || !n.dims(1)) return;
    Numbers a(n.dims(0)->begin(), n.dims(0)->end());
    Numbers b(n.dims(1)->begin(), n.dims(1)->end());
    if (n.number("transA", 0) != 0) std::swap(a[0], a[1]);
    if (n.number("transB", 0) != 0) std::swap(b[0], b[1]);
    if (differ(a[1], b[0])) return n.wrong(1, "the inner dimensions differ", 0);
    const Numbers made{a[0], b[1]};
    n.make(0, made);
    if (!n.dims(2) || n.since() < 7) return;  // earlier ones have an attribute for it
    Broadcast all;
    all.add(made);
    const bool fits = n.dims(2)->size() <= 2 && all.add(*n.dims(2)) &&
                      !differ(all.dims()[0], a[0]) && !differ(all.dims()[1], b[1]);
    if (fits) return;
    n.wrong(2, "its shape is " + shape_text(*n.dims(2)) +
                   ", which does not broadcast to the result " + shape_text(made));
}

// In the other layout, the batch comes first.
void recurrent(NodeShapes& n, std::string_view how) {
    if (n.number("layout", 0) == 0) match(n, how);
}

void loss(NodeShapes& n, std::string_view how) {
    match(n, how);
    if (n.text("reduction") != "none") n.make(0, Numbers());
}

}  // namespace onnxmap::check
