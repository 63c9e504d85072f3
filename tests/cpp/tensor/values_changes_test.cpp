// A file that changes while its values are read: every way to read checks the file afterwards.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "base/error.hpp"
#include "caught.hpp"
#include "external_folder.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"
#include "tensor/values.hpp"

namespace onnxmap::test {

namespace {

// A source that can report a change, as a file does that was cut within a page.
class ChangingSource final : public MemorySource {
  public:
    using MemorySource::MemorySource;

    void change() noexcept { has_changed_ = true; }

  protected:
    void check_for_changes() const override {
        if (has_changed_) fail_changed();
    }

  private:
    bool has_changed_ = false;
};

// Finds and counts the values of a tensor, changes its source, and returns the code of
// read(values).
template <class Read>
std::string code_after_change(const Bytes& bytes, Read&& read) {
    const auto source = std::make_shared<ChangingSource>(bytes);
    const tensor::Store store{source, tensor::ExternalFiles(external_folder("")), 64, 16, {}};
    const onnx::Message message(onnx::message<"TensorProto">, source->bytes());
    tensor::Values values(message, tensor::read_header(message), store, source::now());
    values.check_count();
    source->change();
    return code_of([&] {
        read(values);
        return 0;
    });
}

const Bytes kRaw = join(scalar(1, 4), scalar(2, 2), blob(9, "abcd"));
const Bytes kTyped = join(scalar(1, 4), scalar(2, 6), packed(5, {1, 2, 3, 300}));
const Bytes kPacked = join(scalar(1, 4), scalar(2, 21), packed(5, {0x21, 0x43}));
const Bytes kText = join(scalar(1, 1), scalar(2, 8), blob(6, "text"));

}  // namespace

TEST_CASE("values: a change during a read is noticed, whatever is read") {
    for (const Bytes& bytes : {kRaw, kTyped, kPacked}) {
        CHECK(code_after_change(bytes, [](const tensor::Values& values) {
                  Bytes out(values.count() * values.type().itemsize());
                  values.read(tensor::Conversion::none(values.type()), out);
              }) == "file.changed");
        CHECK(code_after_change(bytes, [](const tensor::Values& values) {
                  Bytes out(tensor::packed_nbytes(values.count(), values.type().bits));
                  values.read_packed(out);
              }) == "file.changed");
    }
    CHECK(code_after_change(kText, [](const tensor::Values& values) {
              values.for_each_string([](std::uint64_t, std::string_view) {});
          }) == "file.changed");
    // The caller of a read in parts checks once, after the last part.
    const auto read_part = [](const tensor::Values& values) {
        Bytes out(2);
        values.read_packed_part(1, out);
        CHECK(out == from_text("bc"));
    };
    CHECK(code_after_change(kRaw, read_part) == "accepted");
    CHECK(code_after_change(kRaw, [&](const tensor::Values& values) {
              read_part(values);
              values.check_again();
          }) == "file.changed");
}

}  // namespace onnxmap::test
