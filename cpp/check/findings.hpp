// What a check found. A hostile file may break a rule a million times: the first findings of each
// rule are kept, and the others counted.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "check/field_path.hpp"
#include "check/rules.hpp"

namespace onnxmap::check {

struct Finding {
    Rule rule;
    std::string where;    // the path from the root
    std::string message;  // what is wrong
};

class Findings {
  public:
    /// `wanted`: for each rule, whether to look for it. At most `most` findings of a rule are kept.
    Findings(std::vector<bool> wanted, std::uint64_t most)
        : wanted_(std::move(wanted)),
          counts_(rules().size()),
          before_(rules().size()),
          most_(most) {}

    [[nodiscard]] bool wants(Rule rule) const { return wanted_[index(rule)]; }

    /// Adds a finding. `message`: the sentence that says what is wrong, its parts, or a function
    /// that returns it, which is called only for a finding that is kept.
    template <std::invocable Message>
    void add(Rule rule, const FieldPath& path, Message&& message) {
        if (count(rule)) found_.push_back({rule, path.text(), message()});
    }
    void add(Rule rule, const FieldPath& path, std::initializer_list<TextPart> message) {
        if (count(rule)) found_.push_back({rule, path.text(), text_from(message)});
    }
    void add(Rule rule, const FieldPath& path, const char* message) {
        if (count(rule)) found_.push_back({rule, path.text(), message});
    }

    /// An object without findings that looks for the same.
    [[nodiscard]] Findings empty_copy() const { return {wanted_, most_}; }
    /// Adds the findings of another object that looks for the same, and empties it. From now on the
    /// other one makes no messages of rules of which this one keeps no more.
    void take(Findings& other);

    /// The findings that were kept, in the order in which they were found.
    [[nodiscard]] const std::vector<Finding>& found() const noexcept { return found_; }
    /// How often each rule was broken.
    [[nodiscard]] const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }

  private:
    static std::size_t index(Rule rule) noexcept { return static_cast<std::size_t>(rule); }
    // Counts a finding; whether it is kept.
    bool count(Rule rule) {
        return wants(rule) &&
               ++counts_[index(rule)] <= most_ - std::min(most_, before_[index(rule)]);
    }

    std::vector<bool> wanted_;
    std::vector<std::uint64_t> counts_;
    std::vector<std::uint64_t> before_;  // counts of the object that takes the findings
    std::vector<Finding> found_;
    std::uint64_t most_;
};

}  // namespace onnxmap::check
