// The error of a call, as a value to compare.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::test {

/// The Error that the call throws, or nothing.
template <class Call>
[[nodiscard]] std::optional<Error> error_of(Call&& call) {
    try {
        static_cast<void>(std::forward<Call>(call)());
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

/// The code of the Error that the call throws; "accepted" if it throws nothing.
template <class Call>
[[nodiscard]] std::string code_of(Call&& call) {
    const auto error = error_of(std::forward<Call>(call));
    return error ? error->code : "accepted";
}

/// The errno of the FileError that the call throws; 0 if it throws nothing.
template <class Call>
[[nodiscard]] int errno_of(Call&& call) {
    try {
        static_cast<void>(std::forward<Call>(call)());
    } catch (const FileError& error) {
        return error.number;
    }
    return 0;
}

}  // namespace onnxmap::test
