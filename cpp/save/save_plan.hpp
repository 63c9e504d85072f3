// What a save writes: the bytes of models and of their data files, for the options of a save.
// Making the plan reads no values, except those that are compared or decoded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_ranges.hpp"
#include "model/document.hpp"
#include "model/inline_tensors.hpp"
#include "model/tensor.hpp"
#include "save/data_layout.hpp"
#include "save/external_use.hpp"
#include "save/parts.hpp"
#include "save/referred_files.hpp"
#include "save/tensor_edits.hpp"

namespace onnxmap::save {

/// The end of the name of a side file: new values of tensors that were external. The file belongs
/// to one model, and a later save of that model may replace it.
inline constexpr std::string_view kSideEnd = ".edited.data";

struct PlanOptions {
    enum class External {
        keep,     // each tensor stays where it is
        inlined,  // all values go into the model
        file,     // values go into a data file
        view,     // inline values become external data of the file that was loaded
        refer,    // values that a file has are external data of that file, which may be anywhere
    };

    External external = External::keep;
    std::string location;                    // of the data file, in the folder of the models
    std::uint64_t least_nbytes = 1024;       // of a tensor that is external data
    std::optional<std::uint64_t> alignment;  // nothing: 4096 in data files; inline as it was
    bool attributes = false;                 // the tensors of attributes go there, too
    std::uint64_t most_nbytes = 0;           // of one data file; 0: no limit
    bool dedupe = false;                     // store equal values once
    bool over_2gib = false;                  // a model may have more than protobuf can read
    std::function<void()> look = {};         // see LayoutOptions
};

/// A model to be written.
struct PlannedModel {
    std::shared_ptr<const model::Document> document;
    std::string side_location;   // of the side file; empty: the caller writes none
    bool is_same_folder = true;  // its external locations lead to the same files afterwards
    std::string view_location;   // External::view: the loaded file, in the folder of the new model
    // External::keep: the data files that are copied although the folder is the same, by location,
    // and the new locations.
    std::map<std::string, std::string, std::less<>> copies = {};
    bool replaces_copies = false;  // files of the new locations may be replaced
    // External::keep: the data files for values that are in the model, by the positions of the
    // tensors among all of the model.
    std::map<std::uint64_t, std::string> locations = {};
    // Which external values that stay where they are must be there: all, or those to which an edit
    // gave a place.
    enum class Needed { none, placed, all } needed = Needed::placed;
};

/// What offsets in a file have in common.
class OffsetBits {
  public:
    void add(std::uint64_t offset) noexcept;

    /// The largest power of two, of at most 4096, that divides all offsets.
    [[nodiscard]] std::uint64_t common() const noexcept;

    /// common(); 1 if it is so small that it may be chance, or if there are no offsets.
    [[nodiscard]] std::uint64_t alignment() const noexcept;

  private:
    std::uint64_t bits_ = 0;
    bool any_ = false;
};

class SavePlan {
  public:
    struct DataFile {
        std::string location;
        Parts parts;
        std::uint64_t used = 0;  // bytes of tensors; the rest is alignment
        bool replaces = true;    // whether a file of that name may be replaced
    };

    explicit SavePlan(PlanOptions options);

    /// Decides where the values of each tensor go. Throws Error `tensor.*`, `ext.*`,
    /// `limit.overlap`; `file.changed`, also if a file to which the new model refers is not the one
    /// that was loaded.
    void add(PlannedModel planned);

    /// The data files, once all models were added.
    [[nodiscard]] std::vector<DataFile>& data_files();

    /// The bytes of each model, in the order of add(). `checksums`: the SHA-1 of each data file, or
    /// nothing. Throws Error `save.too_large`; `save.empty` for a ModelProto without any field,
    /// `save.no_graph` for one without a graph.
    [[nodiscard]] std::vector<Parts> models(const std::vector<std::string>& checksums);

    /// Bytes of existing files that the new models refer to.
    [[nodiscard]] std::uint64_t referenced() const noexcept { return referenced_; }
    /// External::refer: throws Error `file.changed` if a file to which the new models refer is no
    /// longer what it was when it was loaded.
    void check_referred_files() const { referred_.check(); }

    /// The external files of the models that were loaded, by path.
    [[nodiscard]] const std::map<std::string, UsedBytes>& loaded_files() const noexcept {
        return loaded_files_;
    }

  private:
    struct Moved {
        onnx::Message tensor;
        std::size_t group;  // of data files
        SourceRange values;
        std::optional<DataLayout::Place> place = std::nullopt;  // once it is known
    };
    struct Inlined {
        onnx::Message tensor;
        SourceRange values;
    };
    struct Copied {
        onnx::Message tensor;
        std::string location;  // in the folder of the new model
        SourceRange values;
    };
    struct Staying {
        onnx::Message tensor;
        std::string path;  // of a file that stays
        SourceRange values;
    };
    struct Referring {
        onnx::Message tensor;
        std::string location;
        std::uint64_t offset;
        std::uint64_t nbytes;
    };
    struct Model {
        PlannedModel planned;
        std::optional<model::InlineTensors> inlines;
        std::string viewed;  // the location of the model of which this one is a view
        std::vector<Moved> moved;
        std::vector<Inlined> inlined;
        std::vector<Copied> copied;
        std::vector<Staying> staying;
        std::vector<Referring> referring;                         // External::view and refer
        std::set<std::shared_ptr<const source::Source>> sources;  // of values that are written
        OffsetBits offsets;        // of the values of initializers in the model, as it was loaded
        OffsetBits large_offsets;  // of those that are large enough for a data file
    };
    // Data files that are laid out together: shards, or one file.
    struct Group {
        std::string location;
        DataLayout layout;
        bool replaces;
        std::size_t first_file = 0;
    };

    [[nodiscard]] std::uint64_t nbytes_of_files() const;
    void add_tensor(Model& model, const std::string& path, const onnx::Message& message,
                    std::uint64_t position);
    static void move(Model& model, std::size_t group, const onnx::Message& tensor,
                     const SourceRange& values);
    [[nodiscard]] std::size_t group(const std::string& location, const LayoutOptions& options,
                                    bool replaces);
    [[nodiscard]] const std::string* copied_to(const PlannedModel& planned,
                                               const model::Tensor& tensor) const;
    void copy_data_files(Model& model);
    void keep_in_place(Model& model);
    void lay_out();
    [[nodiscard]] Parts parts_of(Model& model, const std::vector<std::string>& checksums);
    [[nodiscard]] static bool stays_a_view(const Model& model);

    PlanOptions options_;
    LayoutOptions layout_;
    std::vector<Model> models_;
    std::vector<Group> groups_;
    std::vector<DataFile> files_;
    bool is_laid_out_ = false;
    std::uint64_t referenced_ = 0;
    std::map<std::string, UsedBytes> loaded_files_;
    std::map<std::string, ByteRanges> used_ranges_;
    ReferredFiles referred_;
    FilePaths paths_;
};

}  // namespace onnxmap::save
