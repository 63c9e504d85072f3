#include "fake_page_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "source/page_cache.hpp"

namespace onnxmap::test {

namespace {

using What = FakePageCache::What;

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ
// The most that Linux reads for one request, unless the device was tuned.
constexpr std::uint64_t kMostAskedAtOnce = 128 << 10;

}  // namespace

class FakePageCache::State {
  public:
    State(const std::string& path, Kernel kernel) : kernel_(kernel) {
        struct stat status{};
        if (::stat(path.c_str(), &status) != 0) throw std::runtime_error("no file at " + path);
        device_ = status.st_dev;
        inode_ = status.st_ino;
        size_ = static_cast<std::uint64_t>(status.st_size);
        held_.resize(first_from(size_));
        mapped_.resize(first_from(size_));
    }

    [[nodiscard]] bool is(std::uint64_t device, std::uint64_t inode) const {
        return device == device_ && inode == inode_;
    }

    void request(What what, std::uint64_t begin, std::uint64_t nbytes) {
        const std::uint64_t end = begin + nbytes;
        const std::lock_guard lock(mutex_);
        requests_.push_back({what, begin, end});
        switch (what) {
            case What::asked: hold(begin, std::min(end, begin + kMostAskedAtOnce)); break;
            case What::mapped: map(begin, end); break;
            case What::released: set(mapped_, first_of(begin), first_from(end), false); break;
            case What::dropped: drop(begin, end); break;
        }
    }

    void bring(std::uint64_t begin, std::uint64_t end) {
        const std::lock_guard lock(mutex_);
        hold(begin, end);
    }
    void touch(std::uint64_t begin, std::uint64_t end) {
        const std::lock_guard lock(mutex_);
        map(begin, end);
    }

    [[nodiscard]] bool holds(std::uint64_t offset) {
        const std::lock_guard lock(mutex_);
        return offset >= size_ || held_[first_of(offset)];
    }
    [[nodiscard]] std::uint64_t held(std::uint64_t begin, std::uint64_t end) const {
        return count(held_, begin, end);
    }
    [[nodiscard]] std::uint64_t mapped(std::uint64_t begin, std::uint64_t end) const {
        return count(mapped_, begin, end);
    }
    [[nodiscard]] std::vector<bool> pages_held() const {
        const std::lock_guard lock(mutex_);
        return held_;
    }
    [[nodiscard]] std::vector<Request> requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

  private:
    using Pages = std::vector<bool>;

    [[nodiscard]] static std::size_t first_of(std::uint64_t offset) {
        return static_cast<std::size_t>(offset / os::page_size());
    }
    [[nodiscard]] static std::size_t first_from(std::uint64_t offset) {
        return first_of(offset + os::page_size() - 1);
    }

    static void set(Pages& pages, std::size_t first, std::size_t last, bool value) {
        for (std::size_t i = first; i < std::min(last, pages.size()); ++i) pages[i] = value;
    }
    [[nodiscard]] std::uint64_t count(const Pages& pages, std::uint64_t begin,
                                      std::uint64_t end) const {
        const std::lock_guard lock(mutex_);
        const auto at = [&](std::size_t i) {
            return pages.begin() + static_cast<std::ptrdiff_t>(std::min(i, pages.size()));
        };
        return static_cast<std::uint64_t>(
                   std::count(at(first_of(begin)), at(first_from(end)), true)) *
               os::page_size();
    }

    void hold(std::uint64_t begin, std::uint64_t end) {
        set(held_, first_of(begin), first_from(end), true);
    }
    void map(std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin; at < std::min(end, size_); at += os::page_size()) {
            if (held_[first_of(at)]) continue;
            hold(at - std::min(at, kernel_.before), at + os::page_size());
        }
        hold(begin, end + kernel_.after);
        set(mapped_, first_of(begin), first_from(end), true);
    }
    void drop(std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t piece = std::max(kernel_.piece, os::page_size());
        for (std::uint64_t at = (begin + piece - 1) / piece * piece; at < std::min(end, size_);
             at += piece) {
            if (end < std::min(at + piece, size_)) return;
            // Pages that a process has mapped are not dropped.
            if (count_locked(mapped_, at, at + piece) > 0) continue;
            set(held_, first_of(at), first_from(at + piece), false);
        }
    }
    [[nodiscard]] static std::size_t count_locked(const Pages& pages, std::uint64_t begin,
                                                  std::uint64_t end) {
        std::size_t sum = 0;
        for (std::size_t i = first_of(begin); i < std::min(first_from(end), pages.size()); ++i) {
            sum += pages[i] ? 1 : 0;
        }
        return sum;
    }

    std::uint64_t device_;
    std::uint64_t inode_;
    std::uint64_t size_;
    Kernel kernel_;

    mutable std::mutex mutex_;  // protects all members below
    Pages held_;
    Pages mapped_;
    std::vector<Request> requests_;
};

