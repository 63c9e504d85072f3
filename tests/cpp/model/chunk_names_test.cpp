// Compares the names in chunks with the names in the whole list.
#include "model/chunk_names.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"
#include "model/graph.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using Count = model::ChunkNames::Found::Count;

const wire::FieldRow& kList = field<"GraphProto.initializer">;
const wire::FieldRow& kName = field<"TensorProto.name">;

std::string name_of(std::size_t number) { return "w" + std::to_string(number); }

// Two of three fields are initializers.
EditedDocument document_of(std::size_t count) {
    Bytes graph;
    for (std::size_t i = 0; i < count; ++i) {
        append(graph, blob(5, raw_tensor(name_of(i), {1})));
        if (i % 2 == 0) append(graph, blob(1, node("Op")));
    }
    return EditedDocument(model(graph));
}

void insert_named(const EditedDocument& edited, std::uint64_t i, const std::string& name) {
    const auto tensor = model::insert(*edited, edited.graph(), kList, i, std::nullopt);
    model::set_value(*edited, tensor, kName, new_value(blob(8, name)));
}

void erase_at(const EditedDocument& edited, std::uint64_t i) {
    model::erase(*edited, edited.graph(), kList, {&i, 1});
}

std::shared_ptr<const model::ChunkNames> names_in(const EditedDocument& edited,
                                                  const model::ChunkNames* before) {
    return std::make_shared<const model::ChunkNames>(*(*edited).index(edited.graph()), kList, kName,
                                                     before);
}

}  // namespace

TEST_CASE("chunk_names: names have their positions in the whole list") {
    const EditedDocument edited = document_of(2000);
    erase_at(edited, 700);
    insert_named(edited, 5, "new");
    const auto names = names_in(edited, nullptr);
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const auto found = names->find(name_of(i));
        CHECK(found.count == (i == 700 ? Count::none : Count::one));
        if (i != 700) CHECK(found.position == (i < 5 || i > 700 ? i : i + 1));
    }
    CHECK(names->find("new").position == 5);
}

TEST_CASE("chunk_names: a name that is repeated in one chunk, or in two, counts several times") {
    const EditedDocument edited = document_of(2000);
    insert_named(edited, 10, name_of(9));
    insert_named(edited, 1000, name_of(1900));
    const auto names = names_in(edited, nullptr);
    CHECK(names->find(name_of(9)).count == Count::several);
    CHECK(names->find(name_of(1900)).count == Count::several);
    CHECK(names->find(name_of(600)).count == Count::one);
}

TEST_CASE("chunk_names: the next state reads only the chunks that have changed") {
    const EditedDocument edited = document_of(2000);
    erase_at(edited, 0);
    const auto before = names_in(edited, nullptr);
    // These renamings would be seen by another reading of the list.
    for (std::uint64_t i = 0; i < 1999; ++i) {
        model::set_value(*edited, edited.element(edited.graph(), kList, i), kName,
                         new_value(blob(8, "other" + std::to_string(i))));
    }
    insert_named(edited, 1000, "new");
    const auto names = names_in(edited, before.get());
    std::size_t read = 0;
    for (std::uint64_t i = 1; i < 2000; ++i) {
        if (names->find(name_of(i)).count == Count::none) ++read;
    }
    CHECK(read > 0);
    CHECK(read < 512);
    CHECK(names->find("new").position == 1000);
    CHECK(names->find(name_of(1)).position == 0);
    CHECK(names->find(name_of(1999)).position == 1999);
}

TEST_CASE("chunk_names: the initializers of each state are found, whatever the edits") {
    std::mt19937 random(15);
    const EditedDocument edited = document_of(1500);
    auto graph = std::make_shared<const model::Graph>(edited.document, edited.graph());
    for (int round = 0; round < 300; ++round) {
        const std::uint64_t count = graph->initializers().count();
        const std::uint64_t place = random() % (count + 1);
        const std::string name = name_of(random() % 3000);
        switch (random() % 5) {
            case 0: erase_at(edited, place % count); break;
            case 1: insert_named(edited, UINT64_MAX, name); break;
            case 2: {
                const Bytes other = raw_tensor(name, {1});
                const EditedDocument from(other, onnx::message<"TensorProto">);
                model::insert(*edited, edited.graph(), kList, place,
                              model::Original{*from, from.root()});
                break;
            }
            case 3: {
                const auto tensor = edited.element(edited.graph(), kList, place % count);
                model::set_value(*edited, tensor, kName, new_value(blob(8, name)));
                break;
            }
            default: {
                std::vector<std::uint64_t> order(count);
                for (std::uint64_t i = 0; i < count; ++i) order[i] = count - 1 - i;
                model::reorder(*edited, edited.graph(), kList, order);
            }
        }
        if (round == 200) (*edited).editable().revert();
        graph = graph->remade(edited.graph());
        const model::Graph fresh(edited.document, edited.graph());
        const model::ListNames& expected = fresh.initializers().names();
        for (int look_up = 0; look_up < 3 + round % 50; ++look_up) {
            const std::string wanted = name_of(random() % 3000);
            REQUIRE(graph->initializers().contains(wanted) == expected.contains(wanted));
            std::optional<std::uint32_t> position;
            try {
                position = expected.position(wanted);
            } catch (const Error& error) {
                REQUIRE(code_of([&] { return graph->initializers().position(wanted); }) ==
                        error.code);
                continue;
            }
            REQUIRE(graph->initializers().position(wanted) == position);
        }
    }
}

}  // namespace onnxmap::test
