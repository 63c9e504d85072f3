// The name that somebody may have meant by one that does not exist: of a file, an operator or an
// attribute. Names are data of anybody, so the search does at most a fixed amount of work.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnxmap {

struct NearName {
    std::string name;
    bool only_encoding;  // the letters are the same, with accents encoded in another way
};

class NearestName {
  public:
    /// `model` is the file name of the model, which is never the answer; empty if unknown.
    NearestName(std::string_view wanted, std::string_view model);

    /// Compares a name of the folder. Returns whether another name can be compared.
    bool compare(std::string_view name);

    [[nodiscard]] const std::optional<NearName>& found() const noexcept { return found_; }

  private:
    [[nodiscard]] bool is_renamed(std::string_view name) const;

    std::string wanted_;
    std::vector<char32_t> letters_;
    std::string stem_;  // of the model
    std::optional<NearName> found_;
    std::size_t least_ = 0;  // how far the found name is from the wanted one
    std::size_t names_ = 0;
    std::size_t work_ = 0;
};

}  // namespace onnxmap
