// Operators that move, cut or join dimensions, or calculate sizes.
// Source: the texts of these operators in onnx.defs.

#include <algorithm>
#include <numeric>
#include <string>

#include "check/shape_rules.hpp"
#include "check/told_shape.hpp"

namespace onnxmap::check {

namespace {

// Which dimensions a list of axes names; nothing if that is not known, or for a fault. `once`: a
// fault if one is there twice.
std::optional<std::vector<bool>> marks(NodeShapes& n, const List& list, std::size_t rank,
                                       bool once = true) {
    if (!list.values) return std::nullopt;
    std::vector<bool> marked(rank);
    for (const std::int64_t each : *list.values) {
        const auto axis = n.axis(list.path, each, rank);
        if (!axis) return std::nullopt;
        if (once && marked[*axis]) {
            n.wrong(list.path, "the axis " + std::to_string(each) + " is there twice");
            return std::nullopt;
        }
        marked[*axis] = true;
    }
    return marked;
}

Numbers joined(NumberView a, NumberView b, NumberView c = {}) {
    Numbers all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    return all;
}

// How much a slice leaves of a dimension.
std::int64_t cut(std::int64_t dim, std::int64_t start, std::int64_t end) {
    if (dim < 0 || start == kUnknown || end == kUnknown) return kUnknown;
    const auto path = [&](std::int64_t at) {
        return std::clamp<std::int64_t>(at < 0 ? at + dim : at, 0, dim);
    };
    return std::max<std::int64_t>(path(end) - path(start), 0);
}

}  // namespace

void transpose(NodeShapes& n, std::string_view) {
    const auto& x = n.dims(0);
    auto perm = n.numbers("perm");
    if (!perm && x && !n.has("perm")) {
        perm.emplace(x->rbegin(), x->rend());
        return n.make(0, *perm);
    }
    if (!perm || !marks(n, {true, perm, {"perm"}}, perm->size()) || !x) return;
    if (perm->size() != x->size()) {
        return n.wrong({"perm"}, "it has " + std::to_string(perm->size()) +
                                     " axes, and the value has the shape " + shape_text(*x));
    }
    for (std::int64_t& each : *perm) {
        each = (*x)[static_cast<std::size_t>(each < 0 ? each + std::ssize(*x) : each)];
    }
    n.make(0, *perm);
}

void reshape(NodeShapes& n, std::string_view) {
    const List list = n.list("shape", 1);
    if (!list.values) return;
    const auto& x = n.dims(0);
    Numbers made = *list.values;
    Numbers from = x ? joined(*x, {}) : Numbers{kUnknown};
    Numbers to;  // those that are not copied
    std::optional<std::size_t> open;
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (made[i] == 0 && n.number("allowzero", 0) == 0) {
            if (x && i >= x->size()) {
                return n.wrong(list.path, "dimension " + std::to_string(i) +
                                              " is copied, and the shape is " + shape_text(*x));
            }
            made[i] = x ? std::exchange(from[i], 1) : kUnknown;
        } else if (made[i] == -1 && !open) {
            open = i;
        } else {
            to.push_back(made[i]);
        }
    }
    const auto before = product(from);
    const auto after = product(to);
    if (before && after && (open && *after > 0 ? *before % *after != 0 : *before != *after)) {
        return n.wrong(list.path, "it asks for " + shape_text(*list.values) +
                                      ", and the shape of the value is " + shape_text(*x));
    }
    if (open) made[*open] = before && after && *after > 0 ? *before / *after : kUnknown;
    n.make(0, {made, n.input(0).elements});
}

void flatten(NodeShapes& n, std::string_view) {
    if (!n.dims(0)) return;
    const NumberView x = *n.dims(0);
    const auto axis = n.axis({"axis"}, n.number("axis", 1), x.size(), 1);
    if (!axis) return;
    n.make(0, Numbers{product(x.first(*axis)).value_or(kUnknown),
                      product(x.subspan(*axis)).value_or(kUnknown)});
}

