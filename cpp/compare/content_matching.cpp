#include "compare/content_matching.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "compare/list_matching.hpp"
#include "os/parallel.hpp"
#include "os/random_number.hpp"
#include "source/owned_bytes.hpp"

namespace onnxmap::compare {

using model::Tensor;
using tensor::Values;

namespace {

constexpr std::uint64_t kHashed = 32;         // bytes that one step of the hash takes
constexpr std::uint64_t kAtOnce = 128 << 10;  // bytes, a multiple of kHashed
constexpr std::uint64_t kSample = 256;        // bytes
constexpr std::uint64_t kSamples = 4;

class ContentHash {
  public:
    explicit ContentHash(const HashSeeds& seeds) : seeds_(seeds), lanes_{seeds[0], ~seeds[0]} {}

    /// Only the last call may have a number of bytes that is no multiple of kHashed.
    void add(ByteView bytes) noexcept {
        nbytes_ += bytes.size();
        std::size_t at = 0;
        for (; at + kHashed <= bytes.size(); at += kHashed) step(bytes.data() + at);
        if (at == bytes.size()) return;
        std::array<std::uint8_t, kHashed> last{};
        std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), last.begin());
        step(last.data());
    }

    void add_text(std::string_view text) noexcept {
        nbytes_ += 1;  // two short texts are not one long one
        lanes_[0] = fold(lanes_[0] ^ text.size(), seeds_[1]);
        add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    }

    [[nodiscard]] std::uint64_t value() const noexcept {
        return fold(lanes_[0] ^ nbytes_, lanes_[1] ^ seeds_[1]);
    }

  private:
    void step(const std::uint8_t* p) noexcept {
        std::array<std::uint64_t, 4> words;
        std::memcpy(words.data(), p, kHashed);
        lanes_[0] = fold(words[0] ^ lanes_[0], words[1] ^ seeds_[1]);
        lanes_[1] = fold(words[2] ^ lanes_[1], words[3] ^ seeds_[1]);
    }

    HashSeeds seeds_;
    std::array<std::uint64_t, 2> lanes_;
    std::uint64_t nbytes_ = 0;
};

