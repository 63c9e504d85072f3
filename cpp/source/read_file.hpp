// A local file that is read, not mapped.
#pragma once

#include "os/held_file.hpp"
#include "source/fetched_source.hpp"

namespace onnxmap::source {

class ReadFile final : public FetchedSource {
  public:
    ReadFile(os::File file, std::shared_ptr<const os::WayToFile> way);

    [[nodiscard]] const char* kind() const noexcept override { return "read"; }
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
    [[nodiscard]] std::optional<os::FileIdentity> identity() const override;
    [[nodiscard]] bool in_file() const noexcept override { return true; }
    [[nodiscard]] std::shared_ptr<const os::File> file() const override { return file_.open(); }
    void add_way(std::shared_ptr<const os::WayToFile> way) const override;

  private:
    void look_for_changes() const override;

    mutable os::HeldFile file_;
};

}  // namespace onnxmap::source
