#include "base/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/utf8.hpp"

namespace onnxmap {

namespace {

constexpr std::size_t kMostNames = 10'000;
constexpr std::size_t kMostWork = 32'000'000;  // pairs of letters, some 0.05 s

constexpr std::string_view kModel = ".onnx";
// Stands for a letter and the marks after it. It equals any letter that is not ASCII, so that a
// name equals its decomposed form, which macOS stores, without tables of Unicode.
constexpr char32_t kMarked = 0x110000;

// Accents, the voicing of kana, and the vowels and final consonants of Hangul.
constexpr bool is_mark(char32_t letter) noexcept {
    return (letter >= 0x300 && letter <= 0x36f) || letter == 0x3099 || letter == 0x309a ||
           (letter >= 0x1160 && letter <= 0x11ff);
}

constexpr bool is_ascii(char32_t letter) noexcept { return letter < 0x80; }

// The letters of UTF-8; bytes that are not UTF-8 count as letters.
std::vector<char32_t> letters_of(std::string_view name) {
    std::vector<char32_t> letters;
    while (!name.empty()) {
        const std::size_t length = std::max<std::size_t>(utf8_length(name), 1);
        char32_t letter = utf8_character(name.substr(0, length));
        name.remove_prefix(length);
        if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
        if (is_mark(letter) && !letters.empty()) {
            letters.back() = kMarked;
        } else {
            letters.push_back(letter);
        }
    }
    return letters;
}

constexpr bool is_same(char32_t a, char32_t b) noexcept {
    return a == b || (a == kMarked && !is_ascii(b)) || (b == kMarked && !is_ascii(a));
}

// How many letters must be put in, left out or replaced to make one name of the other.
std::size_t distance(const std::vector<char32_t>& a, const std::vector<char32_t>& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (is_same(a[i], b[j]) ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

}  // namespace

NearestName::NearestName(std::string_view wanted, std::string_view model)
    : wanted_(wanted), letters_(letters_of(wanted)), stem_(model.substr(0, model.rfind('.'))) {}

// Whether the model was renamed together with this file: old.onnx.data to new.onnx.data.
bool NearestName::is_renamed(std::string_view name) const {
    if (stem_.empty() || !name.starts_with(stem_)) return false;
    name.remove_prefix(stem_.size());
    return name.find('.') != std::string_view::npos && wanted_.ends_with(name);
}

bool NearestName::compare(std::string_view name) {
    if (++names_ > kMostNames || work_ > kMostWork) return false;
    if (name.ends_with(kModel) && !wanted_.ends_with(kModel)) return true;
    const std::vector<char32_t> letters = letters_of(name);
    const std::size_t longer = std::max(letters.size(), letters_.size());
    const std::size_t shorter = std::min(letters.size(), letters_.size());
    std::size_t far = 1;
    if (!is_renamed(name)) {
        if ((longer - shorter) * 3 >= longer) return true;  // too far, whatever the letters are
        work_ += letters.size() * letters_.size();
        const std::size_t edits = distance(letters_, letters);
        if (edits * 3 >= longer) return true;
        far = edits == 0 ? 0 : edits + 1;
    }
    // The folder has its names in any order.
    if (!found_ || std::pair(far, name) < std::pair(least_, std::string_view(found_->name))) {
        least_ = far;
        found_ = NearName{std::string(name), far == 0 && letters != letters_};
    }
    return true;
}

}  // namespace onnxmap
