#include "os/page_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/no_copy.hpp"
#include "os/descriptor.hpp"

namespace onnxmap::os {

namespace {

// Linux reads at most the device's read-ahead window or its largest transfer for one request, and
// silently ignores the rest. 128 KiB is the default window of a device.
constexpr std::uint64_t kAskedAtOnce = 128 << 10;

// Bytes of a file that one call checks, with one byte of answer for each page.
constexpr std::uint64_t kLookedAtOnce = 128 << 20;

// MADV_POPULATE_READ of Linux 5.14. Earlier kernels refuse it, and the pages are mapped when
// touched.
constexpr int kPopulateRead = 22;

template <class Ask>
void for_each_request(Pages pages, Ask&& ask) {
    for (std::uint64_t at = pages.begin; at < pages.end; at += kAskedAtOnce) {
        ask(at, std::min(kAskedAtOnce, pages.end - at));
    }
}

void* address_of(ByteView mapping, std::uint64_t offset) noexcept {
    return const_cast<std::uint8_t*>(mapping.data()) + offset;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 32> text{};
    const ssize_t count = file ? ::read(file.number(), text.data(), text.size()) : -1;
    std::uint64_t number = 0;
    if (count <= 0 || std::from_chars(text.data(), text.data() + count, number).ec != std::errc{}) {
        return std::nullopt;
    }
    return number;
}

// Some pages of a file, mapped to check their residency without touching them.
class Glimpse : NoCopy {
  public:
    Glimpse(const File& file, Pages pages) : nbytes_(pages.nbytes()) {
        address_ = ::mmap(nullptr, nbytes_, PROT_NONE, MAP_SHARED, file.descriptor(),
                          static_cast<off_t>(pages.begin));
        if (address_ == MAP_FAILED) throw FileError(errno, file.path());
    }
    ~Glimpse() { ::munmap(address_, nbytes_); }

    [[nodiscard]] void* address() const noexcept { return address_; }

  private:
    void* address_;
    std::uint64_t nbytes_;
};

void look(void* address, std::uint64_t nbytes, const std::string& path,
          std::vector<unsigned char>& resident) {
    while (::mincore(address, nbytes, resident.data()) != 0) {
        if (errno != EAGAIN) throw FileError(errno, path);
    }
}

// Joins neighbouring pages in the same state. look_at() gives the states of some pages.
template <class LookAt>
void visit_runs(Pages all, const VisitRun& visit, LookAt&& look_at) {
    if (all.nbytes() == 0) return;
    const std::uint64_t page = page_size();
    std::vector<unsigned char> states(std::min(kLookedAtOnce, all.nbytes() + page - 1) / page);
    Pages run{all.begin, all.begin};
    bool run_resident = false;
    for (std::uint64_t at = all.begin; at < all.end; at += kLookedAtOnce) {
        const Pages here{at, std::min(at + kLookedAtOnce, all.end)};
        look_at(here, states);
        for (std::uint64_t i = 0; i * page < here.nbytes(); ++i) {
            const bool resident = (states[i] & 1) != 0;
            if (resident != run_resident) {
                if (run.nbytes() > 0) visit(run.begin, run.end, run_resident);
                run.begin = run.end;
                run_resident = resident;
            }
            run.end = std::min(here.begin + (i + 1) * page, here.end);
        }
    }
    visit(run.begin, run.end, run_resident);
}

}  // namespace

void prefetch(const File& file, Pages pages) noexcept {
    for_each_request(pages, [&](std::uint64_t at, std::uint64_t here) {
        ::posix_fadvise(file.descriptor(), static_cast<off_t>(at), static_cast<off_t>(here),
                        POSIX_FADV_WILLNEED);
    });
}

void prefetch(ByteView mapping, Pages pages) noexcept {
    for_each_request(pages, [&](std::uint64_t at, std::uint64_t here) {
        ::madvise(address_of(mapping, at), here, MADV_WILLNEED);
    });
}

bool populate(ByteView mapping, Pages pages) noexcept {
    return ::madvise(address_of(mapping, pages.begin), pages.nbytes(), kPopulateRead) == 0 ||
           errno != EINVAL;
}

void release(ByteView mapping, Pages pages) noexcept {
    if (pages.nbytes() == 0) return;
    ::madvise(address_of(mapping, pages.begin), pages.nbytes(), MADV_DONTNEED);
}

void drop(const File& file, Pages pages) noexcept {
    if (pages.nbytes() == 0) return;  // to the call below, 0 means all bytes up to the end
    ::posix_fadvise(file.descriptor(), static_cast<off_t>(pages.begin),
                    static_cast<off_t>(pages.nbytes()), POSIX_FADV_DONTNEED);
}

void for_each_page_run(const File& file, Pages pages, const VisitRun& visit) {
    visit_runs(pages, visit, [&](Pages here, std::vector<unsigned char>& states) {
        const Glimpse glimpse(file, here);
        look(glimpse.address(), here.nbytes(), file.path(), states);
    });
}

void for_each_page_run(ByteView mapping, const std::string& path, Pages pages,
                       const VisitRun& visit) {
    visit_runs(pages, visit, [&](Pages here, std::vector<unsigned char>& states) {
        look(address_of(mapping, here.begin), here.nbytes(), path, states);
    });
}

bool is_cached(const File& file, std::uint64_t offset) noexcept {
    std::uint8_t byte = 0;
    const iovec out{&byte, 1};
    const ssize_t count =
        ::preadv2(file.descriptor(), &out, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    return count >= 0 || errno != EAGAIN;
}

std::uint64_t read_ahead_nbytes(const File& file) {
    struct stat status{};
    if (::fstat(file.descriptor(), &status) != 0) return 0;
    const std::string device =
        std::to_string(major(status.st_dev)) + ':' + std::to_string(minor(status.st_dev));
    // The first path is for a disk, or a file system without a disk; the second for the disk of a
    // partition.
    for (const std::string& path : {"/sys/class/bdi/" + device + "/read_ahead_kb",
                                    "/sys/dev/block/" + device + "/../queue/read_ahead_kb"}) {
        if (const auto kibibytes = number_in(path)) {
            return std::min(*kibibytes, UINT64_MAX >> 10) << 10;
        }
    }
    return 0;
}

}  // namespace onnxmap::os
