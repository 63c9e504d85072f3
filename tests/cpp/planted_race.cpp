// Writes one variable from two threads. ThreadSanitizer must say so; see CMakeLists.txt.
#include <cstdio>
#include <thread>

int main() {
    int shared = 0;
    std::thread other([&] { shared = 1; });
    shared = 2;
    other.join();
    std::printf("it is %d, and nobody noticed\n", shared);
    return 1;
}