// `how`: what becomes of the axes. "1": one axis; "-": they are left out, and have to be 1.
void reduce(NodeShapes& n, std::string_view how) {
    if (!n.dims(0)) return;
    const NumberView x = *n.dims(0);
    const List list =
        how == "1" ? List{true, Numbers{n.number("axis", 0)}, {"axis"}} : n.list("axes", 1);
    const bool is_squeezed = how == "-";
    const bool has_none = !list.is_given || (list.values && list.values->empty());
    if (has_none && n.number("noop_with_empty_axes", 0) != 0) return n.pass(0, 0);
    auto axes = marks(n, list, x.size(), is_squeezed);
    if (has_none) {
        if (is_squeezed && (list.is_given || !product(x))) return;
        axes.emplace();
        for (const std::int64_t dim : x) axes->push_back(!is_squeezed || dim == 1);
    }
    const bool keeps = !is_squeezed && n.number("keepdims", 1) != 0;
    Numbers made;
    for (std::size_t i = 0; axes && i < x.size(); ++i) {
        if (!(*axes)[i] || keeps) made.push_back((*axes)[i] ? 1 : x[i]);
        if (!is_squeezed || !(*axes)[i] || !differ(x[i], 1)) continue;
        return n.wrong(list.path, "dimension " + std::to_string(i) + " of the value is " +
                                      std::to_string(x[i]) + ", and 1 is left out");
    }
    if (axes) n.make(0, {made, is_squeezed ? n.input(0).elements : std::nullopt});
}

void unsqueeze(NodeShapes& n, std::string_view) {
    const List list = n.list("axes", 1);
    if (!n.dims(0) || !list.values) return;
    const NumberView x = *n.dims(0);
    Numbers made(x.size() + list.values->size(), kUnknown);
    if (const auto axes = marks(n, list, made.size())) {
        for (std::size_t i = 0, from = 0; i < made.size(); ++i)
            made[i] = (*axes)[i] ? 1 : x[from++];
    }
    n.make(0, {made, n.input(0).elements});
}

void concat(NodeShapes& n, std::string_view) {
    std::optional<std::size_t> axis;
    Numbers made;
    Numbers elements;
    for (std::size_t slot = 0; slot < n.inputs(); ++slot) {
        const auto& x = n.dims(slot);
        if (!x) return;
        if (slot == 0) {
            axis = n.axis({"axis"}, n.number("axis", 1), x->size());
            made.assign(x->begin(), x->end());
        }
        if (!axis) return;
        if (x->size() != made.size()) return n.wrong(slot, "the numbers of dimensions differ", 0);
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (i == *axis && slot > 0) {
                made[i] = sum(Numbers{made[i], (*x)[i]});
            } else if (i != *axis && differ(made[i], (*x)[i])) {
                return n.wrong(slot, "dimensions differ that are not joined", 0);
            } else if (made[i] == kUnknown) {
                made[i] = (*x)[i];
            }
        }
        const auto part = elements.size() <= kMostElements ? n.elements(slot) : std::nullopt;
        if (part) elements.insert(elements.end(), part->begin(), part->end());
    }
    n.make(0, {made, elements});
}

void split(NodeShapes& n, std::string_view) {
    if (!n.dims(0)) return;
    Numbers made = joined(*n.dims(0), {});
    const auto axis = n.axis({"axis"}, n.number("axis", 0), made.size());
    if (!axis) return;
    const List list = n.list("split", 1);
    const auto count = static_cast<std::int64_t>(n.outputs());
    const std::int64_t dim = std::exchange(made[*axis], kUnknown);
    if (list.values && differ(dim, sum(*list.values))) {
        return n.wrong(list.path, "the sizes " + shape_text(*list.values) + " are not dimension " +
                                      std::to_string(*axis) + " of " + shape_text(*n.dims(0)));
    }
    for (std::size_t slot = 0; slot < static_cast<std::size_t>(count); ++slot) {
        if (list.values) {
            made[*axis] = slot < list.values->size() ? (*list.values)[slot] : kUnknown;
        } else if (!list.is_given && dim >= 0 && dim % count == 0) {
            made[*axis] = dim / count;
        }
        n.make(slot, made);
    }
}

