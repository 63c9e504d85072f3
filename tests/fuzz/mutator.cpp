#include "fuzz/mutator.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "fuzz/field_tree.hpp"
#include "fuzz/random_numbers.hpp"

namespace onnxmap::fuzz {

namespace {

using Kind = Field::Kind;
using wire::FieldRow;
using wire::MessageTable;

constexpr std::uint64_t kBoundaries[] = {
    0,
    1,
    2,
    7,
    16,
    99,
    127,
    128,
    255,
    16383,
    16384,
    (1ULL << 31) - 1,
    1ULL << 31,
    (1ULL << 32) - 1,
    1ULL << 32,
    (1ULL << 32) + 1,
    (1ULL << 35) - 1,
    1ULL << 35,
    (1ULL << 62),
    (1ULL << 63) - 1,
    1ULL << 63,
    (1ULL << 63) + 1,
    std::numeric_limits<std::uint64_t>::max(),
    0xffff'ffff'8000'0000,  // the least int32
    0x3f80'0000,            // 1.0f
    0x8000'0000,            // -0.0f
    0x7f80'0001,            // a float32 NaN that signals
    0xffc0'1234,            // one with a payload
    0x3ff0'0000'0000'0000,  // 1.0
    0x7ff0'0000'0000'0001,  // a float64 NaN that signals
};
constexpr std::uint64_t kNumbers[] = {
    0,     1,     2,   3,     4,     5,     6,     7,         8,         9,
    10,    11,    12,  13,    14,    15,    16,    17,        20,        21,
    22,    23,    25,  26,    31,    32,    33,    999,       18999,     19000,
    19999, 20000, 127, 2'047, 2'048, 16383, 16384, 536870911, 536870912, 1ULL << 40};
constexpr std::string_view kTexts[] = {
    "",
    "w",
    "name",
    "Add",
    "location",
    "offset",
    "length",
    "0",
    "64",
    "18446744073709551616",
    "../x",
    "weights",
    "sub/w.bin",
    "checksum",
    "/etc/passwd",
    std::string_view("a\0b", 3),
    "\xff\xfe",
    "\xed\xa0\x80",
    "\xc0\x80",
    "onnxmap",
};
constexpr Kind kKinds[] = {Kind::varint, Kind::fixed64, Kind::bytes, Kind::group, Kind::fixed32};
constexpr std::size_t kMostGrowth = 96 << 10;

// The list of fields of one message or group.
struct List {
    std::vector<Field>* fields;
    const MessageTable* table;
};

struct Place {
    List list;
    std::size_t index;

    [[nodiscard]] Field& field() const { return (*list.fields)[index]; }
    [[nodiscard]] const FieldRow* row() const {
        const std::uint64_t number = field().number;
        if (list.table == nullptr || number > MessageTable::kMaxNumber) return nullptr;
        return list.table->find(static_cast<std::uint32_t>(number));
    }
    [[nodiscard]] auto iterator() const {
        return list.fields->begin() + static_cast<std::ptrdiff_t>(index);
    }
};

bool has_tag(const Place& place) { return place.field().kind != Kind::raw; }

// Makes changes to one tree. A length that was off before stays off by the same number.
class Mutator {
  public:
    Mutator(std::vector<Field>& fields, const MessageTable* root, Random& random,
            std::size_t max_size)
        : fields_(fields), root_(root), random_(random), max_size_(max_size) {}

    // False if the tree has nothing that the change could be made to.
    bool make(Change change) {
        switch (change) {
            case Change::insert_known: return insert_known();
            case Change::insert_unknown: return insert(any_field(any_number()));
            case Change::remove: return remove();
            case Change::duplicate: return duplicate();
            case Change::reorder: return reorder();
            case Change::split: return split();
            case Change::join: return join();
            case Change::repack: return repack();
            case Change::wrap_in_group: return wrap_in_group();
            case Change::unwrap: return unwrap();
            case Change::deepen: return deepen();
            case Change::change_wire_type: return change_wire_type();
            case Change::change_number: return change_number();
            case Change::make_overlong: return make_overlong();
            case Change::set_boundary: return set_boundary();
            case Change::miscount: return miscount();
            case Change::cut: return cut();
            case Change::swap: return swap();
            case Change::graft: return graft();
            case Change::grow: return grow();
            case Change::change_bytes: break;  // a change of bytes, not of the tree
        }
        return false;
    }

