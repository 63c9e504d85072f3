// The names of the second of two models in the one that is made of both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/copy_message.hpp"
#include "model/name_table.hpp"
#include "surgery/graph_parts.hpp"
#include "surgery/merge.hpp"

namespace onnxmap::surgery {

/// The names of its functions.
class RenamedFunctions : public model::Rewrite {
  public:
    explicit RenamedFunctions(const std::string& prefix) : prefix_(prefix) {}

    /// Puts the prefix before the name, in all domains and overloads. Returns the new one.
    std::string rename(std::string_view name) {
        names_.insert(name);
        return prefix_ + std::string(name);
    }

    [[nodiscard]] bool renames(std::string_view name) const { return names_.contains(name); }
    [[nodiscard]] bool empty() const noexcept { return names_.empty(); }

    [[nodiscard]] std::optional<std::string> text(const wire::FieldRow&, const wire::FieldRow& row,
                                                  std::string_view text) const override {
        if ((&row != &onnx::field<"NodeProto.op_type"> &&
             &row != &onnx::field<"FunctionProto.name">) ||
            !renames(text))
            return std::nullopt;
        return prefix_ + std::string(text);
    }

  private:
    const std::string& prefix_;
    model::NameSet names_;
};

/// The names in its graph.
class Renamed : public model::Rewrite {
  public:
    Renamed(const MergeOptions& options, const RenamedFunctions& functions)
        : prefix_(options.prefix), functions_(functions) {
        for (const auto& [output, input] : options.connect) connected_.emplace(input, output);
        for (const std::string& name : options.share) share(name);
    }

    /// Lets the value of the first model take the place of the second's of that name.
    void share(std::string_view name) { connected_.emplace(name, name); }

    [[nodiscard]] bool is_connected(std::string_view input) const {
        return connected_.contains(input);
    }

    [[nodiscard]] std::string value(std::string_view name) const {
        const auto known = connected_.find(name);
        if (known != connected_.end()) return std::string(known->second);
        return name.empty() ? std::string() : node(name);
    }
    [[nodiscard]] std::string node(std::string_view name) const {
        return prefix_ + std::string(name);
    }

    [[nodiscard]] std::optional<std::string> text(const wire::FieldRow& holder,
                                                  const wire::FieldRow& row,
                                                  std::string_view text) const override {
        if (names_value(holder, row)) return value(text);
        if (&row == &onnx::field<"NodeProto.name"> && !text.empty()) return node(text);
        return functions_.text(holder, row, text);
    }

  private:
    const std::string& prefix_;
    const RenamedFunctions& functions_;
    model::NameMap<std::string_view> connected_;
};

}  // namespace onnxmap::surgery
