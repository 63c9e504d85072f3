// The initializers of a graph, in order and by name. All code that visits the weights of a model
// uses this list: views, bulk reading, page-cache calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/made_once.hpp"
#include "model/document.hpp"
#include "model/field_index.hpp"
#include "model/list_names.hpp"
#include "model/named_list.hpp"
#include "model/structure_pages.hpp"
#include "model/tensor.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

class Initializers {
  public:
    /// `graph`: the fields of a GraphProto of the document.
    Initializers(std::shared_ptr<const Document> document, std::shared_ptr<const FieldIndex> graph)
        : document_(std::move(document)), graph_(std::move(graph)) {}
    [[nodiscard]] const Document& document() const noexcept { return *document_; }
    [[nodiscard]] const std::shared_ptr<const Document>& shared_document() const noexcept {
        return document_;
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return graph_->count(kField); }

    /// The TensorProto at a position of the list. Throws Error `edit.concurrent`.
    [[nodiscard]] onnx::Message at(std::uint64_t position) const;

    /// Calls visit(tensor) for each TensorProto of the list, in order. `release_pages`: the pages
    /// that the walk maps are released as it goes.
    template <class Visit>
    void for_each(Visit&& visit, bool release_pages = false) const {
        StructurePages pages(document_->source(), release_pages);
        graph_->for_each(kField, [&](const wire::Field& element) {
            visit(tensor_of(element));
            pages.note_read(element.bytes);
        });
    }

    /// The same with visit(tensor) for each Tensor, whose header is read.
    template <class Visit>
    void for_each_tensor(Visit&& visit) const {
        for_each([&](const onnx::Message& message) { visit(Tensor(*document_, message)); });
    }

    /// Calls visit(i, tensor) for the tensor at positions[i], in the order of the list. One walk
    /// serves neighbouring positions; at() would walk over the neighbours of each tensor again.
    /// Throws Error `edit.concurrent` before the first call of `visit`.
    template <class Visit>
    void for_each_at(std::span<const std::uint32_t> positions, Visit&& visit,
                     bool release_pages = false) const {
        StructurePages pages(document_->source(), release_pages);
        FieldIndex::Cursor cursor(*graph_, kField);
        wire::Field element;
        for (const std::uint32_t i : in_list_order(positions)) {
            if (positions[i] >= cursor.position()) {  // not the position of the call before
                cursor.skip_to(positions[i]);
                if (!cursor.next(element)) fail_changed();
                pages.note_read(element.bytes);
            }
            visit(i, tensor_of(element));
        }
    }

    /// Calls visit(name) for each TensorProto of the list, in order; the name may be empty.
    /// `release_pages`: as for for_each().
    template <class Visit>
    void for_each_name(Visit&& visit, bool release_pages = false) const {
        for_each([&](const onnx::Message& tensor) { visit(tensor.text(kName)); }, release_pages);
    }

    /// Calls insert(tensor) for each Tensor that has a name, in order. It returns whether it has
    /// not inserted this name before. Throws Error `model.duplicate_name` if it has, unless the
    /// tensors of that name are segments of one tensor.
    template <class Insert>
    void insert_named(Insert&& insert) const {
        for_each_tensor([&](const Tensor& tensor) {
            const std::string_view name = tensor.header().name;
            if (!name.empty() && !insert(tensor)) static_cast<void>(names().position(name));
        });
    }

    /// The initializers by name; made at the first call. `release_pages`: as for for_each().
    [[nodiscard]] const ListNames& names(bool release_pages = false) const;

    /// names().position() and names().contains() of a name, and names().count(), which cost no walk
    /// over the list after an edit.
    [[nodiscard]] std::optional<std::uint32_t> position(std::string_view name) const;
    [[nodiscard]] bool contains(std::string_view name) const;
    [[nodiscard]] std::uint64_t name_count() const;

    /// Reads the names before they are looked up. `release_pages`: as for for_each().
    void read_names(bool release_pages) const;

    /// Bytes of all initializers, as stored.
    [[nodiscard]] std::uint64_t stored_nbytes() const;

  private:
    static constexpr const wire::FieldRow& kField = onnx::field<"GraphProto.initializer">;
    static constexpr const wire::FieldRow& kName = onnx::field<"TensorProto.name">;

    [[nodiscard]] onnx::Message tensor_of(const wire::Field& element) const {
        return graph_->message().inner(kField, element);
    }
    // The indices 0 to positions.size() - 1, sorted by position. Throws Error `edit.concurrent`.
    [[nodiscard]] std::vector<std::uint32_t> in_list_order(
        std::span<const std::uint32_t> positions) const;

    // What finds a name without names(); nothing if names() is to be asked.
    [[nodiscard]] std::optional<NamedList> edited() const;

    std::shared_ptr<const Document> document_;
    std::shared_ptr<const FieldIndex> graph_;
    // Copies of the list share what is made.
    std::shared_ptr<MadeOnce<const ListNames>> names_ =
        std::make_shared<MadeOnce<const ListNames>>();
};

}  // namespace onnxmap::model