    bool insert_known() {
        const List list = any_list();
        if (list.table == nullptr || list.table->fields.empty()) {
            return insert(any_field(1 + random_.below(31)));
        }
        const FieldRow& row = random_.pick(list.table->fields);
        insert_into(list, known_field(row, 0));
        return true;
    }

  private:
    // --- places

    static void collect(std::vector<List>& lists, const List& list) {
        lists.push_back(list);
        for (Field& field : *list.fields) {
            if (field.has_fields()) collect(lists, {&field.fields, field.table});
        }
    }

    std::vector<List> all_lists() {
        std::vector<List> lists;
        collect(lists, {&fields_, root_});
        return lists;
    }

    List any_list() { return random_.pick(all_lists()); }

    template <class Predicate>
    std::vector<Place> places(Predicate&& wanted) {
        std::vector<Place> found;
        for (const List& list : all_lists()) {
            for (std::size_t i = 0; i < list.fields->size(); ++i) {
                if (const Place place{list, i}; wanted(place)) found.push_back(place);
            }
        }
        return found;
    }

    template <class Predicate>
    std::optional<Place> any_place(Predicate&& wanted) {
        const auto found = places(wanted);
        if (found.empty()) return std::nullopt;
        return random_.pick(found);
    }

    void insert_into(const List& list, Field field) {
        const auto at = static_cast<std::ptrdiff_t>(random_.below(list.fields->size() + 1));
        list.fields->insert(list.fields->begin() + at, std::move(field));
    }

    bool insert(Field field) {
        insert_into(any_list(), std::move(field));
        return true;
    }

    // --- new fields

    std::uint64_t any_number() {
        return random_.one_in(8) ? random_.below(1U << 29) : random_.pick(kNumbers);
    }

    std::uint64_t any_value() {
        switch (random_.below(4)) {
            case 0: return random_.bits();
            case 1: return random_.below(32);
            default: return random_.pick(kBoundaries);
        }
    }

    Bytes any_bytes(std::size_t most) {
        Bytes bytes(random_.below(most + 1));
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.bits());
        return bytes;
    }

    Field any_field(std::uint64_t number) { return any_field(number, random_.pick(kKinds)); }

    Field any_field(std::uint64_t number, Kind kind) {
        Field field;
        field.kind = kind;
        field.number = field.end_number = number;
        if (kind == Kind::bytes) {
            field.bytes = any_bytes(8);
        } else if (kind == Kind::group) {
            while (random_.one_in(2)) field.fields.push_back(any_field(any_number()));
        } else {
            field.value = any_value();
        }
        return field;
    }

    Field known_field(const FieldRow& row, std::size_t depth) {
        Field field;
        field.number = row.number;
        if (row.is_message()) {
            field.kind = Kind::message;
            field.table = &onnx::kSchema.message_of(row);
            for (std::size_t left = depth < 3 ? random_.below(4) : 0; left > 0; --left) {
                field.fields.push_back(known_field(random_.pick(field.table->fields), depth + 1));
            }
        } else if (row.is_text()) {
            field.kind = Kind::bytes;
            const ByteView text = as_bytes(random_.pick(kTexts));
            field.bytes.assign(text.begin(), text.end());
            if (random_.one_in(4)) field.bytes = any_bytes(24);
        } else if (row.packable() && random_.one_in(2)) {
            field.kind = Kind::bytes;
            for (std::size_t left = random_.below(6); left > 0; --left) {
                write_run_value(field.bytes, plausible_value(row), row);
            }
        } else {
            field.kind = static_cast<Kind>(row.wire_type());
            field.value = plausible_value(row);
        }
        return field;
    }

    std::uint64_t plausible_value(const FieldRow& row) {
        if (row.type == wire::Type::enumeration && !random_.one_in(4)) {
            const auto number = random_.pick(onnx::kSchema.enum_of(row).values).number;
            return static_cast<std::uint64_t>(std::int64_t{number});
        }
        return any_value();
    }

    // --- changes

    bool remove() {
        const auto place = any_place([](const Place&) { return true; });
        if (place) place->list.fields->erase(place->iterator());
        return place.has_value();
    }

    bool duplicate() {
        const auto place = any_place(has_tag);
        if (!place) return false;
        insert_into(place->list, Field(place->field()));
        return true;
    }

