// A model's folder full of traps, and the right verdict for opening each name in it.
//
// The verdict is worked out from a table of the tree, by the rules of docs/security alone: no
// descriptor, no system call, nothing of io/.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "temporary_folder.hpp"

namespace onnxmap::fuzz {

struct Rules {
    bool follow_links;  // link_policy="contained"; otherwise "strict"
    bool allow_hardlinks;
    bool second_root;  // the model file is a link into the folder "real"
};

struct Expected {
    enum class What {
        file,
        refused,      // ext.unsafe_path
        missing,      // ext.missing
        folder,       // ext.location
        not_regular,  // ext.not_regular
        unknown,      // the way leads through folders that are not in the table
    };
    What what;
    std::uint64_t inode = 0;
};

/// What somebody does to the tree after files were opened.
enum class Swap {
    none,
    file_for_link,       // "w.bin" becomes a link to a file outside
    file_for_hard_link,  // "w.bin" becomes another name of a file outside
    file_for_fifo,       // "w.bin" becomes a FIFO
    folder_for_link,     // "sub" becomes a link to a folder outside
    root_for_link,       // the model's folder becomes a link to a folder outside
};
inline constexpr unsigned kSwaps = static_cast<unsigned>(Swap::root_for_link) + 1;

class HostileTree {
  public:
    HostileTree();

    /// Makes two links with targets from the input: "dynamic1" in the model's folder, "dynamic2"
    /// outside.
    void set_links(std::string_view first, std::string_view second);

    /// Makes the swap, or undoes it.
    void swap(Swap what);
    void swap_back(Swap what);

    [[nodiscard]] Expected verdict(std::string_view location, Rules rules) const;

    /// The folder that locations are relative to.
    [[nodiscard]] const std::string& model() const noexcept { return model_; }
    /// The model, a link to a file in the second root.
    [[nodiscard]] std::string model_file() const { return model_ + "/model.onnx"; }

    /// Whether the object may be opened by a policy that keeps to the folders of the model.
    [[nodiscard]] bool is_inside(std::uint64_t device, std::uint64_t inode) const {
        return inside_.contains({device, inode});
    }

  private:
    enum class Kind { folder, file, link, special };
    struct Node {
        Kind kind;
        std::string target;   // of a link
        std::uint64_t inode;  // of a file
        bool hard_links;      // a file has another name
    };

    void add_folder(const std::string& path);
    void add_file(const std::string& path);
    void add_hard_link(const std::string& path, const std::string& other);
    void add_link(const std::string& path, std::string_view target);
    void add_special(const std::string& path);
    void note_inside(const std::string& path);
    void forget_inside(const std::string& path);
    [[nodiscard]] std::string swapped_path(Swap what) const;
    [[nodiscard]] const Node* find(const std::string& path) const;

    test::TemporaryFolder folder_;
    std::string top_;
    std::string model_;
    std::string real_;
    std::map<std::string, Node, std::less<>> nodes_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> inside_;
};

}  // namespace onnxmap::fuzz
