#include "io/page_cache.hpp"

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
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/descriptor.hpp"

namespace onnxmap::io {

namespace {

// Of one request, Linux takes no more than the read-ahead window of the device, or what it moves at
// once, and silently leaves out the rest. 128 KiB is the window of a device that nobody has tuned.
constexpr std::uint64_t kAskedAtOnce = 128 << 10;

// Bytes of a file that are looked at by one call, with one byte of answer for each page.
constexpr std::uint64_t kLookedAtOnce = 128 << 20;

// MADV_POPULATE_READ of Linux 5.14; earlier ones refuse it, and the pages come when they are
// touched.
constexpr int kPopulateRead = 22;

struct Pages {
    std::uint64_t begin;
    std::uint64_t end;  // behind the last one, or the end of the file within it

    [[nodiscard]] std::uint64_t nbytes() const noexcept { return end - begin; }
};

Pages pages_around(std::uint64_t size, std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t page = page_size();
    const std::uint64_t over = end % page;
    // From the left side on: the sum could be past 64 bits.
    if (over != 0) end = size - end < page - over ? size : end + page - over;
    return {begin - begin % page, end};
}

// Empty where no page is wholly within. Behind the end of the file nothing is left of a page.
Pages pages_within(std::uint64_t size, std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t page = page_size();
    if (end != size) end -= end % page;
    if (begin % page != 0) {
        const std::uint64_t step = page - begin % page;
        begin = end < begin || end - begin < step ? end : begin + step;
    }
    return {std::min(begin, end), end};
}

template <class Ask>
void for_each_request(Pages pages, Ask&& ask) {
    for (std::uint64_t at = pages.begin; at < pages.end; at += kAskedAtOnce) {
        ask(at, std::min(kAskedAtOnce, pages.end - at));
    }
}

void* address_of(const Source& source, std::uint64_t offset) noexcept {
    return const_cast<std::uint8_t*>(source.data()) + offset;
}

// The file, if it can be had: advice is worth no error.
std::shared_ptr<const File> file_if_any(const Source& source) {
    try {
        return source.file();
    } catch (const FileError&) {
    } catch (const Error&) {}
    return nullptr;
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

// Some pages of a file, mapped so that they can be asked about and not touched.
class Glimpse {
  public:
    Glimpse(const File& file, Pages pages) : nbytes_(pages.nbytes()) {
        address_ = ::mmap(nullptr, nbytes_, PROT_NONE, MAP_SHARED, file.descriptor(),
                          static_cast<off_t>(pages.begin));
        if (address_ == MAP_FAILED) throw FileError(errno, file.path());
    }
    Glimpse(const Glimpse&) = delete;
    Glimpse& operator=(const Glimpse&) = delete;
    ~Glimpse() { ::munmap(address_, nbytes_); }

    [[nodiscard]] void* address() const noexcept { return address_; }

  private:
    void* address_;
    std::uint64_t nbytes_;
};

void look(void* address, std::uint64_t nbytes, const Source& source,
          std::vector<unsigned char>& resident) {
    while (::mincore(address, nbytes, resident.data()) != 0) {
        if (errno != EAGAIN) throw FileError(errno, source.path());
    }
}

}  // namespace

std::uint64_t page_size() noexcept { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

void prefetch(const File& file, std::uint64_t offset, std::uint64_t nbytes) noexcept {
    for_each_request(pages_around(file.size(), offset, offset + nbytes),
                     [&](std::uint64_t at, std::uint64_t here) {
                         ::posix_fadvise(file.descriptor(), static_cast<off_t>(at),
                                         static_cast<off_t>(here), POSIX_FADV_WILLNEED);
                     });
}

void prefetch(const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
    if (nbytes == 0 || !source.in_file()) return;
    if (!source.maps_file()) {
        prefetch(*source.file(), offset, nbytes);
        return;
    }
    // Needs no descriptor.
    for_each_request(pages_around(source.size(), offset, offset + nbytes),
                     [&](std::uint64_t at, std::uint64_t here) {
                         ::madvise(address_of(source, at), here, MADV_WILLNEED);
                     });
}

bool populate(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept {
    if (nbytes == 0 || !source.maps_file()) return true;
    const Pages pages = pages_around(source.size(), offset, offset + nbytes);
    return ::madvise(address_of(source, pages.begin), pages.nbytes(), kPopulateRead) == 0 ||
           errno != EINVAL;
}

bool can_populate(const Source& source) noexcept {
    return source.maps_file() && ::madvise(address_of(source, 0), 0, kPopulateRead) == 0;
}

void release(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept {
    if (nbytes == 0 || !source.maps_file()) return;
    const Pages pages = pages_within(source.size(), offset, offset + nbytes);
    if (pages.nbytes() == 0) return;
    ::madvise(address_of(source, pages.begin), pages.nbytes(), MADV_DONTNEED);
}

void evict(const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
    if (nbytes == 0 || !source.in_file()) return;
    const Pages pages = pages_within(source.size(), offset, offset + nbytes);
    if (pages.nbytes() == 0) return;  // to the call below, 0 bytes are all up to the end
    release(source, offset, nbytes);
    if (const auto file = file_if_any(source)) {
        ::posix_fadvise(file->descriptor(), static_cast<off_t>(pages.begin),
                        static_cast<off_t>(pages.nbytes()), POSIX_FADV_DONTNEED);
    }
}

void for_each_page_run(
    const Source& source, std::uint64_t begin, std::uint64_t end,
    const std::function<void(std::uint64_t begin, std::uint64_t end, bool resident)>& visit) {
    if (begin >= end) return;
    const Pages all = pages_around(source.size(), begin, end);
    if (!source.in_file()) {
        visit(all.begin, all.end, source.viewable());
        return;
    }
    const auto file = source.maps_file() ? nullptr : source.file();
    const std::uint64_t page = page_size();
    std::vector<unsigned char> states(std::min(kLookedAtOnce, all.nbytes() + page - 1) / page);
    Pages run{all.begin, all.begin};
    bool run_resident = false;
    for (std::uint64_t at = all.begin; at < all.end; at += kLookedAtOnce) {
        const Pages here{at, std::min(at + kLookedAtOnce, all.end)};
        if (file) {
            const Glimpse glimpse(*file, here);
            look(glimpse.address(), here.nbytes(), source, states);
        } else {
            look(address_of(source, here.begin), here.nbytes(), source, states);
        }
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

bool is_cached(const Source& source, std::uint64_t offset) {
    const auto file = source.in_file() ? file_if_any(source) : nullptr;
    return file == nullptr || is_cached(*file, offset);
}

void tell_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                 const std::function<void(std::uint64_t begin, std::uint64_t end)>& visit) {
    try {
        for_each_absent(source, begin, end, visit);
    } catch (const FileError&) {
    } catch (const Error&) {}
}

void prefetch_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                     const std::function<void(std::uint64_t begin, std::uint64_t end)>& visit) {
    tell_absent(source, begin, end, [&](std::uint64_t first, std::uint64_t last) {
        visit(first, last);
        prefetch(source, first, last - first);
    });
}

bool is_cached(const File& file, std::uint64_t offset) noexcept {
    std::uint8_t byte = 0;
    const iovec out{&byte, 1};
    const ssize_t count =
        ::preadv2(file.descriptor(), &out, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    return count >= 0 || errno != EAGAIN;
}

std::uint64_t read_ahead_nbytes(const Source& source) {
    const auto file = source.in_file() ? file_if_any(source) : nullptr;
    struct stat status{};
    if (file == nullptr || ::fstat(file->descriptor(), &status) != 0) return 0;
    const std::string device =
        std::to_string(major(status.st_dev)) + ':' + std::to_string(minor(status.st_dev));
    // Of a disk, or of a file system that is on none; of the disk that a partition is of.
    for (const std::string& path : {"/sys/class/bdi/" + device + "/read_ahead_kb",
                                    "/sys/dev/block/" + device + "/../queue/read_ahead_kb"}) {
        if (const auto kibibytes = number_in(path)) {
            return std::min(*kibibytes, UINT64_MAX >> 10) << 10;
        }
    }
    return 0;
}

std::uint64_t resident_bytes(const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
    if (!source.in_file()) return source.viewable() ? nbytes : 0;
    const std::uint64_t end = offset + nbytes;
    std::uint64_t sum = 0;
    for_each_page_run(source, offset, end,
                      [&](std::uint64_t first, std::uint64_t last, bool resident) {
                          if (resident) sum += std::min(last, end) - std::max(first, offset);
                      });
    return sum;
}

}  // namespace onnxmap::io
