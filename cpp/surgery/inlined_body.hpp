// Copies of the nodes of functions, as they are in the place of calls: with the names and
// attributes that a call gives.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/copy_message.hpp"
#include "model/name_table.hpp"
#include "model/node.hpp"

namespace onnxmap::surgery {

/// Makes names that nothing around has.
class UnusedNames {
  public:
    void note(std::string_view name) { used_.add(name); }
    /// The name itself, or with a number behind it: "x", "x_2", "x_3".
    std::string take(std::string_view name);

  private:
    model::NameTable used_{model::NameTable::Text::copied};
    model::TextMap<std::uint64_t> last_;  // numbers by name
};

/// The function that a node calls and that is to be inlined; null: none is.
using FindCalled = std::function<const onnx::Message*(const onnx::Message& node)>;

class InlinedBody;

/// What copies of nodes share: where the function of a call is found, and names that are taken.
struct Inlining {
    const model::Document& document;
    FindCalled find_called;
    UnusedNames names = {};
    std::list<InlinedBody> bodies = {};  // they refer to one another
    std::uint64_t name_count = 0;        // of the inputs, outputs and attributes that they keep

    /// Forgets the bodies, when their nodes were copied.
    void forget_bodies();
};

/// Copies with their names, but for calls in them, whose functions are put in.
class InlinedCalls : public model::Rewrite {
  public:
    explicit InlinedCalls(Inlining& shared) : shared_(shared) {}

    /// Adds the nodes of the function, and its value infos, in the place of a call.
    void add_called(const onnx::Message& call, const onnx::Message& function,
                    const wire::FieldRow& nodes, const Add& add) const;

    [[nodiscard]] bool replace(const wire::FieldRow& row, const onnx::Message& message,
                               const Add& add) const override;

  protected:
    friend class InlinedBody;

    /// The name that a value has in the copy.
    [[nodiscard]] virtual std::string name_of(std::string_view value) const {
        return std::string(value);
    }
    // An attribute, and the copy to which the names in it belong.
    struct Given {
        onnx::Message attribute;
        const Rewrite* names;
    };
    /// The attribute itself, or that to which it refers; nothing: none is given. What refers to an
    /// attribute of a function that stays is kept.
    [[nodiscard]] virtual std::optional<Given> given(const onnx::Message& attribute) const {
        return Given{attribute, this};
    }
    /// Calls visit(entry) for the metadata of the call, then for that of the calls around it.
    virtual void for_each_metadata(const std::function<void(const onnx::Message&)>&) const {}

    Inlining& shared_;
};

/// The nodes of one function in the place of one call.
class InlinedBody : public InlinedCalls {
  public:
    /// `around`: the copy, or the graph, that has the call.
    InlinedBody(Inlining& shared, const InlinedCalls& around, const onnx::Message& call,
                const onnx::Message& function);

    [[nodiscard]] std::optional<std::string> text(const wire::FieldRow& holder,
                                                  const wire::FieldRow& row,
                                                  std::string_view text) const override;
    [[nodiscard]] bool replace(const wire::FieldRow& row, const onnx::Message& message,
                               const Add& add) const override;
    void extend(const onnx::Message& original, const Add& add) const override;

    /// Adds Identity nodes for outputs that no node of the function makes alone: inputs, or one
    /// value that is several outputs.
    void add_identities(const wire::FieldRow& nodes, const Add& add) const;
    /// Whether it is a value inside of the function alone.
    [[nodiscard]] bool is_inner(std::string_view value) const { return !formal_.contains(value); }

  protected:
    [[nodiscard]] std::string name_of(std::string_view value) const override;
    [[nodiscard]] std::optional<Given> given(const onnx::Message& attribute) const override;
    void for_each_metadata(const std::function<void(const onnx::Message&)>& visit) const override;

  private:
    void bind_attributes(const InlinedCalls& around, const onnx::Message& call,
                         const onnx::Message& function);

    const InlinedCalls& around_;
    std::vector<onnx::Message> metadata_;  // entries of the call
    model::NameMap<std::string> formal_;   // names of inputs and outputs
    mutable model::TextMap<std::string> inner_;
    std::vector<std::pair<std::string, std::string>> identities_;  // inputs and outputs
    model::NameMap<Given> attributes_;
};

}  // namespace onnxmap::surgery
