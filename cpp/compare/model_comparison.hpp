// Walks over two models side by side and notes what differs. Tensors that are large are left for
// later: their bytes are compared by several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compare/differences.hpp"
#include "compare/field_values.hpp"
#include "compare/node_matching.hpp"
#include "compare/tensor_values.hpp"
#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::compare {

/// Where a difference belongs: to an item of the list, or to a section.
struct Scope {
    Section section = Section::other;
    bool in_item = false;
    std::optional<std::size_t> item;  // nothing if there was no room for it
};

/// Two large tensors whose values are to be compared.
struct TensorJob {
    onnx::Message a;
    onnx::Message b;
    BytePair bytes;
    Scope scope;
    std::string in_a;  // their paths in the models
    std::string in_b;
    std::string below_a;  // and below the item of the scope
    std::string below_b;
};

/// An initializer of one model only, which the other may have under another name.
struct UnmatchedTensor {
    onnx::Message message;
    std::size_t item;
};

/// Bounds how many bytes are read for the tensors of one model: see model/overlap_limit.hpp.
class ReadBytes {
  public:
    explicit ReadBytes(const model::Document& document) : document_(document) {}
    /// Throws Error `limit.overlap`.
    void add(const tensor::Payload& payload);
    /// Adds the bytes of a tensor that is stored, or in segments. Throws the same.
    void add(const model::Tensor& tensor);
    /// Throws Error `file.changed` if a file was changed before `now`.
    void check_again(source::Timestamp now) const;

  private:
    const model::Document& document_;
    std::set<std::shared_ptr<const source::Source>> sources_;
    std::uint64_t nbytes_ = 0;
    std::uint64_t checked_ = 0;
};

class ModelComparison {
  public:
    /// The documents must outlive it.
    ModelComparison(const TwoDocuments& documents, Differences& found);

    /// Walks over both models. Throws Error `file.changed`, `limit.overlap`, FileError and
    /// os::Stopped.
    void run();

    [[nodiscard]] std::vector<TensorJob>& jobs() noexcept { return jobs_; }
    [[nodiscard]] const std::vector<UnmatchedTensor>& only_in_a() const noexcept {
        return only_in_a_;
    }
    [[nodiscard]] const std::vector<UnmatchedTensor>& only_in_b() const noexcept {
        return only_in_b_;
    }

    /// Notes what comparing the values of a job has found.
    void finish(const TensorJob& job, ComparedValues compared);

    /// Notes that two tensors, of which each model has one, have equal values.
    void report_renamed(const UnmatchedTensor& a, const UnmatchedTensor& b);

    /// Checks whether files have changed after they were read. Throws Error `file.changed`.
    void check_again() const {
        const source::Timestamp now = source::now();
        read_a_.check_again(now);
        read_b_.check_again(now);
    }

  private:
    using Message = onnx::Message;
    using Row = wire::FieldRow;

    // The path to the messages that the walk is in.
    class Step;
    // While one exists, what differs belongs to an item, which is made if something does.
    class InItem;

    // Of models, or of their main graphs: what differs belongs to the section of its field.
    void compare_sections(const Message& a, const Message& b, bool in_main_graph);
    void compare_messages(const Message& a, const Message& b);
    void compare_field(const Row& row, const Message& a, const Message& b);
    void compare_single_messages(const Row& row, const Message& a, const Message& b);
    void compare_lists(const Row& row, const Message& a, const Message& b);
    void compare_nodes(const Row& row, const Elements& a, const Elements& b);
    void compare_pairs(const Row& row, const Elements& a, const Elements& b,
                       const Matching& matching, bool ordered, const NodeMatching* known = nullptr);
    void compare_pair(const Row& row, const Message& a, const Message& b, bool moved);
    void report_unmatched(const Row& row, const Message& element, bool in_a);
    void report_unmatched_tensor(const Message& tensor, bool in_a);
    void compare_unknown_fields(const Message& a, const Message& b);
    void compare_tensors(const Message& a, const Message& b);
    void compare_tensor_fields(const Message& a, const Message& b);
    void compare_tensor_values(const Message& a, const Message& b);
    // Whether the values of two types may be the same.
    [[nodiscard]] bool can_compare(std::int32_t type_a, std::int32_t type_b) const;
    // The initializers that a save gave another type count by the names that they had before, and
    // the nodes Cast that it added do not count, if the other model has a value of that name and
    // type.
    void note_casts();
    void drop_casts(Elements& nodes) const;
    [[nodiscard]] std::string key_in_list(const Row& row, const Message& element) const;
    // A job without the bytes.
    [[nodiscard]] TensorJob job_of(const Message& a, const Message& b);
    void report_tensor(const TensorJob& job, TensorDifference difference);

    [[nodiscard]] bool is_ignored(const Row& row) const noexcept;
    [[nodiscard]] bool opens_items(const Row& row) const noexcept;
    [[nodiscard]] Scope scope();
    void report_moved();
    void make_item();
    void add(Kind kind, Value a = {}, Value b = {});
    void add_to(const Scope& scope, Change change);
    // Whether the memory for the list of differences allows one more.
    [[nodiscard]] bool has_room(std::uint64_t nbytes);
    [[nodiscard]] std::string below_a() const { return below(path_a_, item_begin_a_); }
    [[nodiscard]] std::string below_b() const { return below(path_b_, item_begin_b_); }
    static std::string below(const std::string& path, std::size_t begin);

    const TwoDocuments& documents_;
    Differences& found_;
    std::vector<TensorJob> jobs_;
    std::vector<UnmatchedTensor> only_in_a_;
    std::vector<UnmatchedTensor> only_in_b_;
    ReadBytes read_a_;
    ReadBytes read_b_;
    std::unordered_map<const std::uint8_t*, std::string_view> old_names_;  // of such initializers
    std::unordered_set<const std::uint8_t*> casts_;                        // keys of such nodes
    std::uint64_t room_;
    std::uint32_t depth_left_;

    std::string path_a_;
    std::string path_b_;
    Section section_ = Section::other;
    bool in_main_graph_ = false;
    const InItem* in_item_ = nullptr;
    std::optional<std::size_t> item_;  // once it was made
    std::size_t item_begin_a_ = 0;     // of the paths below the item
    std::size_t item_begin_b_ = 0;
};

/// What the header of a tensor says.
[[nodiscard]] TensorDifference::Side side_of(const onnx::Message& tensor);

}  // namespace onnxmap::compare