namespace {

using Shared = std::shared_ptr<FakePageCache::State>;

struct Registry {
    std::mutex mutex;
    std::vector<Shared> files;
};
Registry& registry() {
    static Registry one;
    return one;
}

Shared find(std::uint64_t device, std::uint64_t inode) {
    const std::lock_guard lock(registry().mutex);
    for (const Shared& file : registry().files) {
        if (file->is(device, inode)) return file;
    }
    return nullptr;
}

bool any() {
    const std::lock_guard lock(registry().mutex);
    return !registry().files.empty();
}

Shared find(int descriptor) {
    struct stat status{};
    if (!any() || ::fstat(descriptor, &status) != 0) return nullptr;
    return find(status.st_dev, status.st_ino);
}

struct InFile {
    Shared file;
    std::uint64_t offset;
};

// The mapping at an address.
std::optional<InFile> find(const void* address) {
    if (!any()) return std::nullopt;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0;
        unsigned long end = 0;
        unsigned long offset = 0;
        unsigned long inode = 0;
        unsigned major_number = 0;
        unsigned minor_number = 0;
        // NOLINTNEXTLINE(cert-err34-c)
        if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %x:%x %lu", &begin, &end, &offset,
                        &major_number, &minor_number, &inode) != 6 ||
            wanted < begin || wanted >= end) {
            continue;
        }
        Shared file = find(makedev(major_number, minor_number), inode);
        if (!file) return std::nullopt;
        return InFile{std::move(file), offset + (wanted - begin)};
    }
    return std::nullopt;
}

}  // namespace

FakePageCache::FakePageCache(const std::string& path, Kernel kernel)
    : state_(std::make_shared<State>(path, kernel)) {
    const std::lock_guard lock(registry().mutex);
    registry().files.push_back(state_);
}

FakePageCache::~FakePageCache() {
    const std::lock_guard lock(registry().mutex);
    std::erase(registry().files, state_);
}

void FakePageCache::bring(std::uint64_t begin, std::uint64_t end) { state_->bring(begin, end); }

void FakePageCache::touch(const source::Source& source, std::uint64_t begin, std::uint64_t end) {
    state_->touch(begin, end);
    for (std::uint64_t at = begin; at < end; at += os::page_size()) {
        static_cast<void>(*static_cast<const volatile std::uint8_t*>(source.data() + at));
    }
}

std::uint64_t FakePageCache::held(std::uint64_t begin, std::uint64_t end) const {
    return state_->held(begin, end);
}
std::uint64_t FakePageCache::mapped(std::uint64_t begin, std::uint64_t end) const {
    return state_->mapped(begin, end);
}
std::vector<bool> FakePageCache::pages_held() const { return state_->pages_held(); }
std::vector<FakePageCache::Request> FakePageCache::requests() const { return state_->requests(); }

std::vector<FakePageCache::Request> FakePageCache::joined(What what) const {
    std::vector<Request> found;
    for (const Request& one : requests()) {
        if (one.what != what) continue;
        if (!found.empty() && found.back().end == one.begin) {
            found.back().end = one.end;
        } else {
            found.push_back(one);
        }
    }
    return found;
}

}  // namespace onnxmap::test

// The functions of the C library, replaced for files with a fake page cache. A touched page is in
// the cache, whatever these functions return.
extern "C" {

int posix_fadvise(int descriptor, off_t offset, off_t nbytes, int advice) {
    using onnxmap::test::What;
    const bool drops = advice == POSIX_FADV_DONTNEED;
    if (drops || advice == POSIX_FADV_WILLNEED) {
        if (const auto file = onnxmap::test::find(descriptor)) {
            file->request(drops ? What::dropped : What::asked, static_cast<std::uint64_t>(offset),
                          static_cast<std::uint64_t>(nbytes));
            return 0;
        }
    }
    return ::syscall(SYS_fadvise64, descriptor, offset, nbytes, advice) == 0 ? 0 : errno;
}

int madvise(void* address, size_t nbytes, int advice) {
    using onnxmap::test::What;
    std::optional<What> what;
    if (advice == MADV_WILLNEED) what = What::asked;
    if (advice == onnxmap::test::kPopulateRead) what = What::mapped;
    if (advice == MADV_DONTNEED) what = What::released;
    const auto found = what ? onnxmap::test::find(address) : std::nullopt;
    if (found && nbytes > 0) found->file->request(*what, found->offset, nbytes);
    if (found && what == What::asked) return 0;
    return static_cast<int>(::syscall(SYS_madvise, address, nbytes, advice));
}

int mincore(void* address, size_t nbytes, unsigned char* pages) {
    const auto found = onnxmap::test::find(address);
    const std::uint64_t page = onnxmap::os::page_size();
    if (!found) {  // the kernel answers for pages of its own size
        const auto own_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        std::vector<unsigned char> own_pages((nbytes + own_page - 1) / own_page);
        if (::syscall(SYS_mincore, address, nbytes, own_pages.data()) != 0) return -1;
        for (std::uint64_t at = 0; at < nbytes; at += page) {
            pages[at / page] = own_pages[at / own_page];
        }
        return 0;
    }
    for (std::uint64_t at = 0; at < nbytes; at += page) {
        pages[at / page] = found->file->holds(found->offset + at) ? 1 : 0;
    }
    return 0;
}

ssize_t preadv2(int descriptor, const iovec* out, int count, off_t offset, int flags) {
    if ((flags & RWF_NOWAIT) != 0) {
        if (const auto file = onnxmap::test::find(descriptor)) {
            if (file->holds(static_cast<std::uint64_t>(offset))) {
                return ::preadv(descriptor, out, count, offset);
            }
            errno = EAGAIN;
            return -1;
        }
    }
    return ::syscall(SYS_preadv2, descriptor, out, count, offset, 0L, flags);
}
}
