// A descriptor of the operating system, which its owner closes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace onnxmap::os {

class Descriptor {
  public:
    Descriptor() noexcept = default;
    explicit Descriptor(int number) noexcept : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ < 0) return;
        const int kept = errno;  // the failure before this close may still be reported
        ::close(number_);
        errno = kept;
    }

    [[nodiscard]] int number() const noexcept { return number_; }
    /// Gives the number to the caller, who must close it.
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }
    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }

  private:
    int number_ = -1;
};

}  // namespace onnxmap::os
