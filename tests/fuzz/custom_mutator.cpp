// Half of all mutations change fields of the message in the input, or the bytes behind it. The
// other half change any bytes, with libFuzzer's dictionary.
#include "fuzz/custom_mutator.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "fuzz/mutator.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
    using namespace onnxmap;
    const ByteView input(data, size);
    const fuzz::MessagePart message = fuzz::message_of(input);
    const std::size_t around = size - message.bytes.size();
    if (seed % 2 == 0 || message.bytes.empty() || around >= max_size) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    const auto before = message.bytes.data() - data;
    std::vector<std::uint8_t> rest(input.begin() + before + std::ssize(message.bytes), input.end());
    std::vector<std::uint8_t> changed;
    if (message.make_rest != nullptr && seed % 4 == 1) {
        changed.assign(message.bytes.begin(), message.bytes.end());
        rest = message.make_rest(message.bytes, seed / 4);
        if (static_cast<std::size_t>(before) + changed.size() + rest.size() > max_size) {
            return LLVMFuzzerMutate(data, size, max_size);
        }
    } else {
        changed = fuzz::mutate(message.bytes, seed / 4, max_size - around, message.root);
    }
    std::vector<std::uint8_t> all(input.begin(), input.begin() + before);
    all.insert(all.end(), changed.begin(), changed.end());
    all.insert(all.end(), rest.begin(), rest.end());
    std::copy(all.begin(), all.end(), data);
    return all.size();
}
