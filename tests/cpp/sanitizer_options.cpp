// The sanitizers end the process by themselves where a signal would. Here SIGBUS is part of what is
// tested: it shall reach our handler, or end the process as it does without them.

extern "C" {
[[gnu::used]] const char* __asan_default_options() { return "handle_sigbus=0"; }
[[gnu::used]] const char* __tsan_default_options() { return "handle_sigbus=0"; }
}
