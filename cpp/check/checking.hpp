// What the checks of one document share.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/findings.hpp"
#include "check/imports.hpp"
#include "check/known_operators.hpp"
#include "check/shape_store.hpp"
#include "check/visible_values.hpp"
#include "model/document.hpp"
#include "model/inline_tensors.hpp"
#include "model/name_table.hpp"
#include "model/structure_pages.hpp"
#include "onnx/message.hpp"
#include "source/source.hpp"

namespace onnxmap::check {

/// The functions of a model, by domain, name and overload, and which of them call which.
class Functions {
  public:
    /// What a call may have.
    struct Signature {
        std::uint64_t inputs = 0;
        std::uint64_t outputs = 0;
        model::NameTable attributes{};
        bool is_used = false;
    };
    model::NameTable::Added add(std::string_view domain, std::string_view name,
                                std::string_view overload);
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view domain, std::string_view name,
                                                    std::string_view overload) const;
    [[nodiscard]] bool empty() const noexcept { return names_.size() == 0; }
    /// Whether a function is of a domain.
    [[nodiscard]] bool has_domain(std::string_view domain) const {
        return domains_.find(plain_domain(domain)).has_value();
    }
    [[nodiscard]] Signature& signature(std::uint32_t function) { return signatures_[function]; }
    [[nodiscard]] const Signature& signature(std::uint32_t function) const {
        return signatures_[function];
    }

    void note_use(std::uint32_t function) { signatures_[function].is_used = true; }
    void note_call(std::uint32_t caller, std::uint32_t called) { calls_[caller].push_back(called); }
    /// A function that calls itself, by way of others or not, once for each circle of calls.
    [[nodiscard]] std::vector<std::uint32_t> recursive() const;

  private:
    model::NameTable names_{model::NameTable::Text::copied};
    model::NameTable domains_;
    std::vector<Signature> signatures_;              // of each function
    std::vector<std::vector<std::uint32_t>> calls_;  // of each function
};

/// A range of an external file that a tensor has as its values.
struct ExternalRange {
    std::shared_ptr<const source::Source> source;
    std::uint64_t offset;
    std::uint64_t nbytes;
    const FieldPath* path;   // of the tensor
    std::uint64_t file = 0;  // the number of the source
};

/// Whom nodes belong to: the model, or one of its functions.
struct Owner {
    const Imports& imports;
    const KnownOperators* operators;                       // null: they are not looked at
    const model::NameTable* attributes = nullptr;          // of the function; null: the model
    std::optional<std::uint32_t> function = std::nullopt;  // its position; nothing: the model
    const KnownOperators* of_model = nullptr;              // of the function's model
};

/// An operator set that is checked.
struct CheckedSet {
    std::string_view domain;
    std::int64_t version;
};

struct Checking {
    const model::Document& document;
    Findings& findings;
    source::Timestamp timestamp;  // files that were looked at earlier are looked at again
    bool values;                  // whether to read what only the values tell

    std::int64_t ir_version = 0;
    std::optional<CheckedSet> set = std::nullopt;  // nothing: a model is checked
    bool has_training = false;
    bool knows_versions = true;  // of operator sets; one finding says if none is imported
    Imports imports = {};        // of the model
    Functions functions = {};
    // Those of each set of imports, made once.
    std::deque<std::pair<KnownOperators::Versions, KnownOperators>> operators = {};
    std::array<bool, std::tuple_size_v<KnownOperators::Versions>> used_sets = {};  // by nodes
    model::NameTable not_described{};  // domains of nodes whose operators ONNX does not describe
    std::vector<std::uint64_t> not_described_nodes = {};  // of each
    model::NameTable devices{};                           // the device configurations of the model
    VisibleValues visible = {};
    ShapeStore shapes{};
    std::deque<std::string> names_of_weights = {};  // copies
    KeptFieldPaths kept = {};
    std::vector<ExternalRange> external = {};
    model::InlineTensors inlines{document};
    model::StructurePages pages{document.source(), true};

    /// The domain of a function: if it names none, that of its operator set.
    [[nodiscard]] std::string_view domain_of(const onnx::Message& function) const;

    /// The operators of some imports; null if no rule looks at them.
    [[nodiscard]] const KnownOperators* operators_of(const Imports& own);

    /// Counts a node whose operator is of a domain that ONNX does not describe.
    void count_not_described(std::string_view domain);
    /// Whether a node has an operator of a domain, or a function is of it.
    [[nodiscard]] bool uses_domain(std::string_view domain) const;
    /// A finding for each such domain.
    void report_not_described(const FieldPath& root);

    /// Adds a finding; see Findings::add().
    template <class Message>
    void found(Rule rule, const FieldPath& path, Message&& message) {
        findings.add(rule, path, std::forward<Message>(message));
    }
    void found(Rule rule, const FieldPath& path, std::initializer_list<TextPart> message) {
        findings.add(rule, path, message);
    }
};

/// With the rule that the IR version has a field, which is set; `since`: the first one that has it.
/// Source: onnx.proto, Version.
void check_field_version(std::int64_t ir_version, Findings& findings, const wire::FieldRow& row,
                         std::int64_t since, const FieldPath& path);

/// With a rule that a domain is a name in reverse DNS form. The default domain keeps it.
void check_reverse_dns(Findings& findings, Rule rule, std::string_view domain,
                       const FieldPath& path);

/// With the rule that names are identifiers of C, if it is asked for.
void check_identifier(Findings& findings, std::string_view name, const FieldPath& path);

}  // namespace onnxmap::check
