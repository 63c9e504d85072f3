// External data: what a tensor's `external_data` entries say, and the files they name.
// Source: onnx.proto, TensorProto.external_data; docs/ExternalData.md of ONNX.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/contained_open.hpp"
#include "io/source.hpp"
#include "onnx/message.hpp"

namespace onnxmap::tensor {

struct ExternalEntry {
    std::string_view location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;  // absent: what shape and type need
    std::optional<std::string_view> checksum;
};

/// Throws Error `ext.location`, `ext.offset`, `ext.length`, `ext.duplicate_key` or
/// `limit.external_entries`. `tensor` is a TensorProto, `name` its name for messages.
[[nodiscard]] ExternalEntry read_external_entry(const onnx::Message& tensor, std::string_view name,
                                                std::uint64_t max_entries);

/// The external files of one model: each opened and mapped once, when first asked for, and let go
/// when the model and all its arrays are gone. Safe to share between threads.
class ExternalFiles {
  public:
    /// `root`: absolute path of the folder that locations are relative to; empty: there is none.
    ExternalFiles(std::string root, io::IoMode mode) : root_(std::move(root)), mode_(mode) {}

    /// Throws Error `ext.*`.
    [[nodiscard]] std::shared_ptr<const io::Source> open(std::string_view location,
                                                         std::string_view tensor) const;

    /// Where a location would be, judged as text; nothing is opened. Empty where there is no root.
    /// Throws Error `ext.location` or `ext.unsafe_path`.
    [[nodiscard]] std::string path_of(std::string_view location, std::string_view tensor) const;

    [[nodiscard]] const std::string& root() const noexcept { return root_; }

  private:
    std::string root_;
    io::IoMode mode_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const io::Folder> folder_;
    // No hash: the file chooses the names.
    mutable std::map<std::string, std::shared_ptr<const io::Source>, std::less<>> files_;
};

}  // namespace onnxmap::tensor
