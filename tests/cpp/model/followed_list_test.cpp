// Indexes of names and uses that follow the edits: after each edit they say what one of the present
// state says, and read no more than what was edited.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"
#include "model/captured_values.hpp"
#include "model/followed_uses.hpp"
#include "model/graph.hpp"
#include "model/message_list.hpp"
#include "sanitized.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::Message;

const wire::FieldRow& kNodes = field<"GraphProto.node">;
const wire::FieldRow& kAttributes = field<"NodeProto.attribute">;

std::string value(std::uint64_t i) { return "v" + std::to_string(i); }

Bytes node_of(const std::string& name, const std::string& input, const std::string& output,
              const Bytes& rest = {}) {
    return blob(1, join(blob(1, input), blob(2, output), blob(3, name), blob(4, "Op"), rest));
}

Bytes branch(const std::string& input, const std::string& own) {
    const Bytes graph = join(node_of("inner", input, own), blob(12, blob(1, own)));
    return blob(5, join(blob(1, "g"), blob(6, graph), scalar(20, 5)));
}

// A chain of nodes; every seventh has a subgraph that uses a value before.
Bytes chain(std::uint64_t count) {
    Bytes nodes;
    for (std::uint64_t i = 0; i < count; ++i) {
        const Bytes inner = i % 7 == 3 ? branch(value(i / 2), "own") : Bytes{};
        append(nodes, node_of("n" + std::to_string(i), value(i), value(i + 1), inner));
    }
    return join(nodes, blob(12, blob(1, value(count))), blob(12, blob(1, value(3))));
}

// Each user of a value: its key, its type and the position.
std::string users(const std::vector<model::UserOfValue>& found) {
    std::string text;
    for (const auto& each : found) {
        text += std::to_string(reinterpret_cast<std::uintptr_t>(each.message.key())) + " " +
                std::string(each.message.table().name) + " " + std::to_string(each.index) + ", ";
    }
    return text;
}

// The answers about a value, of the index that follows the edits and of a walk over the graph.
void check_value(const model::Graph& graph, const std::string& name) {
    std::vector<model::UserOfValue> expected;
    model::CapturedUses walk([&](std::string_view used, const Message& user, std::uint32_t index) {
        if (used == name) expected.push_back({user, index});
    });
    walk.find_in(graph.fields()->message(), 100);
    REQUIRE(users(graph.users(name)) == users(expected));
    std::vector<model::UserOfValue> makers;
    graph.for_each_node([&](const model::Node& node) {
        node.for_each_output([&](std::string_view made) {
            if (made == name) makers.push_back({node.message(), 0});
        });
    });
    std::vector<model::UserOfValue> found;
    const std::string code = code_of([&] {
        if (const auto node = graph.producer(name)) found.push_back({*node, 0});
        return true;
    });
    REQUIRE(code == (makers.size() > 1 ? "model.duplicate_name" : "accepted"));
    if (makers.size() < 2) REQUIRE(users(found) == users(makers));
}

void check_name(const EditedDocument& edited, const model::ListNames& expected,
                const std::string& name) {
    const model::MessageList list((*edited).index(edited.graph()), kNodes);
    REQUIRE(list.contains(*edited, name) == expected.contains(name));
    std::optional<std::uint64_t> found;
    const std::string code = code_of([&] { return expected.position(name).has_value(); });
    REQUIRE(code_of([&] { return (found = list.position(*edited, name)).has_value(); }) == code);
    if (code == "accepted") REQUIRE(found == expected.position(name));
}

class RandomEdits {
  public:
    RandomEdits(const EditedDocument& edited, std::uint64_t seed)
        : edited_(edited), random_(seed) {}

    std::uint64_t below(std::uint64_t count) { return random_() % count; }

