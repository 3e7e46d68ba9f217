#include "memory/shared/bus_error_guard.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace atl::memory {
namespace {

static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

constinit BusErrorGuard::Watch watches[BusErrorGuard::kWatches];
constinit std::atomic<uint32_t> watches_used{0};  // no watch from here on has ever been taken
constinit std::atomic<uint32_t> first_guess{0};   // a watch that is likely to be free
constinit uint32_t installs = 0;                  // [control]
constinit bool in_chain = false;                  // [control] the handler is the process's or leads to it
struct sigaction previous = {};                   // what was there before; written only while not in_chain
constinit uintptr_t page_size = 0;

void give_to_previous(int number, siginfo_t* info, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(number, info, context);
    return;
  }
  // A fault that is ignored would be raised for ever; the system does not let it be ignored either.
  const bool fault = info->si_code > 0;
  if (previous.sa_handler == SIG_IGN && !fault) return;
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
    return;
  }
  struct sigaction default_action = {};
  default_action.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &default_action, nullptr);
  raise(SIGBUS);  // blocked in here; it ends the process on return
}

}  // namespace

struct BusErrorHandler {
  /// Async-signal-safe.
  static void handle(int number, siginfo_t* info, void* context) noexcept {
    const int saved_errno = errno;
    // A positive code comes from the processor; anybody may send the signal with an address of their choice.
    if (info->si_code <= 0 || !repair(reinterpret_cast<uintptr_t>(info->si_addr))) {
      give_to_previous(number, info, context);
    }
    errno = saved_errno;
  }

 private:
  static bool repair(uintptr_t address) noexcept {
    const uint32_t used = watches_used.load();
    for (uint32_t i = 0; i < used; ++i) {
      uintptr_t end = 0;
      if (!watches[i].holds(address, &end)) continue;
      // First, so that nobody who reads zeros can find the mapping unbroken.
      watches[i].broken_.store(true);
      const uintptr_t page = address & ~(page_size - 1);
      // The bare system call, because a sanitizer's mmap does more than a signal handler may.
      long mapped = syscall(SYS_mmap, page, end - page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0L);
      return mapped == static_cast<long>(page);
    }
    return false;
  }
};

bool BusErrorGuard::Watch::holds(uintptr_t address, uintptr_t* end) const noexcept {
  // A watch that is being changed is not the one: whoever faults keeps its mapping watched.
  const uint32_t changes = changes_.load();
  if (changes % 2 != 0) return false;
  const uintptr_t begin = begin_.load();
  *end = end_.load();
  return changes_.load() == changes && begin <= address && address < *end;
}

Status BusErrorGuard::install() noexcept {
  if (installs++ != 0 || in_chain) return {};
  page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = &BusErrorHandler::handle;
  // On the thread's own signal stack if it has one; a second fault on the way is the default's business.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, nullptr, &previous) != 0 || sigaction(SIGBUS, &action, nullptr) != 0) {
    --installs;
    return internal_error("the handler for SIGBUS, which guards shared memory, is refused: ",
                          strerror(errno));
  }
  in_chain = true;
  return {};
}

void BusErrorGuard::uninstall() noexcept {
  if (installs == 0 || --installs != 0 || !in_chain) return;
  struct sigaction current = {};
  sigaction(SIGBUS, nullptr, &current);
  if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == &BusErrorHandler::handle) {
    sigaction(SIGBUS, &previous, nullptr);
    in_chain = false;
    return;
  }
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&BusErrorHandler::handle), &self) != 0) {
    (void)dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

BusErrorGuard::Watch* BusErrorGuard::watch(void* begin, size_t size_bytes) noexcept {
  const uint32_t first = first_guess.load();
  for (uint32_t step = 0; step < kWatches; ++step) {
    const uint32_t i = (first + step) % kWatches;
    Watch& watch = watches[i];
    if (watch.taken_.load() || watch.taken_.exchange(true)) continue;
    first_guess.store((i + 1) % kWatches);
    watch.changes_.fetch_add(1);
    watch.broken_.store(false);
    watch.begin_.store(reinterpret_cast<uintptr_t>(begin));
    watch.end_.store(reinterpret_cast<uintptr_t>(begin) + size_bytes);
    watch.changes_.fetch_add(1);
    uint32_t used = watches_used.load();
    while (used <= i && !watches_used.compare_exchange_weak(used, i + 1)) {
    }
    return &watch;
  }
  return nullptr;
}

void BusErrorGuard::forget(Watch* watch) noexcept {
  watch->changes_.fetch_add(1);
  watch->begin_.store(0);
  watch->end_.store(0);
  watch->changes_.fetch_add(1);
  watch->taken_.store(false);
  first_guess.store(static_cast<uint32_t>(watch - watches));
}

bool BusErrorGuard::broken(const Watch* watch) noexcept { return watch->broken_.load(); }

}  // namespace atl::memory
