// The functions of a model, and which of them are called: by graphs, and by functions that are.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/document.hpp"
#include "model/name_table.hpp"
#include "surgery/needed.hpp"

namespace onnxmap::surgery {

class CalledFunctions {
  public:
    struct Function {
        std::unique_ptr<Needed> needed;  // what its outputs need
        std::string key;
        bool is_called = false;
    };

    CalledFunctions(const model::Document& document, Needed::Of of);

    /// Notes the operators that a body needs, and the functions that these call.
    void note(const Needed& body);

    [[nodiscard]] const std::vector<Function>& all() const noexcept { return functions_; }
    /// Whether the model needs an import of a domain: something that was noted has an operator of
    /// it, a called function is in it, or it is the default domain.
    [[nodiscard]] bool needs_import(std::string_view domain) const;

  private:
    void call(const Needed& body, model::NameTable& domains);

    std::vector<Function> functions_;
    std::unordered_multimap<std::string, std::size_t, model::NameHash> by_identity_;
    std::vector<std::size_t> to_visit_;
    model::NameTable domains_;
};

}  // namespace onnxmap::surgery
