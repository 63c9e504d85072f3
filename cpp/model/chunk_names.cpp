#include "model/chunk_names.hpp"

#include <algorithm>

namespace onnxmap::model {

namespace {

std::shared_ptr<const ListNames> names_in_chunk(const onnx::Message& message, std::size_t chunk,
                                                const wire::FieldRow& list,
                                                const wire::FieldRow& name) {
    auto names = std::make_shared<ListNames>("", "", NameTable::Text::copied);
    message.pieces()->for_each_in(chunk, list, [&](const wire::Field& element) {
        names->add(message.inner(list, element).text(name));
    });
    return names;
}

}  // namespace

ChunkNames::ChunkNames(const FieldIndex& edited, const wire::FieldRow& list,
                       const wire::FieldRow& name, const ChunkNames* before) {
    const onnx::Message& message = edited.message();
    const onnx::Pieces& fields = *message.pieces();
    std::span<const Part> known;
    if (before != nullptr) known = before->parts_;
    for (std::size_t chunk = 0; chunk < fields.chunks().size(); ++chunk) {
        const std::uint64_t count = fields.count_in(chunk, list);
        if (count == 0) continue;
        const onnx::Pieces::SharedChunk& shared = fields.chunks()[chunk];
        // Shared chunks keep their order.
        const auto same = std::ranges::find(known, shared, &Part::chunk);
        if (same != known.end()) {
            parts_.push_back(*same);
            known = {same + 1, known.end()};
        } else {
            parts_.push_back({shared, count, names_in_chunk(message, chunk, list, name)});
        }
    }
}

ChunkNames::Found ChunkNames::find(std::string_view name) const {
    using Count = Found::Count;
    Found found;
    std::uint64_t begin = 0;
    for (const Part& part : parts_) {
        if (part.names->contains(name)) {
            const bool is_first = found.count == Count::none && !part.names->has_repeated();
            found.count = is_first ? Count::one : Count::several;
            if (is_first) found.position = begin + *part.names->position(name);
        }
        begin += part.count;
    }
    return found;
}

}  // namespace onnxmap::model