    bool reorder() {
        std::vector<List> lists = all_lists();
        std::erase_if(lists, [](const List& list) { return list.fields->size() < 2; });
        if (lists.empty()) return false;
        std::vector<Field>& fields = *random_.pick(lists).fields;
        for (std::size_t i = fields.size() - 1; i > 0; --i) {
            std::swap(fields[i], fields[random_.below(i + 1)]);
        }
        return true;
    }

    bool split() {
        const auto place = any_place([](const Place& p) {
            const Field& field = p.field();
            return field.has_length() && field.fields.size() + field.bytes.size() > 0;
        });
        if (!place) return false;
        Field& first = place->field();
        Field second;
        second.kind = first.kind;
        second.number = first.number;
        second.table = first.table;
        if (first.kind == Kind::message) {
            take_tail(first.fields, second.fields);
        } else {
            take_tail(first.bytes, second.bytes);
        }
        // The second one may come at once or later, behind other members of its oneof.
        const std::size_t behind = place->list.fields->size() - place->index;
        const auto at = static_cast<std::ptrdiff_t>(place->index + 1 + random_.below(behind));
        place->list.fields->insert(place->list.fields->begin() + at, std::move(second));
        return true;
    }

    template <class Items>
    void take_tail(Items& from, Items& to) {
        const auto cut = from.begin() + static_cast<std::ptrdiff_t>(random_.below(from.size() + 1));
        to.assign(cut, from.end());
        from.erase(cut, from.end());
    }

    bool join() {
        const auto place = any_place([](const Place& p) { return next_like(p).has_value(); });
        if (!place) return false;
        const std::size_t other = *next_like(*place);
        Field second = std::move((*place->list.fields)[other]);
        place->list.fields->erase(place->list.fields->begin() + static_cast<std::ptrdiff_t>(other));
        Field& first = place->field();
        for (Field& field : second.fields) first.fields.push_back(std::move(field));
        first.bytes.insert(first.bytes.end(), second.bytes.begin(), second.bytes.end());
        return true;
    }

    // The next field of the same number and kind within reach.
    static std::optional<std::size_t> next_like(const Place& place) {
        const Field& first = place.field();
        if (!first.has_length()) return std::nullopt;
        const std::vector<Field>& fields = *place.list.fields;
        const std::size_t stop = std::min(fields.size(), place.index + 17);
        for (std::size_t i = place.index + 1; i < stop; ++i) {
            if (fields[i].number == first.number && fields[i].kind == first.kind) return i;
        }
        return std::nullopt;
    }

    bool repack() {
        const auto place = any_place([](const Place& p) {
            const FieldRow* row = p.row();
            const Field& field = p.field();
            if (row != nullptr && !row->packable()) return field.has_value();
            return row != nullptr && (field.has_value() || field.kind == Kind::bytes);
        });
        if (!place) return false;
        const FieldRow& row = *place->row();
        if (place->field().has_value()) {
            pack(*place, row);
        } else {
            unpack(*place, row);
        }
        return true;
    }

    // This field and those like it behind it become one run.
    void pack(const Place& place, const FieldRow& row) {
        std::vector<Field>& fields = *place.list.fields;
        Field run;
        run.kind = Kind::bytes;
        run.number = row.number;
        const Kind kind = place.field().kind;
        std::size_t end = place.index;
        for (; end < fields.size() && fields[end].kind == kind; ++end) {
            if (fields[end].number != row.number) break;
            write_run_value(run.bytes, fields[end].value, row);
        }
        if (random_.one_in(8)) write_varint(run.bytes, any_value(), random_.below(12));
        fields.erase(place.iterator() + 1, fields.begin() + static_cast<std::ptrdiff_t>(end));
        place.field() = std::move(run);
    }

    void unpack(const Place& place, const FieldRow& row) {
        std::vector<Field> singles;
        for (const std::uint64_t value : read_run(place.field().bytes, row)) {
            Field single;
            single.kind = static_cast<Kind>(row.wire_type());
            single.number = row.number;
            single.value = value;
            singles.push_back(std::move(single));
        }
        put_in_place(place, std::move(singles));
    }

