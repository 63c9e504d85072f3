// The names that the elements of a list mention, by name and by element. An element can be taken
// out and read again at the cost of what it mentions.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "model/name_table.hpp"
#include "os/large_vector.hpp"

namespace onnxmap::model {

struct Mention {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::uint32_t order = 0;      // among those of the element
    std::uint32_t index = 0;      // what the reader of the element gave; see there
    std::uint32_t inner = kNone;  // the same
    /// What the name is for the element, which the reader of the element decides.
    enum class Role : std::uint8_t {
        name,         ///< of the element
        output,       ///< a value that a node makes
        use,          ///< a value that a node, or a message in it, uses
        made_inside,  ///< a value that a subgraph of a node makes
        annotated     ///< a value of the graph that a message in a subgraph describes
    } role = Role::name;
};

class Mentions {
  public:
    /// An element by its key, and the bytes that begin there; see onnx::Message::loaded().
    struct Element {
        ByteView loaded;
        std::uint32_t first;  // of its mentions; kNone
        std::uint32_t count;
    };

    /// Makes room for this many elements, with up to three mentions each, as most nodes have.
    void reserve(std::uint64_t elements);

    /// Notes an element, or forgets what a known one mentions. Its bytes begin at its key.
    void start(ByteView loaded);
    /// Adds a mention in the element that was started last.
    void add(std::string_view name, Mention mention);
    /// Forgets an element.
    void remove(const std::uint8_t* key);

    [[nodiscard]] const Element* find(const std::uint8_t* key) const {
        const auto found = elements_.find(key);
        return found == elements_.end() ? nullptr : &found->second;
    }

    /// How often a name is mentioned.
    [[nodiscard]] std::uint64_t count(std::string_view name) const;
    /// How many different names are mentioned, the empty one included.
    [[nodiscard]] std::uint64_t name_count() const noexcept { return names_in_use_; }

    /// Calls visit(key, mention) for each mention of a name, in no order.
    template <class Visit>
    void for_each(std::string_view name, Visit&& visit) const {
        const auto known = names_.find(name);
        if (!known) return;
        for (std::uint32_t i = of_name_[*known].first; i != kNone; i = entries_[i].next) {
            visit(entries_[i].key, entries_[i].mention);
        }
    }

    /// Whether most of the memory is of names that are no longer mentioned.
    [[nodiscard]] bool is_wasteful() const noexcept {
        return names_.size() > 2 * names_in_use_ + 1024;
    }

  private:
    static constexpr std::uint32_t kNone = Mention::kNone;

    struct Entry {
        const std::uint8_t* key;
        std::uint32_t name;
        std::uint32_t next;  // of the name
        std::uint32_t previous;
        std::uint32_t next_of_element;  // of a free entry: the next free one
        Mention mention;
    };
    struct OfName {
        std::uint32_t first = kNone;
        std::uint32_t count = 0;
    };

    void clear(Element& element);
    [[nodiscard]] std::uint32_t new_entry();

    NameTable names_{NameTable::Text::copied};
    os::LargeVector<OfName> of_name_;
    os::LargeVector<Entry> entries_;
    std::uint32_t free_ = kNone;
    std::uint64_t names_in_use_ = 0;
    std::unordered_map<const std::uint8_t*, Element> elements_;
    Element* open_ = nullptr;
};

}  // namespace onnxmap::model
