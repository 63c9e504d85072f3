// Where the values of one tensor go: a function for each way to treat external data.
#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "save/save_plan.hpp"
#include "source/owned_bytes.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::save {

enum class Role { initializer, attribute, other };

namespace {

// What the last step of a tensor's path says it is.
Role role_of(std::string_view path) {
    if (path.ends_with(".t")) return Role::attribute;
    if (!path.ends_with(']')) return Role::other;  // a part of a sparse tensor
    path = path.substr(0, path.rfind('['));
    const std::string_view field = path.substr(path.rfind('.') + 1);
    if (field == "initializer") return Role::initializer;
    return field == "tensors" ? Role::attribute : Role::other;
}

// Whether the tensor, or the one whose place it took, had external data when the document was
// loaded.
bool was_external(const model::Edits& edits, const onnx::Message& tensor) {
    const onnx::Message first = edits.first_in_place(tensor);
    const bool is_other = first.key() != tensor.key();
    return (is_other || tensor.edited()) &&
           tensor::read_header(onnx::Message(tensor.table(), first.loaded())).external;
}

// Whether an edit made a tensor with external data, or gave it another place for them.
bool has_new_place(const model::Document& document, const model::Tensor& tensor) {
    const onnx::Message& message = tensor.message();
    if (!tensor.header().external) return false;
    if (document.edits().is_added(message.key())) return true;
    if (!document.edits().any()) return false;
    const model::Tensor loaded(document, onnx::Message(message.table(), message.loaded()));
    const auto place_if_valid = [](const model::Tensor& each) {
        return if_possible([&] { return each.external(); }).value_or(std::nullopt);
    };
    return place_if_valid(loaded) != place_if_valid(tensor);
}

// The values as raw_data has them, decoded into memory. Throws Error `tensor.*`.
tensor::Payload decoded(tensor::Values values) {
    return source::guard_reads(values.source(), [&] {
        values.check_count();
        auto bytes = std::make_shared<source::OwnedBytes>(
            tensor::packed_nbytes(values.count(), values.type().bits));
        values.read_packed(bytes->writable());
        return tensor::Payload{bytes, 0, bytes->size()};
    });
}

// The same; nothing if they are not valid.
std::optional<tensor::Payload> decoded_if_valid(tensor::Values values) {
    try {
        return decoded(std::move(values));
    } catch (const Error& error) {
        if (!error.code.starts_with("tensor.")) throw;
        return std::nullopt;
    }
}

}  // namespace

class SavePlan::TensorPlan {
  public:
    TensorPlan(SavePlan& plan, ModelPlan& model, const std::string& path,
               const onnx::Message& message, std::uint64_t position)
        : plan_(plan),
          options_(plan.options_),
          model_(model),
          planned_(model.planned),
          path_(path),
          position_(position),
          tensor_(*planned_.document, message),
          role_(role_of(path)),
          change_(model.changes.find(message)) {}

    void add() {
        using enum PlanOptions::External;
        if (options_.external == weights && !is_weight()) return;
        note_offset();
        const bool is_kept = options_.external == keep || options_.external == view;
        find_copy();
        if (options_.external == refer && refer_to_none()) return;
        const bool is_copied = is_external() && !(planned_.is_same_folder && is_kept);
        const bool stays = options_.external != weights && copy_ == nullptr && !is_copied;
        values_ = find_values(stays && change_ == nullptr);
        if (options_.external == weights && values_->type().bits == 0) refuse_as_weight();
        if (!values_ || values_->type().bits == 0) return;
        nbytes_ = tensor::packed_nbytes(values_->count(), values_->type().bits);
        if (change_ != nullptr) convert();
        switch (options_.external) {
            case keep: is_external() ? keep_external() : keep_inline(); break;
            case inlined: put_inline(); break;
            case file: put_into_file(); break;
            case view: show_in_view(); break;
            case refer: refer_to_file(); break;
            case weights: put_with_weights(); break;
        }
    }

  private:
    static constexpr std::string_view kInitializers = "graph.initializer[";