    static void put_in_place(const Place& place, std::vector<Field> fields) {
        const auto at = place.list.fields->erase(place.iterator());
        place.list.fields->insert(at, std::make_move_iterator(fields.begin()),
                                  std::make_move_iterator(fields.end()));
    }

    bool wrap_in_group() {
        const auto place = any_place([](const Place&) { return true; });
        if (!place) return false;
        std::vector<Field>& fields = *place->list.fields;
        Field group;
        group.kind = Kind::group;
        group.number = random_.one_in(2) ? place->field().number : any_number();
        group.end_number = random_.one_in(16) ? any_number() : group.number;
        group.closed = !random_.one_in(16);
        const std::size_t count =
            1 + random_.below(std::min<std::size_t>(fields.size() - place->index, 4));
        const auto begin = place->iterator();
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        group.fields.assign(std::make_move_iterator(begin), std::make_move_iterator(end));
        fields.erase(begin + 1, end);
        place->field() = std::move(group);
        return true;
    }

    bool unwrap() {
        const auto place = any_place([](const Place& p) { return p.field().has_fields(); });
        if (!place) return false;
        std::vector<Field> inner = std::move(place->field().fields);
        put_in_place(*place, std::move(inner));
        return true;
    }

    // The content of a list moves down, below messages that lead back to the list's own type, or
    // below groups where the schema has no way back.
    bool deepen() {
        const auto found = all_lists();
        const List list = random_.pick(found);
        std::vector<const FieldRow*> cycle;
        if (list.table != nullptr && !random_.one_in(4)) cycle = way_back(*list.table);
        std::size_t levels = 1 + random_.below(random_.one_in(2) ? 8 : 104);
        if (!cycle.empty()) levels += (cycle.size() - levels % cycle.size()) % cycle.size();
        const std::uint64_t number = any_number();
        for (std::size_t level = 0; level < levels; ++level) {
            Field outer;
            if (cycle.empty()) {
                outer.kind = Kind::group;
                outer.number = outer.end_number = number;
            } else {
                const FieldRow& row = *cycle[cycle.size() - 1 - level % cycle.size()];
                outer.kind = Kind::message;
                outer.number = row.number;
                outer.table = &onnx::kSchema.message_of(row);
            }
            outer.fields = std::move(*list.fields);
            list.fields->clear();
            list.fields->push_back(std::move(outer));
        }
        return true;
    }

    // The shortest chain of message fields from a message to one of its own type.
    static std::vector<const FieldRow*> way_back(const MessageTable& table) {
        struct Step {
            const FieldRow* row;
            std::size_t before;
        };
        std::vector<Step> steps{{nullptr, 0}};
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const MessageTable& from = i == 0 ? table : onnx::kSchema.message_of(*steps[i].row);
            for (const FieldRow& row : from.fields) {
                if (!row.is_message()) continue;
                const MessageTable& to = onnx::kSchema.message_of(row);
                const bool known = std::any_of(steps.begin() + 1, steps.end(), [&](const Step& s) {
                    return &onnx::kSchema.message_of(*s.row) == &to;
                });
                if (known) continue;
                steps.push_back({&row, i});
                if (&to != &table) continue;
                std::vector<const FieldRow*> way;
                for (std::size_t at = steps.size() - 1; at != 0; at = steps[at].before) {
                    way.insert(way.begin(), steps[at].row);
                }
                return way;
            }
        }
        return {};
    }

    bool change_wire_type() {
        const auto place = any_place(has_tag);
        if (!place) return false;
        Field& field = place->field();
        Kind kind = random_.pick(kKinds);
        if (field.kind == kind) kind = kind == Kind::varint ? Kind::bytes : Kind::varint;
        if (random_.one_in(16)) {  // no wire type at all: 6 or 7
            Field raw;
            write_varint(raw.bytes, field.number << 3 | (6 + random_.below(2)));
            write_varint(raw.bytes, random_.below(4));
            field = std::move(raw);
        } else {
            field = any_field(field.number, kind);
        }
        return true;
    }

    bool change_number() {
        const auto place = any_place(has_tag);
        if (!place) return false;
        Field& field = place->field();
        const bool known = place->list.table != nullptr && !random_.one_in(4);
        field.number = known ? random_.pick(place->list.table->fields).number : any_number();
        if (!random_.one_in(8)) field.end_number = field.number;
        return true;
    }

