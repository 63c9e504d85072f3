#include "model/overlap_limit.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace onnxmap::model {

namespace {

constexpr std::uint64_t kIgnored = 256 << 20;  // bytes

}  // namespace

void check_overlap(const Document& document,
                   std::span<const std::shared_ptr<const source::Source>> sources,
                   std::uint64_t nbytes, std::string_view what) {
    std::uint64_t stored = document.source().size();
    for (const auto& source : sources) {
        if (source.get() != &document.source()) stored += source->size();
    }
    const std::uint64_t times = std::max<std::uint64_t>(document.limits().overlap, 1);
    if (nbytes <= kIgnored || nbytes / times <= stored) return;
    throw Error("limit.overlap",
                {what, " need ", nbytes, " bytes, but the limit is ", times, " times the ", stored,
                 " bytes of their files; raise it with "
                 "limits=Limits(overlap=...)"});
}

}  // namespace onnxmap::model