    [[nodiscard]] const tensor::Header& header() const noexcept { return tensor_.header(); }
    [[nodiscard]] bool is_external() const noexcept { return header().external; }
    [[nodiscard]] const tensor::Payload* payload() const noexcept {
        return converted_ ? &*converted_ : values_->payload();
    }

    void note_offset() {
        const model::Document& document = *planned_.document;
        const auto& raw_data = header().raw_data;
        if (role_ != Role::initializer || !raw_data || raw_data->empty()) return;
        if (!document.store().holds(*raw_data)) return;
        const std::uint64_t offset = document.source().offset_of(*raw_data);
        model_.offsets.add(offset);
        if (raw_data->size() >= options_.least_nbytes) model_.large_offsets.add(offset);
    }

    void convert() {
        const bool is_stored = payload() != nullptr && nbytes_ > 0;
        converted_ = is_stored ? *payload() : decoded(*values_);
        if (nbytes_ > 0) {
            converted_ = ConvertedValues::add(plan_.converted_, change_->old_name, *converted_,
                                              tensor::Cast(*change_->from, *change_->to));
        }
        nbytes_ = converted_->nbytes;
    }

    void find_copy() {
        if (planned_.copies.empty() || options_.external != PlanOptions::External::keep) return;
        const auto entry = tensor_.external();
        const auto copy = entry ? planned_.copies.find(entry->location) : planned_.copies.end();
        if (copy != planned_.copies.end()) copy_ = &copy->second;
    }

    // The values of the tensor; nothing if it stays where it is and need not be readable. It must
    // be readable if an edit or another library put it there.
    [[nodiscard]] std::optional<tensor::Values> find_values(bool stays) const {
        using MustExist = PlannedModel::MustExist;
        const bool must_be_there =
            is_external() && planned_.must_exist != MustExist::none &&
            (planned_.must_exist == MustExist::all || has_new_place(*planned_.document, tensor_));
        auto values = stays && !must_be_there ? tensor_.values_if_valid() : tensor_.values();
        if (values && !values->in_pieces() && !header().has_segment) return values;
        if (stays) return std::nullopt;
        throw Error("save.segments", {"tensor ", path_,
                                      " has external data in segments, which a save leaves "
                                      "where they are; save into the folder of the model"});
    }

    [[nodiscard]] bool is_large() const noexcept {
        return nbytes_ > 0 && nbytes_ >= options_.least_nbytes;
    }

    [[nodiscard]] bool is_movable() const {
        return !model_.inlines->contains(path_, header(), nbytes_);
    }

    // Whether values belong into a data file, or into the file of which the new model is a view.
    [[nodiscard]] bool is_chosen() const {
        const bool is_kind =
            role_ == Role::initializer || (role_ == Role::attribute && options_.attributes);
        return is_kind && is_large() && is_movable();
    }

    // Notes the data file of the tensor as one that the model uses. Null if it has none there.
    LoadedFiles::value_type* note_loaded_file() {
        return planned_.is_same_folder ? plan_.finder_.find(tensor_, model_.viewed) : nullptr;
    }

    void keep_external() {
        const std::string location(tensor_.external()->location);
        if (copy_ != nullptr || !planned_.is_same_folder) {
            model_.copied.push_back({tensor_.message(), *payload(),
                                     copy_ != nullptr ? *copy_ : location, nullptr, false,
                                     weight_name(), change_});
        } else if (change_ != nullptr) {
            note_loaded_file();
            keep_inline();
        } else {
            model_.staying.push_back(
                {tensor_.message(), *payload(), plain_location(location), note_loaded_file()});
        }
    }

    // New values go where a message says, or into the side file if those that they replace were
    // external.
    void keep_inline() {
        const auto named = planned_.locations.find(position_);
        const bool is_named = named != planned_.locations.end();
        if (is_named && role_ != Role::other && nbytes_ > 0 && is_movable()) {
            move_packed(named->second);
        } else if (!is_named && is_large() && payload() != nullptr && goes_to_side()) {
            move(*payload(), planned_.side_location);
        } else if (change_ != nullptr) {
            put_inline();
        }
    }