void slice(NodeShapes& n, std::string_view) {
    if (!n.dims(0)) return;
    Numbers made = joined(*n.dims(0), {});
    const List starts = n.list("starts", 1);
    const List ends = n.list("ends", 2);
    const List axes = n.list("axes", 3);
    const List steps = n.list("steps", 4);
    const bool fits = starts.values && ends.values && axes.is_given == axes.values.has_value() &&
                      starts.values->size() == ends.values->size() &&
                      (!axes.is_given || axes.values->size() == starts.values->size());
    std::optional<Numbers> left;
    for (std::size_t i = 0; fits && i < starts.values->size(); ++i) {
        const auto value = axes.is_given ? (*axes.values)[i] : static_cast<std::int64_t>(i);
        const auto axis = n.axis(axes.path, value, made.size());
        if (!axis) return n.make(0, Numbers(made.size(), kUnknown));
        const std::int64_t start = (*starts.values)[i];
        const std::int64_t dim = made[*axis];
        made[*axis] = steps.is_given && steps.values != Numbers(starts.values->size(), 1)
                          ? kUnknown
                          : cut(dim, start, (*ends.values)[i]);
        if (!n.input(0).elements || made[*axis] < 0 || starts.values->size() > 1) continue;
        const std::int64_t first = dim - cut(dim, start, dim);
        const auto part = n.input(0).elements->subspan(static_cast<std::size_t>(first),
                                                       static_cast<std::size_t>(made[*axis]));
        left.emplace(part.begin(), part.end());
    }
    if (!fits) made.assign(made.size(), kUnknown);
    n.make(0, {NumberView(made), left ? std::optional<NumberView>(*left) : std::nullopt});
}

void expand(NodeShapes& n, std::string_view) {
    List list = n.list({}, 1);
    if (!n.dims(0) || !list.values) return;
    std::ranges::replace_if(*list.values, [](std::int64_t each) { return each < 0; }, kUnknown);
    Broadcast both;
    both.add(*n.dims(0));
    if (both.add(*list.values)) return n.make(0, both.dims());
    n.wrong(1, "the value has the shape " + shape_text(*n.dims(0)) +
                   ", which does not broadcast to " + shape_text(*list.values));
}

void gather(NodeShapes& n, std::string_view) {
    if (!n.dims(0)) return;
    const NumberView x = *n.dims(0);
    if (x.empty()) return n.wrong(0, "it does not take a scalar");
    const auto axis = n.axis({"axis"}, n.number("axis", 0), x.size());
    if (!axis || !n.dims(1)) return;
    const Numbers made = joined(x.first(*axis), *n.dims(1), x.subspan(*axis + 1));
    const auto& from = n.input(0).elements;
    const auto& at = n.input(1).elements;
    if (!from || !at || made.size() > 1) return n.make(0, made);
    Numbers taken;
    for (const std::int64_t each : *at) {
        const std::int64_t path = each < 0 && each != kUnknown ? each + std::ssize(*from) : each;
        const bool is_there = path >= 0 && path < std::ssize(*from);
        taken.push_back(is_there ? (*from)[static_cast<std::size_t>(path)] : kUnknown);
    }
    n.make(0, {NumberView(made), NumberView(taken)});
}

void constant(NodeShapes& n, std::string_view) {
    Numbers dims;
    Numbers elements;
    if (const auto tensor = n.tensor("value"))
        return n.make(0, told_tensor(*tensor, dims, elements));
    if (const auto numbers = n.numbers("value_ints")) {
        dims.push_back(std::ssize(*numbers));
        n.make(0, {NumberView(dims), NumberView(*numbers)});
    } else if (n.has("value_ints")) {  // more than are kept
        n.make(0, Numbers{kUnknown});
    } else if (n.has("value_int")) {
        elements.push_back(n.number("value_int", 0));
        n.make(0, {NumberView(), NumberView(elements)});
    }
}

void constant_of_shape(NodeShapes& n, std::string_view) {
    const List list = n.list({}, 0);
    if (list.values) n.make(0, *list.values);
}

void shape(NodeShapes& n, std::string_view) {
    if (!n.dims(0)) return n.make(0, Numbers{kUnknown});
    const NumberView x = *n.dims(0);
    const std::int64_t start = n.number("start", 0);
    const std::int64_t rank = std::ssize(x);
    const std::int64_t end = n.number("end", rank);
    if (start == kUnknown || end == kUnknown) return n.make(0, Numbers{kUnknown});
    const Numbers dims{cut(rank, start, end)};
    const auto first = static_cast<std::size_t>(rank - cut(rank, start, rank));
    n.make(0, {NumberView(dims), x.subspan(first, static_cast<std::size_t>(dims[0]))});
}

}  // namespace onnxmap::check
