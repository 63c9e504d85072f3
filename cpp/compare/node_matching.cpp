#include "compare/node_matching.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "model/message_hash.hpp"
#include "model/node.hpp"
#include "os/parallel.hpp"

namespace onnxmap::compare {

using model::Node;

namespace {

void append(std::string& key, std::uint64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// The key of a node, kept until the next call.
class NodeKeys {
  public:
    NodeKeys(const model::Document& document, const Elements& nodes, bool has_names)
        : document_(document), nodes_(nodes), has_names_(has_names) {}

    std::string_view name(std::uint32_t i) {
        key_ = Node(nodes_.at(i)).name();
        return key_;
    }

    std::string_view content(std::uint32_t i) {
        key_.clear();
        append(key_, model::hash_of(document_, nodes_.at(i)));
        return key_;
    }

    std::string_view first_output(std::uint32_t i) {
        key_.clear();
        Node(nodes_.at(i)).for_each_output([&](std::string_view output) {
            if (key_.empty()) key_ = output;
        });
        return key_;
    }

    // The operator, and `after`: the partner of the nearest matched node before this one.
    std::string_view type_after(std::uint32_t i, std::uint32_t after) {
        key_.clear();
        const Node node(nodes_.at(i));
        if (has_names_ && !node.name().empty()) return key_;
        append(key_, after);
        key_ += node.op_type();
        key_ += '\0';
        key_ += node.domain();
        return key_;
    }

  private:
    const model::Document& document_;
    const Elements& nodes_;
    bool has_names_;
    std::string key_;
};

// Of each element, the anchor of itself, or of the nearest one before it that has one.
template <class AnchorOf>
std::vector<std::uint32_t> nearest_anchors(std::uint32_t count, AnchorOf&& anchor_of) {
    std::vector<std::uint32_t> anchors(count);
    std::uint32_t last = Matching::kNone;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (const std::uint32_t own = anchor_of(i); own != Matching::kNone) last = own;
        anchors[i] = last;
    }
    return anchors;
}

}  // namespace

NodeMatching match_nodes(const model::Document& document_a, const Elements& a,
                         const model::Document& document_b, const Elements& b,
                         std::uint32_t depth_left, bool has_names) {
    NodeMatching found{Matching(a.count(), b.count())};
    Matching& matching = found.matching;
    const auto identical = [&](std::uint32_t i, std::uint32_t j) {
        os::leave_if_stopped();
        const onnx::Message in_a = a.at(i);
        const onnx::Message in_b = b.at(j);
        return is_identical({document_a, in_a}, {document_b, in_b}, depth_left);
    };
    const std::uint32_t shorter = std::min(a.count(), b.count());
    std::uint32_t& first = found.same_first;
    while (first < shorter && identical(first, first)) {
        matching.pair(first, first);
        ++first;
    }
    std::uint32_t& last = found.same_last;
    while (last < shorter - first && identical(a.count() - 1 - last, b.count() - 1 - last)) {
        ++last;
        matching.pair(a.count() - last, b.count() - last);
    }

    NodeKeys in_a(document_a, a, has_names);
    NodeKeys in_b(document_b, b, has_names);
    const auto by_name = [&](bool unique) {
        if (!has_names) return;
        matching.pair_by([&](std::uint32_t i) { return in_a.name(i); },
                         [&](std::uint32_t j) { return in_b.name(j); }, unique);
    };
    by_name(true);
    matching.pair_by([&](std::uint32_t i) { return in_a.content(i); },
                     [&](std::uint32_t j) { return in_b.content(j); });
    matching.pair_by([&](std::uint32_t i) { return in_a.first_output(i); },
                     [&](std::uint32_t j) { return in_b.first_output(j); });
    by_name(false);
    if (matching.complete()) return found;
    // An anchor is an element of the second list that has a partner; in the first, its partner.
    const auto after_a =
        nearest_anchors(a.count(), [&](std::uint32_t i) { return matching.of_a(i); });
    const auto after_b = nearest_anchors(b.count(), [&](std::uint32_t j) {
        return matching.of_b(j) == Matching::kNone ? Matching::kNone : j;
    });
    matching.pair_by([&](std::uint32_t i) { return in_a.type_after(i, after_a[i]); },
                     [&](std::uint32_t j) { return in_b.type_after(j, after_b[j]); });
    return found;
}

}  // namespace onnxmap::compare
