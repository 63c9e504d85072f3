// A local file that is read, not mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "source/fetched_source.hpp"

namespace onnxmap::source {

class ReadFile final : public FetchedSource {
  public:
    ReadFile(os::File file, std::shared_ptr<const os::FileLocator> locator)
        : FetchedSource(Reads::below_the_mutex) {
        take_file(std::move(file), std::move(locator));
    }

    [[nodiscard]] const char* kind() const noexcept override { return "read"; }
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        read_file(offset, out);
    }
};

}  // namespace onnxmap::source