    void edit() {
        const std::uint64_t count = (*edited_).index(edited_.graph())->count(kNodes);
        const std::uint64_t place = below(count);
        const Message node = edited_.node(place);
        const std::string text = value(below(2000));
        switch (below(14)) {
            case 0: set(node, field<"NodeProto.op_type">, blob(4, text)); break;
            case 1: set(node, field<"NodeProto.name">, blob(3, "n" + text.substr(1))); break;
            case 2: splice(node, field<"NodeProto.input">, blob(1, text)); break;
            case 3: splice(node, field<"NodeProto.output">, blob(2, text)); break;
            case 4: {
                const Message made =
                    model::insert(*edited_, edited_.graph(), kNodes, place, std::nullopt);
                splice(made, field<"NodeProto.input">, blob(1, text));
                break;
            }
            case 5:
                model::insert(*edited_, edited_.graph(), kNodes, place,
                              model::Original{*edited_, edited_.node(below(count))});
                break;
            case 6: {
                const std::uint64_t gone[] = {place};
                if (count > 1000) model::erase(*edited_, edited_.graph(), kNodes, gone);
                break;
            }
            case 7: {
                std::vector<std::uint64_t> order(count);
                for (std::uint64_t i = 0; i < count; ++i) order[i] = count - 1 - i;
                model::reorder(*edited_, edited_.graph(), kNodes, order);
                break;
            }
            case 8: {  // a subgraph, where there was none
                const Message attribute =
                    model::insert(*edited_, node, kAttributes, 0, std::nullopt);
                const Message graph =
                    model::make_present(*edited_, attribute.current(), field<"AttributeProto.g">);
                set(attribute, field<"AttributeProto.type">, scalar(20, 5));
                const Message inner = model::insert(*edited_, graph, kNodes, 0, std::nullopt);
                splice(inner, field<"NodeProto.input">, blob(1, text));
                break;
            }
            case 9: {  // what is there between two look-ups only
                model::insert(*edited_, edited_.graph(), kNodes, place, std::nullopt);
                const std::uint64_t gone[] = {place};
                model::erase(*edited_, edited_.graph(), kNodes, gone);
                break;
            }
            case 10: {
                const Message attribute =
                    model::insert(*edited_, node, kAttributes, 0, std::nullopt);
                set(attribute, field<"AttributeProto.name">, blob(1, text));
                const std::uint64_t gone[] = {0};
                model::erase(*edited_, node.current(), kAttributes, gone);
                break;
            }
            default: edit_inside(node, text);
        }
    }

  private:
    void set(const Message& message, const wire::FieldRow& row, const Bytes& bytes) {
        model::set_value(*edited_, message.current(), row, new_value(bytes));
    }
    void splice(const Message& message, const wire::FieldRow& row, const Bytes& bytes) {
        const Message now = message.current();
        const std::uint64_t gone = (*edited_).index(now)->count(row) > 0 ? below(2) : 0;
        const auto made = new_value(bytes);
        model::splice_values(*edited_, now, row, 0, gone, {&made, 1});
    }

    // Edits a subgraph of the node.
    void edit_inside(const Message& node, const std::string& text) {
        if ((*edited_).index(node)->count(kAttributes) == 0) return;
        const Message attribute = edited_.element(node, kAttributes, 0);
        const auto graph = attribute.child(field<"AttributeProto.g">);
        if (!graph) return;
        switch (below(5)) {
            case 0: model::clear_all(*edited_, attribute); break;
            case 1: set(attribute, field<"AttributeProto.type">, scalar(20, 1 + below(5))); break;
            case 2: {
                const Message input =
                    model::insert(*edited_, *graph, field<"GraphProto.input">, 0, std::nullopt);
                set(input, field<"ValueInfoProto.name">, blob(1, text));
                break;
            }
            default:
                if ((*edited_).index(*graph)->count(kNodes) == 0) return;
                splice(edited_.element(*graph, kNodes, 0), field<"NodeProto.input">, blob(1, text));
        }
    }

