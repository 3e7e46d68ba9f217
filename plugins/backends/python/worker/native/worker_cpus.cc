/// Preloaded into a worker, which keeps off the server's first CPU until its model is initialised. Who asks how many CPUs there are, to make
/// as many threads, is told those that the worker has then, so that no pool of threads (OpenBLAS, OpenMP) stays smaller than it would be.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace {

using GetAffinity = int (*)(pthread_t, size_t, cpu_set_t*);

struct Cpus {
  cpu_set_t loading = {}, ready = {};
  bool differ = false;
  GetAffinity of_thread = nullptr;
};
constinit Cpus cpus;  // nothing may set it after begin()

/// What the kernel says. \returns bytes of its set, or -1 and errno
long read_set(pid_t thread, size_t size, cpu_set_t* set) {
  return ::syscall(SYS_sched_getaffinity, thread, size, set);
}

__attribute__((constructor)) void begin() {
  cpus.of_thread = reinterpret_cast<GetAffinity>(::dlsym(RTLD_NEXT, "pthread_getaffinity_np"));
  // The server's main thread may use what the server may.
  if (read_set(0, sizeof cpus.loading, &cpus.loading) < 0) return;
  if (read_set(::getppid(), sizeof cpus.ready, &cpus.ready) < 0) return;
  cpu_set_t both;
  CPU_AND(&both, &cpus.loading, &cpus.ready);
  cpus.differ = CPU_EQUAL(&both, &cpus.loading) && CPU_COUNT(&cpus.loading) + 1 == CPU_COUNT(&cpus.ready);
}

void show_ready(size_t size, cpu_set_t* set) {
  const size_t known = size < sizeof cpus.loading ? size : sizeof cpus.loading;
  if (cpus.differ && std::memcmp(set, &cpus.loading, known) == 0) std::memcpy(set, &cpus.ready, known);
}

}  // namespace

extern "C" {

#define ATOLL_PRELOADED __attribute__((visibility("default")))

ATOLL_PRELOADED int sched_getaffinity(pid_t thread, size_t size, cpu_set_t* set) noexcept {
  const long filled = read_set(thread, size, set);
  if (filled < 0) return -1;
  std::memset(reinterpret_cast<char*>(set) + filled, 0, size - static_cast<size_t>(filled));
  show_ready(size, set);
  return 0;
}

ATOLL_PRELOADED int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t* set) noexcept {
  if (cpus.of_thread == nullptr) return ENOSYS;
  const int failed = cpus.of_thread(thread, size, set);
  if (failed == 0) show_ready(size, set);
  return failed;
}

}  // extern "C"
