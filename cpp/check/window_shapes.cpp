// Convolutions and pooling: what a window makes of the dimensions behind the first two.
// Source: the texts of these operators in onnx.defs, and convPoolShapeInference() in onnx's defs.

#include <algorithm>
#include <string>

#include "check/shape_rules.hpp"

namespace onnxmap::check {

namespace {

constexpr std::int64_t kMostSize = 1 << 30;  // a larger one is not calculated with

// The numbers of an attribute, or `missing`; a fault if there are others than `count`. Empty if
// nothing can be calculated with them.
Numbers read_list(NodeShapes& n, std::string_view name, std::size_t count, std::int64_t missing) {
    Numbers list = n.numbers(name).value_or(Numbers());
    if (list.empty()) list.assign(count, missing);
    if (list.size() != count) {
        n.wrong({name}, "it has " + std::to_string(list.size()) + " numbers, and the shapes need " +
                            std::to_string(count));
        return {};
    }
    const bool are_usual = std::ranges::all_of(
        list, [](auto each) { return each == kUnknown || (each >= 0 && each < kMostSize); });
    return are_usual ? list : Numbers();
}

// The dimensions behind the first two, for a window of this size; empty if they are not known.
Numbers moved(NodeShapes& n, NumberView dims, NumberView kernel) {
    const std::size_t count = dims.size();
    const Numbers strides = read_list(n, "strides", count, 1);
    const Numbers dilations = read_list(n, "dilations", count, 1);
    const Numbers pads = read_list(n, "pads", 2 * count, 0);
    if (strides.empty() || dilations.empty() || pads.empty()) return {};
    const std::string_view auto_pad = n.text("auto_pad");
    Numbers made;
    for (std::size_t i = 0; i < count; ++i) {
        made.push_back(kUnknown);
        if (dims[i] < 0 || dims[i] > kMostSize || strides[i] < 1) continue;
        if (auto_pad.starts_with("SAME")) {
            made[i] = (dims[i] + strides[i] - 1) / strides[i];
        } else if (kernel[i] > 0 && kernel[i] < kMostSize) {
            const std::int64_t padding = auto_pad == "VALID" ? 0 : pads[i] + pads[i + count];
            const std::int64_t moves = dims[i] + padding - (kernel[i] - 1) * dilations[i] - 1;
            // Readers differ in whether a window may begin in the padding.
            const bool is_known = n.number("ceil_mode", 0) == 0 || moves % strides[i] == 0;
            if (moves >= 0 && is_known) made[i] = moves / strides[i] + 1;
        }
    }
    return made;
}

bool check_weights(NodeShapes& n, std::size_t x_slot, std::size_t w_slot) {
    const NumberView x = *n.dims(x_slot);
    const NumberView w = *n.dims(w_slot);
    if (x.size() != w.size()) {
        n.wrong(w_slot, "the numbers of dimensions differ", x_slot);
        return false;
    }
    const std::int64_t groups = n.number("group", 1);
    if (groups > 0 && x[1] != kUnknown && w[1] != kUnknown &&
        (x[1] % groups != 0 || x[1] / groups != w[1])) {
        const std::string text = std::to_string(groups) + (groups == 1 ? " group" : " groups");
        n.wrong(w_slot, "the channels differ for " + text, x_slot);
        return false;
    }
    return true;
}

}  // namespace

// `how`: the positions of the input, and of the weights and the bias if there are some.
void window(NodeShapes& n, std::string_view how) {
    const auto slot = [&](std::size_t i) {
        return i < how.size() ? static_cast<std::size_t>(how[i] - '0') : SIZE_MAX;
    };
    for (const std::size_t i : {slot(0), slot(1)}) {
        if (!n.dims(i) || n.dims(i)->size() > 2) continue;
        return n.wrong(i, "it takes at least 3 dimensions, and has " + shape_text(*n.dims(i)));
    }
    const auto& x = n.dims(slot(0));
    const auto& w = n.dims(slot(1));
    const auto& bias = n.dims(slot(2));
    if (w && bias && (bias->size() != 1 || differ((*bias)[0], (*w)[0]))) {
        return n.wrong(slot(2), "a bias has one value for each filter", slot(1));
    }
    if (!x || (how.size() > 1 && !w) || (w && !check_weights(n, slot(0), slot(1)))) return;
    const NumberView size = x->subspan(2);
    Numbers kernel = read_list(n, "kernel_shape", size.size(), kUnknown);
    for (std::size_t i = 0; w && i < kernel.size(); ++i) {
        if (differ(kernel[i], (*w)[i + 2])) {
            return n.wrong({"kernel_shape"}, "it is not that of the weights, " + shape_text(*w));
        }
        kernel[i] = (*w)[i + 2];
    }
    const Numbers rest = kernel.empty() ? kernel : moved(n, size, kernel);
    if (rest.empty()) return;
    Numbers made{(*x)[0], w ? (*w)[0] : (*x)[1]};
    made.insert(made.end(), rest.begin(), rest.end());
    n.make(0, made);
    if (!w) n.make(1, made);
}

}  // namespace onnxmap::check
