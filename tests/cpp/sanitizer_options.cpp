// By default the sanitizers handle signals and end the process themselves. These tests need SIGBUS
// to reach our handler, or to end the process as it does without sanitizers.

extern "C" {
[[gnu::used]] const char* __asan_default_options() { return "handle_sigbus=0"; }
[[gnu::used]] const char* __tsan_default_options() { return "handle_sigbus=0"; }
}