std::string_view bytes_of(const auto& number) noexcept {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string type_and_shape(const onnx::Message& message) {
    const tensor::Header header = tensor::read_header(message);
    std::string key(bytes_of(header.data_type));
    for (const std::int64_t dim : header.dims()) key += bytes_of(dim);
    return key;
}

// The tensors of one model that may still have a partner.
class Candidates {
  public:
    Candidates(const model::Document& document, source::Timestamp since,
               std::span<const onnx::Message> messages, const HashSeeds& seeds)
        : document_(document), since_(since), messages_(messages), seeds_(seeds) {
        keys_.reserve(messages.size());
        for (const onnx::Message& message : messages) keys_.push_back(type_and_shape(message));
    }

    [[nodiscard]] std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(keys_.size());
    }
    /// Equal for tensors that may be equal; empty if the tensor has no partner.
    [[nodiscard]] std::string_view key(std::uint32_t i) const noexcept { return keys_[i]; }
    [[nodiscard]] Tensor tensor(std::uint32_t i) const { return {document_, messages_[i]}; }

    /// Drops the tensors whose key does not occur in `other`.
    void keep_keys_of(const Candidates& other) {
        model::NameTable keys;
        for (const std::string& key : other.keys_) keys.add(key);
        for (std::string& key : keys_) {
            if (!keys.find(key)) key.clear();
        }
    }

    /// Drops the tensors whose key occurs once.
    void keep_repeated() {
        model::NameTable keys;
        std::vector<std::uint32_t> counts(keys_.size());
        for (const std::string& key : keys_) ++counts[keys.add(key).position];
        std::vector<bool> is_single(keys_.size());
        for (std::size_t i = 0; i < keys_.size(); ++i)
            is_single[i] = counts[*keys.find(keys_[i])] == 1;
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (is_single[i]) keys_[i].clear();
        }
    }

    /// Adds hashes of the values to the keys; with `whole`, of all values.
    void add_hashes(bool whole) {
        os::for_each_range(count(), 1, [&](std::uint64_t i, std::uint64_t) {
            if (!keys_[i].empty()) add_hash(keys_[i], messages_[i], whole);
        });
    }

  private:
    void add_hash(std::string& key, const onnx::Message& message, bool whole) const {
        ContentHash hash(seeds_);
        try {
            Values values = Tensor(document_, message).values(since_);
            values.check_count();
            values.check_padding();
            if (values.type().bits == 0) {
                values.for_each_string([&](auto, std::string_view text) { hash.add_text(text); });
            } else if (const auto* payload = values.payload()) {
                const auto read = [&](std::uint64_t begin, std::span<std::uint8_t> out) {
                    values.read_packed_part(begin, out);
                };
                add_bytes(hash, payload->nbytes, whole, read);
                if (whole) values.check_again();
            } else {
                source::OwnedBytes bytes(tensor::packed_nbytes(values.count(), values.type().bits));
                values.read_packed(bytes.writable());
                const auto copy = [&](std::uint64_t begin, std::span<std::uint8_t> out) {
                    std::ranges::copy(bytes.bytes().subspan(begin, out.size()), out.begin());
                };
                add_bytes(hash, bytes.size(), whole, copy);
            }
        } catch (const Error& error) {
            if (error.code == "file.changed") throw;
            key.clear();
            return;
        }
        key += bytes_of(hash.value());
    }

    // All bytes, or samples at the same places in every tensor of the same size.
    template <class Read>
    static void add_bytes(ContentHash& hash, std::uint64_t nbytes, bool whole, Read&& read) {
        std::vector<std::uint8_t> buffer(std::min(whole ? kAtOnce : kSample, nbytes));
        if (nbytes == 0) return;
        if (whole) {
            for (std::uint64_t begin = 0; begin < nbytes; begin += buffer.size()) {
                os::leave_if_stopped();
                const auto part =
                    std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), nbytes - begin));
                read(begin, part);
                hash.add(part);
            }
            return;
        }
        const std::uint64_t last = nbytes - buffer.size();
        for (std::uint64_t i = 0; i < kSamples; ++i) {
            read(last / (kSamples - 1) * i, std::span(buffer));
            hash.add(buffer);
        }
    }

    const model::Document& document_;
    source::Timestamp since_;
    std::span<const onnx::Message> messages_;
    const HashSeeds& seeds_;
    std::vector<std::string> keys_;
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> match_by_content(
    const TwoDocuments& documents, std::span<const onnx::Message> a,
    std::span<const onnx::Message> b) {
    if (a.empty() || b.empty()) return {};
    const HashSeeds seeds = os::random_seeds();
    Candidates in_a(documents.a, documents.since_a, a, seeds);
    Candidates in_b(documents.b, documents.since_b, b, seeds);
    const auto keep_common = [&] {
        in_a.keep_keys_of(in_b);
        in_b.keep_keys_of(in_a);
    };
    keep_common();
    for (const bool whole : {false, true}) {
        in_a.add_hashes(whole);
        in_b.add_hashes(whole);
        keep_common();
    }
    Matching matching(a.size(), b.size());
    matching.pair_by([&](std::uint32_t i) { return in_a.key(i); },
                     [&](std::uint32_t j) { return in_b.key(j); });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t i = 0; i < in_a.count(); ++i) {
        const std::uint32_t j = matching.of_a(i);
        if (j == Matching::kNone) continue;
        os::leave_if_stopped();
        // Equal hashes say that the values are probably equal.
        if (compare_values(documents, in_a.tensor(i), in_b.tensor(j)).same)
            pairs.emplace_back(i, j);
    }
    return pairs;
}

std::vector<std::uint32_t> first_equal(const model::Document& document,
                                       std::span<const onnx::Message> tensors) {
    std::vector<std::uint32_t> first(tensors.size());
    std::iota(first.begin(), first.end(), 0);
    const source::Timestamp since = document.check_for_changes();
    const HashSeeds seeds = os::random_seeds();
    Candidates candidates(document, since, tensors, seeds);
    candidates.keep_repeated();
    for (const bool whole : {false, true}) {
        candidates.add_hashes(whole);
        candidates.keep_repeated();
    }
    const TwoDocuments documents{document, document, since, since};
    model::NameTable keys;
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t i = 0; i < candidates.count(); ++i) {
        if (candidates.key(i).empty()) continue;
        const auto added = keys.add(candidates.key(i));
        if (added.is_new) {
            firsts.push_back(i);
            continue;
        }
        os::leave_if_stopped();
        const std::uint32_t known = firsts[added.position];
        if (compare_values(documents, candidates.tensor(known), candidates.tensor(i)).same)
            first[i] = known;
    }
    return first;
}

}  // namespace onnxmap::compare