    bool make_overlong() {
        static constexpr std::uint8_t kTagWidths[] = {2, 3, 4, 5, 5, 6, 10};
        static constexpr std::uint8_t kWidths[] = {2, 3, 4, 5, 5, 6, 9, 10, 10, 11};
        const auto place = any_place(has_tag);
        if (!place) return false;
        Field& field = place->field();
        const bool value = field.kind == Kind::varint || field.has_length();
        if (value && !random_.one_in(3)) {
            field.value_width = random_.pick(kWidths);
        } else if (field.kind == Kind::group && random_.one_in(2)) {
            field.end_width = random_.pick(kTagWidths);
        } else {
            field.tag_width = random_.pick(kTagWidths);
        }
        return true;
    }

    bool set_boundary() {
        const auto place = any_place([](const Place& p) {
            const FieldRow* row = p.row();
            const bool run = p.field().kind == Kind::bytes && row != nullptr && row->packable();
            return p.field().has_value() || run;
        });
        if (!place) return false;
        Field& field = place->field();
        if (field.has_value()) {
            field.value = random_.pick(kBoundaries);
            if (field.kind == Kind::varint && random_.one_in(8)) set_beyond_64_bits(field);
            return true;
        }
        const FieldRow& row = *place->row();
        auto values = read_run(field.bytes, row);
        values.resize(std::max<std::size_t>(values.size(), 1));
        values[random_.below(values.size())] = random_.pick(kBoundaries);
        field.bytes.clear();
        for (const std::uint64_t value : values) write_run_value(field.bytes, value, row);
        return true;
    }

    // A varint of ten bytes whose last one has bits above the 64th.
    void set_beyond_64_bits(Field& field) {
        Field raw;
        write_varint(raw.bytes, field.number << 3, field.tag_width);
        write_varint(raw.bytes, field.value, 10);
        raw.bytes.back() = static_cast<std::uint8_t>(random_.below(128));
        field = std::move(raw);
    }

    bool miscount() {
        static constexpr std::int64_t kErrors[] = {
            -1, -1, -2, -8, 1, 1, 2, 8, 1LL << 31, 1LL << 32, 1LL << 35, INT64_MAX, INT64_MIN};
        const auto place = any_place([](const Place& p) { return p.field().has_length(); });
        if (!place) return false;
        place->field().length_error = random_.pick(kErrors);
        return true;
    }

    bool cut() {
        const auto place = any_place(
            [](const Place& p) { return p.field().fields.size() + p.field().bytes.size() > 0; });
        if (!place) return false;
        Field& field = place->field();
        if (!field.bytes.empty()) {
            field.bytes.resize(random_.below(field.bytes.size()));
        } else {
            // A cut within a field makes its length reach past the end of the message.
            field.bytes = write_fields(field.fields);
            field.fields.clear();
            field.bytes.resize(random_.below(field.bytes.size() + 1));
            if (field.kind == Kind::message) {
                field.kind = Kind::bytes;
            } else {
                Field rest;
                rest.bytes = std::move(field.bytes);
                field.fields.push_back(std::move(rest));
            }
        }
        return true;
    }

    bool swap() {
        const auto first = any_place(has_tag);
        const auto second = any_place(has_tag);
        if (!first || !second) return false;
        Field& one = first->field();
        Field& other = second->field();
        if (contains(one, other) || contains(other, one)) return graft();
        std::swap(one, other);
        if (random_.one_in(2)) std::swap(one.number, other.number);
        return true;
    }

    static bool contains(const Field& outer, const Field& inner) {
        return &outer == &inner || std::any_of(outer.fields.begin(), outer.fields.end(),
                                               [&](const Field& f) { return contains(f, inner); });
    }

    bool graft() {
        const auto place = any_place(has_tag);
        if (!place) return false;
        Field copy = place->field();
        const List list = any_list();
        // Half of them where the schema expects such a field.
        if (list.table != nullptr && copy.table != nullptr && random_.one_in(2)) {
            for (const FieldRow& row : list.table->fields) {
                if (row.is_message() && &onnx::kSchema.message_of(row) == copy.table) {
                    copy.number = row.number;
                }
            }
        }
        insert_into(list, std::move(copy));
        return true;
    }

