// Rules that say in letters which dimensions are equal; shapes.def has the notation.

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/ascii.hpp"
#include "base/made_once.hpp"
#include "check/shape_rules.hpp"
#include "model/name_table.hpp"

namespace onnxmap::check {

namespace {

// The words of one shape.
using Pattern = std::vector<std::string_view>;

// How the shapes of one rank of the first input fit. "~" is a word of its own.
struct Way {
    struct Given {
        char letter;
        std::string_view attribute;
        std::int64_t usual;
    };
    std::vector<Given> given;
    std::vector<Pattern> inputs;
    std::vector<Pattern> outputs;
};

Way parsed(std::string_view text) {
    Way way;
    const auto sides = parts(text, "->");
    for (const std::string_view each : parts(sides[0], ",")) way.inputs.push_back(words(each));
    for (const std::string_view each : parts(sides[1], ",")) way.outputs.push_back(words(each));
    std::erase_if(way.inputs.front(), [&](std::string_view word) {
        if (word.size() < 2 || word[1] != '=') return false;
        const auto name = parts(word.substr(2), "/");
        way.given.push_back({word[0], name[0], name.size() > 1 ? name[1][0] - '0' : kUnknown});
        return true;
    });
    return way;
}

using Ways = model::NameMap<std::vector<Way>>;
constinit std::atomic<const Ways*> all_ways = nullptr;

// By the texts of the rules: parsing one takes longer than applying it.
const Ways& ways_of_all() {
    return made_once(all_ways, [] {
        auto made = std::make_unique<Ways>();
        for (const std::string_view how : {
#define SHAPES(since, function, how, operators) std::string_view(how),
#include "check/shapes.def"
#undef SHAPES
             }) {
            if (how.find("->") == std::string_view::npos || made->contains(how)) continue;
            for (const std::string_view way : parts(how, "|")) (*made)[how].push_back(parsed(way));
        }
        return std::unique_ptr<const Ways>(std::move(made));
    });
}

bool is_untold(const Pattern& words) { return words.size() == 1 && words.front() == "~"; }

bool has_group(const Pattern& words) { return std::ranges::find(words, "*") != words.end(); }

bool fits_rank(const Pattern& words, std::size_t rank) {
    return has_group(words) ? rank + 1 >= words.size() : rank == words.size();
}

// One way in which the shapes can fit.
class Match {
  public:
    Match(NodeShapes& node, const Way& way)
        : node_(node), inputs_(way.inputs), outputs_(way.outputs) {
        letters_.fill(kUnknown);
        for (const auto& [name, attribute, usual] : way.given)
            letter(name) = node.number(attribute, usual);
    }

    /// Whether the first input has no more dimensions than this takes.
    [[nodiscard]] bool takes_first() const {
        const auto& dims = node_.dims(0);
        return !dims || is_untold(inputs_[0]) || has_group(inputs_[0]) ||
               dims->size() <= inputs_[0].size();
    }

    void run() {
        // What a later input tells may solve a product of an earlier one.
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t slot = 0; slot < inputs_.size(); ++slot) {
                if (is_untold(inputs_[slot]) || !node_.dims(slot)) continue;
                if (!take(slot, inputs_[slot], *node_.dims(slot))) return;
            }
        }
        for (std::size_t slot = 0; slot < outputs_.size(); ++slot) {
            if (!is_untold(outputs_[slot])) tell(slot, outputs_[slot]);
        }
    }

  private:
    std::int64_t& letter(char c) { return letters_.at(static_cast<unsigned char>(c) % 128); }

    bool fail(std::size_t slot, const std::string& what) {
        node_.wrong(slot, "the shape is " + shape_text(*node_.dims(slot)) + ", and " + what);
        return false;
    }

    bool take(std::size_t slot, const Pattern& words, NumberView dims) {
        if (!fits_rank(words, dims.size())) {
            return fail(slot, "the operator takes " +
                                  std::string(has_group(words) ? "at least " : "") +
                                  std::to_string(words.size() - (has_group(words) ? 1 : 0)) +
                                  " dimensions here");
        }
        std::size_t at = 0;
        for (const std::string_view word : words) {
            if (word == "*") {
                const std::size_t count = dims.size() + 1 - words.size();
                if (!take_group(dims.subspan(at, count))) {
                    return fail(slot, "other inputs need " + shape_text(*group_) + " in it");
                }
                at += count;
            } else if (const auto needed = solve(word, dims[at++])) {
                return fail(slot, "dimension " + std::to_string(at - 1) + " has to be " + *needed);
            }
        }
        return true;
    }

    bool take_group(NumberView dims) {
        if (!group_) group_.emplace(dims.begin(), dims.end());
        if (group_->size() != dims.size()) return false;
        for (std::size_t i = 0; i < dims.size(); ++i) {
            if (differ((*group_)[i], dims[i])) return false;
            if ((*group_)[i] == kUnknown) (*group_)[i] = dims[i];
        }
        return true;
    }

    // What the word has to be, if `dim` is something else.
    std::optional<std::string> solve(std::string_view word, std::int64_t dim) {
        if (dim == kUnknown || word == "?") return std::nullopt;
        std::int64_t known = 1;
        std::int64_t* open = nullptr;
        for (const char c : word) {
            if (!is_digit(c) && letter(c) == kUnknown) {
                if (open != nullptr) return std::nullopt;  // two that are not known
                open = &letter(c);
            } else if (__builtin_mul_overflow(known, is_digit(c) ? c - '0' : letter(c), &known)) {
                return std::nullopt;
            }
        }
        if (open == nullptr)
            return known == dim ? std::nullopt : std::optional(std::to_string(known));
        if (known <= 0) return std::nullopt;
        if (dim % known != 0) return "a multiple of " + std::to_string(known);
        *open = dim / known;
        return std::nullopt;
    }

    [[nodiscard]] std::int64_t value(std::string_view word) {
        Numbers factors;
        for (const char c : word) {
            factors.push_back(is_digit(c) ? c - '0' : c == '?' ? kUnknown : letter(c));
        }
        return product(factors).value_or(kUnknown);
    }

    void tell(std::size_t slot, const Pattern& words) {
        Numbers dims;
        for (const std::string_view word : words) {
            if (word != "*" && word != "^") {
                dims.push_back(value(word));
            } else if (!group_) {
                return;
            } else if (word == "*") {
                dims.insert(dims.end(), group_->begin(), group_->end());
            } else {
                dims.insert(dims.end(), group_->size(), 1);
            }
        }
        node_.make(slot, dims);
    }

    NodeShapes& node_;
    std::array<std::int64_t, 128> letters_{};
    std::optional<Numbers> group_;
    const std::vector<Pattern>& inputs_;
    const std::vector<Pattern>& outputs_;
};

}  // namespace

void match(NodeShapes& node, std::string_view how) {
    const std::vector<Way>& ways = ways_of_all().at(how);
    if (ways.size() > 1 && !node.dims(0)) return;
    for (const Way& way : ways) {
        Match match(node, way);
        if (ways.size() == 1 || match.takes_first()) return match.run();
    }
}

}  // namespace onnxmap::check
