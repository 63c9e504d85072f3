// Checks models that are given as bytes, and shows findings as lines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/check.hpp"
#include "check/rules.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

[[nodiscard]] inline check::Options every_rule(std::uint64_t most = 1000) {
    return {std::vector<bool>(check::rules().size(), true), most};
}

template <onnx::detail::Name kRoot = "ModelProto">
[[nodiscard]] std::shared_ptr<const model::Document> loaded(const Bytes& bytes,
                                                            std::uint32_t depth = 100) {
    model::LoadOptions options;
    options.root = &onnx::message<kRoot>;
    options.limits.depth = depth;
    return std::make_shared<const model::Document>(std::make_shared<MemorySource>(bytes), options);
}

/// "rule @ path; " for each finding that was kept.
[[nodiscard]] inline std::string shown(const check::Findings& findings) {
    std::string text;
    for (const check::Finding& each : findings.found()) {
        text.append(check::info(each.rule).name).append(" @ ").append(each.where).append("; ");
    }
    return text;
}

[[nodiscard]] inline std::uint64_t count_of(const check::Findings& findings, check::Rule rule) {
    return findings.counts()[static_cast<std::size_t>(rule)];
}

/// A NodeProto of the operator `Op` with these inputs and outputs.
[[nodiscard]] inline Bytes op(const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs, const Bytes& more = {}) {
    Bytes bytes = blob(4, "Op");
    for (const auto& each : inputs) append(bytes, blob(1, each));
    for (const auto& each : outputs) append(bytes, blob(2, each));
    return join(bytes, more);
}

/// A ValueInfoProto of a float tensor.
[[nodiscard]] inline Bytes value(std::string_view name, const Bytes& dim = scalar(1, 2)) {
    return join(blob(1, name), blob(2, blob(1, join(scalar(1, 1), blob(2, blob(1, dim))))));
}

}  // namespace onnxmap::test
