#include "io/shared_source.hpp"

#include <utility>

#include "io/file.hpp"
#include "io/weak_registry.hpp"

namespace onnxmap::io {

namespace {

struct Key {
    FileIdentity identity;
    bool viewable;

    auto operator<=>(const Key&) const = default;
};

auto& open_sources() {
    // Never destroyed: arrays may outlive everything else.
    static auto* const sources = new WeakRegistry<Key, const Source>;
    return *sources;
}

}  // namespace

std::shared_ptr<const Source> open_shared(File file, IoMode mode,
                                          std::shared_ptr<const WayToFile> way) {
    const FileIdentity identity = file.identity();
    auto source = open_sources().find({identity, mode != IoMode::read});
    if (!source) {
        source = open_source(std::move(file), mode, way);
        source = open_sources().keep({identity, source->viewable()}, source);
    }
    source->add_way(std::move(way));
    return source;
}

}  // namespace onnxmap::io
