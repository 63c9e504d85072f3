// Files of NumPy: an .npz archive of uncompressed arrays, whose elements are aligned to 64 bytes in
// the file, or one array in an .npy file.
// Source: NumPy, "numpy.lib.format"; PKWARE, APPNOTE.TXT 6.3.10.
#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "kernels/kernel_set.hpp"
#include "os/parallel.hpp"
#include "save/save_plan.hpp"
#include "save/write_content.hpp"

namespace onnxmap::save {

namespace {

constexpr std::uint64_t kArrayAlignment = 64;  // bytes
constexpr std::uint64_t kMost32 = 0xffff'ffff;
constexpr std::uint64_t kMost16 = 0xffff;
constexpr std::uint64_t kMostOfHeader = 1 << 16;  // bytes in front of an array
constexpr std::uint64_t kCrcAtOnce = 1 << 20;

std::uint32_t crc32(ByteView bytes, std::uint32_t before = 0) {
    return kernels::kernels().crc32(bytes.data(), bytes.size(), before);
}

// Appends a number of `width` bytes.
void put(std::string& out, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
}

// The letter that NumPy has for numbers of the type; 0 if it reads them back as plain bytes.
char letter_of(const onnx::DataTypeInfo& type) noexcept {
    if (*type.buffer_format == '\0') return '\0';
    switch (type.dlpack) {
        case onnx::DlpackCode::floating: return 'f';
        case onnx::DlpackCode::integer: return 'i';
        case onnx::DlpackCode::unsigned_integer: return 'u';
        case onnx::DlpackCode::complex: return 'c';
        case onnx::DlpackCode::boolean: return 'b';
        default: return '\0';
    }
}

// What stands in front of the elements, if the array begins at `offset` in its file.
std::string array_header(const tensor::Header& tensor, const onnx::DataTypeInfo& type,
                         std::uint64_t offset) {
    std::string text = "{'descr': '";
    text += type.itemsize() == 1 ? '|' : '<';
    text += letter_of(type) + std::to_string(type.itemsize());
    text += "', 'fortran_order': False, 'shape': (";
    for (const std::int64_t dim : tensor.dims()) text += std::to_string(dim) + ", ";
    if (tensor.rank > 1) text.resize(text.size() - 2);
    if (tensor.rank == 1) text.pop_back();
    text += "), }";
    std::string out("\x93NUMPY\x01\0", 8);
    const std::uint64_t end = offset + out.size() + 2 + text.size() + 1;
    text.append((kArrayAlignment - end % kArrayAlignment) % kArrayAlignment, ' ');
    text += '\n';
    put(out, text.size(), 2);
    return out + text;
}

struct Member {
    std::string name;
    std::uint64_t begin;  // of its entry in the archive
    bool is_large;        // its size takes 8 bytes
    std::uint64_t nbytes = 0;
    std::uint32_t crc = 0;
};

// The fields that the two headers of a member have in common.
void put_member(std::string& out, const Member& member) {
    constexpr std::uint64_t kUtf8Name = 0x800;
    constexpr std::uint64_t kFirstDay = 0x21;  // 1980-01-01
    put(out, member.is_large ? 45 : 20, 2);    // the version that reads it
    put(out, kUtf8Name, 2);
    put(out, 0, 2);  // stored
    put(out, 0, 2);  // the time
    put(out, kFirstDay, 2);
    put(out, member.crc, 4);
    put(out, member.is_large ? kMost32 : member.nbytes, 4);
    put(out, member.is_large ? kMost32 : member.nbytes, 4);
    put(out, member.name.size(), 2);
}

void put_large_sizes(std::string& out, const Member& member) {
    put(out, member.nbytes, 8);
    put(out, member.nbytes, 8);
}

std::string local_header(const Member& member) {
    std::string out = "PK\3\4";
    put_member(out, member);
    put(out, member.is_large ? 20 : 0, 2);
    out += member.name;
    if (member.is_large) {
        put(out, 1, 2);
        put(out, 16, 2);
        put_large_sizes(out, member);
    }
    return out;
}

std::string directory(const std::vector<Member>& members, std::uint64_t begin) {
    std::string out;
    for (const Member& each : members) {
        const bool is_far = each.begin >= kMost32;
        std::string extra;
        if (each.is_large) put_large_sizes(extra, each);
        if (is_far) put(extra, each.begin, 8);
        out += "PK\1\2";
        put(out, 3 << 8 | 45, 2);  // made on Unix
        put_member(out, each);
        put(out, extra.empty() ? 0 : extra.size() + 4, 2);
        put(out, 0, 6);  // no comment, the first disk, attributes
        put(out, 0600U << 16, 4);
        put(out, is_far ? kMost32 : each.begin, 4);
        out += each.name;
        if (extra.empty()) continue;
        put(out, 1, 2);
        put(out, extra.size(), 2);
        out += extra;
    }
    const std::uint64_t nbytes = out.size();
    const std::uint64_t count = members.size();
    if (begin + nbytes >= kMost32 || count >= kMost16) {
        out += "PK\6\6";
        put(out, 44, 8);
        put(out, 45, 2);
        put(out, 45, 2);
        put(out, 0, 8);
        for (const std::uint64_t value : {count, count, nbytes, begin}) put(out, value, 8);
        out += "PK\6\7";
        put(out, 0, 4);
        put(out, begin + nbytes, 8);
        put(out, 1, 4);
    }
    out += "PK\5\6";
    put(out, 0, 4);
    put(out, std::min(count, kMost16), 2);
    put(out, std::min(count, kMost16), 2);
    put(out, std::min(nbytes, kMost32), 4);
    put(out, std::min(begin, kMost32), 4);
    put(out, 0, 2);
    return out;
}

std::string why_not(const onnx::DataTypeInfo& type, const std::string& name) {
    if (letter_of(type) == '\0') {
        return "of type " + std::string(type.name) + ", which NumPy reads back as bytes";
    }
    if (name.size() > kMost16 - 4) return "whose name is too long";
    return std::string(why_not_as_name(name));
}

}  // namespace

// Lays out the arrays of a group: one .npy file, or the members of an archive.
void SavePlan::add_arrays(std::size_t group) {
    const std::string& location = groups_[group].location;
    const std::vector<Moved*> moved = carried_in(group, "a file of NumPy", [](const Moved& each) {
        return why_not(new_type(tensor::read_header(each.tensor), each.change), each.name);
    });
    const bool is_archive = location.ends_with(kNpz);
    if (!is_archive && moved.size() != 1) {
        throw Error("save.not_carried", {"an .npy file holds one tensor, not ", moved.size(),
                                         "; name one, or write an .npz"});
    }
    // Their checksums stand in front of the arrays.
    std::vector<Member> members;
    std::vector<std::string> headers;
    std::uint64_t next = 0;  // byte of the archive
    for (const Moved* each : moved) {
        const std::uint64_t nbytes = each->values.nbytes;
        Member& member =
            members.emplace_back(each->name + ".npy", next, nbytes >= kMost32 - kMostOfHeader);
        const std::uint64_t begin = is_archive ? next + local_header(member).size() : 0;
        const tensor::Header header = tensor::read_header(each->tensor);
        headers.push_back(array_header(header, new_type(header, each->change), begin));
        member.nbytes = headers.back().size() + nbytes;
        next = begin + member.nbytes;
    }
    const auto caller = std::this_thread::get_id();
    const auto find_checksums = [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            const tensor::Payload& values = moved[i]->values;
            std::uint32_t crc = crc32(as_bytes(headers[i]));
            std::vector<std::uint8_t> piece(std::min(kCrcAtOnce, values.nbytes));
            for (std::uint64_t at = 0; at < values.nbytes; at += piece.size()) {
                piece.resize(std::min<std::uint64_t>(piece.size(), values.nbytes - at));
                read_source(*values.source, values.offset + at, piece);
                crc = crc32(piece, crc);
                os::leave_if_stopped();
                if (std::this_thread::get_id() == caller && options_.layout.look) {
                    options_.layout.look();
                }
            }
            members[i].crc = crc;
        }
    };
    const bool is_converted =
        std::ranges::any_of(moved, [](const Moved* each) { return each->change != nullptr; });
    if (is_archive && is_converted) {
        find_checksums(0, moved.size());  // one thread converts
    } else if (is_archive) {
        os::for_each_range(moved.size(), 1, find_checksums);
    }
    DataFile& file = files_.emplace_back();
    file.location = location;
    file.replaces = groups_[group].replaces;
    for (std::size_t i = 0; i < moved.size(); ++i) {
        if (is_archive) file.parts.copy(local_header(members[i]));
        file.parts.copy(headers[i]);
        const tensor::Payload& values = moved[i]->values;
        file.parts.range(values.source, values.offset, values.nbytes);
    }
    if (is_archive) file.parts.copy(directory(members, file.parts.nbytes()));
}

}  // namespace onnxmap::save