    bool grow() {
        const std::size_t size = write_fields(fields_).size();
        if (size >= max_size_) return false;
        const std::size_t room = std::min(max_size_ - size, kMostGrowth);
        // More than half of them past 32 KiB, if that much is allowed.
        const std::size_t extra = room / 3 + random_.below(room - room / 3 + 1);
        const auto place =
            any_place([](const Place& p) { return has_tag(p) && !p.field().has_fields(); });
        if (place && place->field().kind == Kind::bytes && random_.one_in(2)) {
            enlarge(*place, extra);
            return true;
        }
        const auto repeated = any_place(has_tag);
        if (!repeated) return false;
        const std::size_t unit = write_fields({repeated->field()}).size();
        const std::size_t count =
            std::min<std::size_t>(extra / std::max<std::size_t>(unit, 1), 4096);
        // Lengths above grow by some bytes, too.
        if (count < 2) return duplicate();
        repeated->list.fields->insert(repeated->iterator(), count - 1, Field(repeated->field()));
        return true;
    }

    void enlarge(const Place& place, std::size_t extra) {
        Bytes& bytes = place.field().bytes;
        const FieldRow* row = place.row();
        const std::size_t target = bytes.size() + extra - std::min<std::size_t>(extra, 64);
        if (row != nullptr && row->packable()) {
            while (bytes.size() + 10 <= target) write_run_value(bytes, any_value(), *row);
        } else {
            bytes.resize(target, static_cast<std::uint8_t>(random_.bits()));
        }
    }

    std::vector<Field>& fields_;
    const MessageTable* root_;
    Random& random_;
    std::size_t max_size_;
};

Bytes changed_bytes(Bytes bytes, Random& random) {
    if (bytes.empty()) return {static_cast<std::uint8_t>(random.bits())};
    const std::size_t index = random.below(bytes.size());
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(index);
    const auto some = static_cast<std::ptrdiff_t>(
        1 + random.below(std::min<std::size_t>(bytes.size() - index, 4)));
    switch (random.below(5)) {
        case 0: *at = static_cast<std::uint8_t>(*at ^ (1U << random.below(8))); break;
        case 1: *at = static_cast<std::uint8_t>(random.bits()); break;
        case 2:
            bytes.insert(at, 1 + random.below(3), static_cast<std::uint8_t>(random.bits()));
            break;
        case 3: bytes.erase(at, at + some); break;
        default: bytes.resize(index);
    }
    return bytes;
}

Bytes changed(Change change, const Bytes& input, Random& random, std::size_t max_size,
              const MessageTable* root) {
    if (change == Change::change_bytes) {
        Bytes bytes = changed_bytes(input, random);
        return bytes.size() <= max_size ? bytes : input;
    }
    auto fields = read_fields(input, root);
    Mutator mutator(fields, root, random, max_size);
    if (!mutator.make(change)) mutator.insert_known();
    Bytes bytes = write_fields(fields);
    return bytes.size() <= max_size ? bytes : input;
}

Bytes at_most(std::span<const std::uint8_t> input, std::size_t max_size) {
    const auto part = input.first(std::min(input.size(), max_size));
    return {part.begin(), part.end()};
}

// Rare: growing makes every later step slow, and deep nesting hides most other changes.
std::vector<Change> draw_changes(Random& random) {
    std::vector<Change> changes(1 + random.below(4));
    for (Change& change : changes) {
        change = static_cast<Change>(random.below(kChangeCount));
        const bool rare = change == Change::grow || change == Change::deepen;
        if (rare && !random.one_in(4)) change = Change::insert_known;
    }
    return changes;
}

}  // namespace

std::vector<Change> changes_of(std::uint32_t seed) {
    Random random(seed);
    return draw_changes(random);
}

std::vector<std::uint8_t> mutate(std::span<const std::uint8_t> input, std::uint32_t seed,
                                 std::size_t max_size, const MessageTable* root) {
    Random random(seed);
    Bytes bytes = at_most(input, max_size);
    for (const Change change : draw_changes(random)) {
        bytes = changed(change, bytes, random, max_size, root);
    }
    return bytes;
}

std::vector<std::uint8_t> make_change(Change change, std::span<const std::uint8_t> input,
                                      std::uint32_t seed, std::size_t max_size,
                                      const MessageTable* root) {
    Random random(seed);
    return changed(change, at_most(input, max_size), random, max_size, root);
}

}  // namespace onnxmap::fuzz
