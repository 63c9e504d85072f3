// A file of the system that is read and not mapped.
#pragma once

#include "io/held_file.hpp"
#include "io/range_copy.hpp"

namespace onnxmap::io {

class FileCopy final : public RangeCopy {
  public:
    FileCopy(File file, std::shared_ptr<const WayToFile> way);

    [[nodiscard]] const char* kind() const noexcept override { return "read"; }
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
    [[nodiscard]] std::optional<FileIdentity> identity() const override;
    [[nodiscard]] bool in_file() const noexcept override { return true; }
    [[nodiscard]] std::shared_ptr<const File> file() const override { return file_.open(); }
    void add_way(std::shared_ptr<const WayToFile> way) const override;

  private:
    void look_for_changes() const override;

    mutable HeldFile file_;
};

}  // namespace onnxmap::io