    [[nodiscard]] bool goes_to_side() const {
        return (is_external() || was_external(planned_.document->edits(), tensor_.message())) &&
               is_movable();
    }

    void put_inline() {
        if (!is_external() && change_ == nullptr) return;
        note_loaded_file();
        model_.inlined.push_back({tensor_.message(), *payload(), {}, nullptr, false, {}, change_});
    }

    void put_into_file() {
        if (is_chosen()) {
            note_loaded_file();
            move_packed(options_.location);
        } else {
            put_inline();
        }
    }

    // Whether the tensor is one of the initializers for a file of weights. A sparse one cannot be.
    [[nodiscard]] bool is_weight() {
        const std::string_view path = path_;
        if (!options_.names && path.starts_with("graph.sparse_initializer[") &&
            path.ends_with(".values")) {
            plan_.not_carried_.push_back(in_quotes(header().name) + ", which is sparse");
        }
        if (!path.starts_with(kInitializers)) return false;
        return !options_.names || options_.names->contains(header().name);
    }

    void refuse_as_weight() {
        plan_.not_carried_.push_back(in_quotes(header().name) + ", of type STRING");
    }

    void put_with_weights() {
        note_loaded_file();
        move(payload() != nullptr ? *payload() : decoded(*values_), options_.location);
    }

    void show_in_view() {
        if (is_external()) {
            planned_.is_same_folder ? keep_external() : put_inline();
        } else if (payload() != nullptr && is_chosen() &&
                   payload()->source.get() == &planned_.document->source()) {
            refer(planned_.view_location);
        }
    }

    void refer_to_file() {
        if (payload() != nullptr && is_chosen()) {
            const std::string& path = plan_.referred_.path_of(payload()->source);
            // The folder of these locations is the root of the file system.
            if (!path.empty()) {
                refer(path.substr(1));
                return;
            }
        }
        put_into_file();
    }

    // Whether the data file of the tensor does not exist. Others may not need it, so the tensor
    // stays external: in a file that never exists, unlike the missing one, which may come back.
    bool refer_to_none() {
        try {
            static_cast<void>(tensor_.open_external());
            return false;
        } catch (const Error& error) {
            if (error.code != "ext.missing" && error.code != "ext.no_root") throw;
            if (!plan_.missing_) plan_.missing_ = std::current_exception();
        }
        const tensor::Payload none{nullptr, 0, tensor_.stored_nbytes()};
        model_.referring.push_back({tensor_.message(), none, options_.location + ".missing"});
        return true;
    }

    void refer(std::string location) {
        model_.referring.push_back({tensor_.message(), *payload(), std::move(location)});
        plan_.referenced_ += nbytes_;
    }

    // Values without bytes of their own are decoded; if they are not valid, they stay.
    void move_packed(const std::string& location) {
        const auto packed = payload() != nullptr ? *payload() : decoded_if_valid(*values_);
        if (packed) move(*packed, location);
    }

    void move(const tensor::Payload& values, const std::string& location) {
        model_.moved.push_back({tensor_.message(), values,
                                plan_.group(location, options_.layout, true), weight_name(),
                                change_});
    }

    // The name of the tensor in a file of weights. Only the initializers of the main graph have
    // names of their own.
    [[nodiscard]] std::string weight_name() const {
        return path_.starts_with(kInitializers) ? std::string(header().name) : path_;
    }

    SavePlan& plan_;
    const PlanOptions& options_;
    ModelPlan& model_;
    const PlannedModel& planned_;
    const std::string& path_;
    const std::uint64_t position_;  // among all tensors of the model
    const model::Tensor tensor_;
    const Role role_;
    const TypeChange* const change_;
    const std::string* copy_ = nullptr;  // the new location of external data that are copied
    std::optional<tensor::Values> values_;
    std::optional<tensor::Payload> converted_;
    std::uint64_t nbytes_ = 0;  // packed
};

void SavePlan::add_tensor(ModelPlan& model, const std::string& path, const onnx::Message& message,
                          std::uint64_t position) {
    TensorPlan(*this, model, path, message, position).add();
}

}  // namespace onnxmap::save
