#include "io/shared_source.hpp"

#include <utility>

#include "io/file.hpp"
#include "io/weak_registry.hpp"

namespace onnxmap::io {

namespace {

struct Key {
    FileIdentity identity;
    IoMode mode;

    auto operator<=>(const Key&) const = default;
};

auto& open_sources() {
    // Never destroyed: arrays may outlive everything else.
    static auto* const sources = new WeakRegistry<Key, const Source>;
    return *sources;
}

}  // namespace

std::shared_ptr<const Source> open_shared(File file, IoMode mode, Reopen reopen) {
    const Key key{file.identity(), mode};
    if (auto known = open_sources().find(key)) return known;
    std::shared_ptr<const Source> source = open_source(std::move(file), mode, std::move(reopen));
    open_sources().note(key, source);
    return source;
}

}  // namespace onnxmap::io
