#include "source/shared_source.hpp"

#include <utility>

#include "base/made_once.hpp"
#include "os/file.hpp"
#include "os/weak_registry.hpp"

namespace onnxmap::source {

namespace {

// By the state of the file, and whether the source is viewable().
using Sources = os::WeakRegistry<std::pair<os::FileIdentity, bool>, const Source>;
Sources& open_sources() { return made_once<Sources>(); }

}  // namespace

std::shared_ptr<const Source> open_shared(os::File file, IoMode mode,
                                          std::shared_ptr<const os::FileLocator> locator) {
    const os::FileIdentity identity = file.identity();
    auto source = open_sources().find({identity, mode != IoMode::read});
    if (!source) {
        source = open_source(std::move(file), mode, locator);
        source = open_sources().keep({identity, source->viewable()}, source);
    }
    source->add_locator(std::move(locator));
    return source;
}

}  // namespace onnxmap::source
