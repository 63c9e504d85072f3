#include "io/fork_safe_mutex.hpp"

#include <pthread.h>

#include <vector>

namespace onnxmap::io {

namespace {

struct All {
    std::mutex mutex;  // of the list
    std::vector<ForkSafeMutex*> list;
};

All& all() {
    static auto* const shared = new All;
    return *shared;
}

void lock_all() {
    all().mutex.lock();
    for (ForkSafeMutex* each : all().list) each->lock();
}

void unlock_all() {
    for (ForkSafeMutex* each : all().list) each->unlock();
    all().mutex.unlock();
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
    static const int installed = ::pthread_atfork(lock_all, unlock_all, unlock_all);
    static_cast<void>(installed);
    const std::lock_guard lock(all().mutex);
    all().list.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
    const std::lock_guard lock(all().mutex);
    std::erase(all().list, this);
}

}  // namespace onnxmap::io
