// One tensor, alone in a source, and reads of its values.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "external_folder.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"
#include "placed_bytes.hpp"
#include "sample_models.hpp"
#include "tensor/values.hpp"

namespace onnxmap::test {

/// `io` is how a file of external data is opened.
struct OneTensor {
    explicit OneTensor(const Bytes& bytes, std::string root = "",
                       source::IoMode io = source::IoMode::automatic)
        : source(std::make_shared<MemorySource>(bytes)),
          store{source, tensor::ExternalFiles(external_folder(std::move(root), io)), 64, 16, {}},
          message(onnx::message<"TensorProto">, source->bytes()),
          header(tensor::read_header(message)) {}
    OneTensor(const OneTensor&) = delete;  // because `values` point to the store below
    OneTensor& operator=(const OneTensor&) = delete;

    /// From now on `tolerated` gets the codes of the faults that onnx tolerates.
    OneTensor& lenient() {
        store.tolerate = [this](const Error& fault, const tensor::Header&) {
            tolerated.push_back(fault.code);
        };
        return *this;
    }

    /// The values, checked as they are before an array is made.
    [[nodiscard]] tensor::Values values() const {
        tensor::Values made(message, header, store, source::now());
        made.check_count();
        return made;
    }

    /// The elements as an array has them, converted to `to` if that is given.
    [[nodiscard]] Bytes read(const onnx::DataTypeInfo* to = nullptr) const {
        const tensor::Values made = values();
        const auto conversion =
            tensor::Conversion::find(made.type(), to == nullptr ? made.type() : *to).value();
        return filled(made.count() * conversion.to().itemsize(),
                      [&](std::span<std::uint8_t> out) { made.read(conversion, out); });
    }

    [[nodiscard]] Bytes read_packed() const {
        const tensor::Values made = values();
        return filled(tensor::packed_nbytes(made.count(), made.type().bits),
                      [&](std::span<std::uint8_t> out) { made.read_packed(out); });
    }

    /// The code of the error of finding and counting the values, and of reading them.
    [[nodiscard]] std::string code() const {
        return code_of([&] { return values().count(); });
    }
    [[nodiscard]] std::string read_code() const {
        return code_of([&] { return read(); });
    }

    std::shared_ptr<MemorySource> source;
    tensor::Store store;
    onnx::Message message;
    tensor::Header header;
    std::vector<std::string> tolerated;

  private:
    // in a heap block of the exact size
    template <class Fill>
    static Bytes filled(std::size_t nbytes, Fill&& fill) {
        HeapCopy room{ByteView(Bytes(nbytes, 0xa5))};
        fill(std::span<std::uint8_t>(room.data(), nbytes));
        return join(room.view());
    }
};

}  // namespace onnxmap::test
