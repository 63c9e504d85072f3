// What a save writes: the bytes of models and of their data files, for the options of a save.
// Making the plan reads no values, except those that are compared or decoded.
#pragma once

#include <bit>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/inline_tensors.hpp"
#include "model/tensor.hpp"
#include "safetensors/header.hpp"
#include "save/check_loaded.hpp"
#include "save/converted_values.hpp"
#include "save/data_layout.hpp"
#include "save/external_use.hpp"
#include "save/file_content.hpp"
#include "save/paths.hpp"
#include "save/type_changes.hpp"

namespace onnxmap::save {

/// The end of the name of a side file: new values of tensors that were external. The file belongs
/// to one model, and a later save of that model may replace it.
inline constexpr std::string_view kSideEnd = ".edited.data";

/// How the names of data files end that are safetensors files, and archives of NumPy.
inline constexpr std::string_view kSafetensors = ".safetensors";
inline constexpr std::string_view kNpz = ".npz";

/// Why no file of weights can hold a tensor of that name; empty if one can.
[[nodiscard]] std::string_view why_not_as_name(std::string_view name) noexcept;

struct PlanOptions {
    enum class External {
        keep,     // each tensor stays where it is
        inlined,  // all values go into the model
        file,     // values go into a data file
        view,     // inline values become external data of the file that was loaded
        refer,    // values that a file has are external data of that file, which may be anywhere
        weights,  // initializers of the main graph go into a file of weights, and no model is
                  // written
    };

    External external = External::keep;
    std::string location;               // of the data file, in the folder of the models
    std::uint64_t least_nbytes = 1024;  // of a tensor that is external data
    LayoutOptions layout = {};          // without an alignment, inline values keep theirs
    bool attributes = false;            // the tensors of attributes go there, too
    bool over_2gib = false;             // a model may have more than protobuf can read
    // External::weights: these initializers; nothing: all.
    std::optional<std::set<std::string, std::less<>>> names = {};
    bool metadata = false;       // External::weights: with the metadata of the model
    TypesOf types_of = nullptr;  // of initializers that are written in another type; null: none is
    bool allow_loss = false;     // also if that loses values
    /// Called for a model without an initializer that is written in another type, or that goes into
    /// a data file, a view or a file of weights, as it was asked for. May throw.
    std::function<void(const std::shared_ptr<const model::Document>& document)> if_nothing =
        nullptr;
};

/// A model to be written.
struct PlannedModel {
    std::shared_ptr<const model::Document> document;
    std::string side_location = {};  // of the side file; empty: the caller writes none
    bool is_same_folder = true;      // its external locations lead to the same files afterwards
    std::string view_location =
        {};  // External::view: the loaded file, in the folder of the new model
    // External::keep: the new locations of data files that are copied although the folder is the
    // same; see also `new_locations`. Files of EPContext nodes are copied as a whole.
    NewLocations copies = {};
    // If the folder is another one: called once with the locations of the data files that are
    // copied, if there are any; says which cannot keep their own, and becomes `copies`.
    std::function<NewLocations(const std::set<std::string>& locations)> new_locations = nullptr;
    bool replaces_copies = false;  // files of the new locations may be replaced
    // External::keep: the data files for values that are in the model, by the positions of the
    // tensors among all of the model.
    std::map<std::uint64_t, std::string> locations = {};
    // Which external values that stay where they are must be there: all, or those to which an edit
    // gave a place.
    enum class MustExist { none, placed, all } must_exist = MustExist::placed;
};

/// What offsets in a file have in common.
class OffsetBits {
  public:
    void add(std::uint64_t offset) noexcept {
        any_ = true;
        bits_ |= offset;
    }

    /// The largest power of two, of at most 4096, that divides all offsets.
    [[nodiscard]] std::uint64_t common() const noexcept {
        return std::uint64_t{1} << std::countr_zero(bits_ | kDataAlignment);
    }

    /// common(); 1 if it is so small that it may be chance, or if there are no offsets.
    [[nodiscard]] std::uint64_t alignment() const noexcept {
        return any_ && common() >= kLeastKept ? common() : 1;
    }

  private:
    static constexpr std::uint64_t kLeastKept = 16;  // less is chance

    std::uint64_t bits_ = 0;
    bool any_ = false;
};

class SavePlan {
  public:
    struct DataFile {
        std::string location;
        FileContent parts;
        bool replaces = true;  // whether a file of that name may be replaced
    };

    explicit SavePlan(PlanOptions options) : options_(std::move(options)) {}

    /// Decides where the values of each tensor go. Throws what find_type_changes() throws, and
    /// Error `tensor.*`, `ext.*`, `limit.overlap`; `file.changed`, also if a file to which the new
    /// model refers is not the one that was loaded.
    void add(PlannedModel planned);

    /// The data files, once all models were added. Throws Error `save.not_carried`.
    [[nodiscard]] std::vector<DataFile>& data_files();

    /// External::weights: the index of several data files, as transformers reads it.
    [[nodiscard]] FileContent index() const;

