#include "io/shared_source.hpp"

#include <atomic>
#include <utility>

#include "base/made_once.hpp"
#include "io/file.hpp"
#include "io/weak_registry.hpp"

namespace onnxmap::io {

namespace {

struct SourceKey {
    FileIdentity identity;
    bool viewable;

    auto operator<=>(const SourceKey&) const = default;
};

using Sources = WeakRegistry<SourceKey, const Source>;
constinit std::atomic<Sources*> sources = nullptr;

Sources& open_sources() { return made_once(sources); }

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