    const EditedDocument& edited_;
    std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("followed_list: random edits, and look-ups between them") {
    for (std::uint64_t seed = 0; seed < (kSanitized ? 2 : 6); ++seed) {
        const EditedDocument edited(model(chain(1500)));
        REQUIRE(model::Document::is_large(edited.graph()));
        RandomEdits random(edited, seed);
        for (int round = 0; round < 120; ++round) {
            for (std::uint64_t edits = random.below(4); edits < 4; ++edits) random.edit();
            const model::Graph graph(edited.document, edited.graph());
            const model::ListNames names =
                model::names_in_list(*(*edited).index(edited.graph()), kNodes);
            for (int look_up = 0; look_up < 8; ++look_up) {
                check_value(graph, value(random.below(2000)));
                check_name(edited, names, "n" + std::to_string(random.below(2000)));
            }
            check_value(graph, value(3));  // an output
            check_value(graph, "own");
            if (round == 60) (*edited).editable().revert();
        }
    }
}

TEST_CASE("followed_list: a look-up after an edit reads what was edited") {
    const EditedDocument edited(model(chain(2000)));
    const auto uses = (*edited).followed_uses(edited.graph());
    const auto names = (*edited).followed_names(edited.graph(), kNodes, field<"NodeProto.name">);
    const auto look = [&] {
        const model::Graph graph(edited.document, edited.graph());
        static_cast<void>(graph.users(value(500)));
        static_cast<void>(model::MessageList(graph.fields(), kNodes).position(*edited, "n500"));
    };
    model::set_value(*edited, edited.node(0), field<"NodeProto.op_type">, new_value(blob(4, "X")));
    look();
    CHECK(uses->elements_read() == 2000);
    CHECK(names->elements_read() == 2000);
    for (std::uint64_t i = 0; i < 100; ++i) {  // fields that neither depends on
        model::set_value(*edited, edited.node(i), field<"NodeProto.op_type">,
                         new_value(blob(4, "Y")));
        look();
    }
    CHECK(uses->elements_read() == 2000);
    CHECK(names->elements_read() == 2000);
    for (std::uint64_t i = 0; i < 100; ++i) {
        const auto made = new_value(blob(1, "x"));
        model::splice_values(*edited, edited.node(i), field<"NodeProto.input">, 0, 1, {&made, 1});
        look();
        model::set_value(*edited, edited.node(i), field<"NodeProto.name">,
                         new_value(blob(3, "other")));
        look();
        const std::uint64_t gone[] = {1500};
        model::erase(*edited, edited.graph(), kNodes, gone);
        look();
        model::insert(*edited, edited.graph(), kNodes, 1000, std::nullopt);
        look();
    }
    CHECK(uses->elements_read() == 2200);
    CHECK(names->elements_read() == 2200);
    const Message attribute = edited.element(edited.node(101), kAttributes, 0);
    const Message graph = attribute.child(field<"AttributeProto.g">).value();
    for (std::uint64_t i = 0; i < 100; ++i) {
        const auto made = new_value(blob(1, value(i)));
        model::splice_values(*edited, edited.element(graph.current(), kNodes, 0),
                             field<"NodeProto.input">, 0, 1, {&made, 1});
    }
    look();
    CHECK(uses->elements_read() == 2201);  // the node that holds the graph, once
}

TEST_CASE("followed_list: ordinals are those of a walk") {
    const EditedDocument edited(model(chain(3000)));
    std::mt19937_64 random(1);
    for (int round = 0; round < 40; ++round) {
        const auto fields = (*edited).index(edited.graph());
        std::vector<const std::uint8_t*> keys;
        fields->for_each(kNodes, [&](const auto& node) { keys.push_back(node.bytes.data()); });
        for (std::uint64_t i = 0; i < keys.size(); i += 1 + random() % 50) {
            REQUIRE(fields->ordinal(kNodes, keys[i]) == i);
        }
        REQUIRE(fields->ordinals(kNodes, keys).back() == keys.size() - 1);
        REQUIRE_FALSE(fields->ordinal(kNodes, keys.front() - 1));
        REQUIRE_FALSE(fields->ordinal(kNodes, keys[1] + 1));
        REQUIRE_FALSE(fields->ordinal(field<"GraphProto.output">, keys.front()));
        model::insert(*edited, edited.graph(), kNodes, random() % keys.size(), std::nullopt);
        const std::uint64_t gone[] = {random() % keys.size()};
        model::erase(*edited, edited.graph(), kNodes, gone);
        CHECK(code_of([&] {
                  return (*edited)
                             .index(edited.graph())
                             ->ordinals(kNodes, {&keys[gone[0]], 1})
                             .size() == 1;
              }) != "file.changed");
    }
}

}  // namespace onnxmap::test