    /// The bytes of each model, in the order of add(). `checksums`: the SHA-1 of each data file, or
    /// nothing. Throws Error `save.too_large`; `save.empty` for a ModelProto without any field,
    /// `save.no_graph` for one without a graph.
    [[nodiscard]] std::vector<FileContent> models(const std::vector<std::string>& checksums);

    /// Throws Error `save.loss` if values that were written were lost in their new type.
    void check_loss() const {
        if (!options_.allow_loss) converted_->check_loss();
    }
    /// The same for all values, before they are written.
    void check_loss_ahead() const {
        if (!options_.allow_loss) converted_->read_all(options_.layout.look);
        check_loss();
    }

    /// How many values that were written became zero in their new type, by the names of tensors.
    [[nodiscard]] std::map<std::string, std::uint64_t> vanished() const {
        return converted_->vanished();
    }

    /// Bytes of existing files that the new models refer to.
    [[nodiscard]] std::uint64_t referenced() const noexcept { return referenced_; }
    /// Whether a new model has values outside of it.
    [[nodiscard]] bool has_external() const;
    /// External::refer: throws Error `file.changed` if a file to which the new models refer is no
    /// longer what it was when it was loaded.
    void check_referred_files() const { referred_.check(); }
    /// External::refer: throws Error `ext.missing` or `ext.no_root` if a tensor has no data file.
    /// The new model then refers to a file that does not exist either.
    void check_missing_files() const {
        if (missing_) std::rethrow_exception(missing_);
    }

    /// The external files of the models that were loaded, by path.
    [[nodiscard]] const LoadedFiles& loaded_files() const noexcept { return finder_.files(); }

  private:
    class TensorPlan;
    struct Moved {
        onnx::Message tensor;
        tensor::Payload values;
        std::size_t group;      // of data files
        std::string name = {};  // in a file of weights
        const TypeChange* change = nullptr;
        std::optional<DataLayout::FileOffset> place = std::nullopt;  // once it is known
    };
    // A tensor whose values go into the model, or stay external data.
    struct Placed {
        onnx::Message tensor;
        tensor::Payload values;
        std::string location = {};                       // in the folder of the new model
        LoadedFiles::value_type* loaded_file = nullptr;  // that stays
        bool is_whole_file = false;                      // of an attribute, instead of a tensor
        std::string name = {};                           // in a file of weights
        const TypeChange* change = nullptr;
    };
    struct ModelPlan {
        PlannedModel planned;
        std::optional<model::InlineTensors> inlines;
        TypeChanges changes;
        std::string viewed;  // the location of the model of which this one is a view
        std::vector<Moved> moved;
        std::vector<Placed> inlined;
        std::vector<Placed> copied;
        std::vector<Placed> staying;
        std::vector<Placed> referring;  // External::view and refer
        OffsetBits offsets;        // of the values of initializers in the model, as it was loaded
        OffsetBits large_offsets;  // of those that are large enough for a data file
    };
    // Data files that are laid out together: shards, or one file.
    struct Group {
        std::string location;
        DataLayout layout;
        bool replaces;
        std::size_t first_file = 0;
        safetensors::Metadata metadata = {};  // of a safetensors file that is copied
    };

    [[nodiscard]] std::uint64_t nbytes_of_files() const;
    void find_changes(ModelPlan& model) const;
    [[nodiscard]] bool does_nothing(const ModelPlan& model) const;
    [[nodiscard]] static bool has_external(const ModelPlan& model) noexcept;
    void add_tensor(ModelPlan& model, const std::string& path, const onnx::Message& message,
                    std::uint64_t position);
    [[nodiscard]] std::size_t group(const std::string& location, const LayoutOptions& options,
                                    bool replaces);
    [[nodiscard]] bool copy_safetensors(ModelPlan& model, const std::string& location,
                                        const std::vector<const Placed*>& tensors);
    void add_safetensors(std::size_t group);
    void add_arrays(std::size_t group);
    [[nodiscard]] std::vector<Moved*> moved_to(std::size_t group);
    [[nodiscard]] static bool is_same(const Moved& a, const Moved& b);
    [[nodiscard]] std::vector<Moved*> carried_in(
        std::size_t group, const char* container,
        const std::function<std::string(const Moved&)>& why_not);
    [[nodiscard]] safetensors::Metadata weights_metadata() const;
    void name_copies(ModelPlan& model) const;
    void find_ep_context_files(ModelPlan& model) const;
    void copy_data_files(ModelPlan& model);
    void keep_in_place(ModelPlan& model);
    [[nodiscard]] FileContent parts_of(ModelPlan& model, const std::vector<std::string>& checksums);
    [[nodiscard]] bool keeps_metadata(const ModelPlan& model) const;

    PlanOptions options_;
    std::vector<ModelPlan> models_;
    std::vector<Group> groups_;
    std::vector<DataFile> files_;
    bool is_laid_out_ = false;
    std::uint64_t referenced_ = 0;
    FileFinder finder_;
    ReferredFiles referred_;
    std::shared_ptr<ConvertedValues> converted_ = std::make_shared<ConvertedValues>();
    std::exception_ptr missing_;            // the error of the first tensor without its data file
    std::vector<std::string> not_carried_;  // tensors that no file of weights can hold, and why
};

}  // namespace onnxmap::save
