#include "atoll/runtime/fault_report.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <typeinfo>
#include <utility>

#include "atoll/core/text.h"

namespace atl::runtime {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr const char* kSignalNames[] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"};
constexpr int kFramesMost = 64;
constexpr size_t kSignalStackBytes = 64 * 1024;
constexpr int kPendingMsMost = 200;

/// A mapped file. Written by the control thread, read by signal handlers.
struct Object {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> gone{false};
  char name[256] = {};
};

// Signal handlers reach globals only.
constinit Object objects[256];
constinit std::atomic<const std::atomic<uint64_t>*> pending{nullptr};
constinit std::atomic<int> log_descriptor{-1};
constinit std::atomic<pid_t> exit_is_fatal_in{0};
constinit thread_local const char* note = nullptr;
std::atomic<int> told{-1};
constexpr std::string_view kToldPrefix = "atoll-note: ";
enum class Stage { kNone, kReporting, kReported };
constinit thread_local Stage stage = Stage::kNone;

/// A line in memory of its own. Async-signal-safe.
class Line {
 public:
  Line& add(std::string_view text) noexcept {
    const size_t size = std::min(text.size(), sizeof text_ - 1 - size_);
    std::memcpy(text_ + size_, text.data(), size);
    size_ += size;
    return *this;
  }
  Line& add_hex(uintptr_t value) noexcept {
    char digits[2 + 2 * sizeof value] = {'0', 'x'};
    size_t count = 2;
    for (int shift = 8 * sizeof value - 4; shift >= 0; shift -= 4) {
      const uintptr_t digit = value >> shift & 15;
      if (count > 2 || digit != 0 || shift == 0) digits[count++] = "0123456789abcdef"[digit];
    }
    return add({digits, count});
  }
  void write() noexcept {
    text_[size_++] = '\n';
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text_, size_);
    if (const int log = log_descriptor.load(); log >= 0) written = ::write(log, text_, size_);
  }

 private:
  char text_[1024];
  size_t size_ = 0;
};

const Object* object_at(uintptr_t address) noexcept {
  const Object* gone = nullptr;
  for (const Object& object : objects) {
    if (address < object.begin.load() || address >= object.end.load()) continue;
    if (!object.gone.load()) return &object;
    gone = &object;
  }
  return gone;
}

/// The innermost frame of a named file. \param at  where the fault was; 0: here
const Object* culprit(uintptr_t at) noexcept {
  if (const Object* object = at == 0 ? nullptr : object_at(at)) return object;
  void* frames[kFramesMost];
  const int count = ::backtrace(frames, kFramesMost);
  for (int i = 0; i < count; ++i) {
    // A return address; the call itself is before it.
    const Object* object = object_at(reinterpret_cast<uintptr_t>(frames[i]) - 1);
    if (object != nullptr) return object;
  }
  return nullptr;
}

void add_name(Line& line, const Object& object) noexcept {
  line.add(object.name);
  if (object.gone.load()) line.add(", which has been unloaded");
}

/// \param touched  the address that could not be; 0: none
void add_where(Line& line, uintptr_t at, uintptr_t touched) noexcept {
  char thread[17] = {};
  ::prctl(PR_GET_NAME, thread);
  line.add(" in thread '").add(thread).add("'");
  if (note != nullptr) line.add(", while ").add(note);
  const Object* object = culprit(at);
  if (object != nullptr) return add_name(line.add(", in the code of "), *object);
  line.add(", in no plugin's code");
  // A thread that a plugin has left behind may begin, or wait, in a library's code, which faults when it touches the plugin's memory.
  const Object* memory = touched == 0 ? nullptr : object_at(touched);
  if (memory != nullptr) add_name(line.add(", at memory of "), *memory);
}

uintptr_t program_counter(void* context) noexcept {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(machine.pc);
#else
  return 0;
#endif
}

void report_signal(int number, const siginfo_t& info, void* context) noexcept {
  Line line;
  line.add("atoll: fatal: ")
      .add(kSignalNames[std::find(std::begin(kSignals), std::end(kSignals), number) - kSignals]);
  if (stage == Stage::kReporting) {
    line.add(" again while this was being reported: the stack is damaged").write();
    return;
  }
  stage = Stage::kReporting;
  await_pending_lines();
  // A positive code comes from the processor.
  const uintptr_t address = info.si_code > 0 ? reinterpret_cast<uintptr_t>(info.si_addr) : 0;
  if (info.si_code > 0) line.add(" at address ").add_hex(address);
  add_where(line, program_counter(context), address);
  line.write();
}

void on_signal(int number, siginfo_t* info, void* context) noexcept {
  const int saved_errno = errno;
  if (stage != Stage::kReported) report_signal(number, *info, context);
  stage = Stage::kReported;
  for (int fatal : kSignals) ::signal(fatal, SIG_DFL);
  errno = saved_errno;
  // What the processor raised comes again by itself when this returns.
  if (info->si_code <= 0) ::raise(number);
}

[[noreturn]] void on_terminate() noexcept {
  stage = Stage::kReporting;
  await_pending_lines();
  Line line;
  line.add("atoll: fatal: ");
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    int status = 0;
    char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    line.add("an exception that nobody caught, ").add(status == 0 ? readable : type->name());
    try {
      std::rethrow_exception(std::current_exception());
    } catch (const std::exception& error) {
      line.add(": ").add(error.what());
    } catch (...) {
    }
  } else {
    line.add("std::terminate without an exception (a thread that was not joined?)");
  }
  add_where(line, 0, 0);
  line.write();
  stage = Stage::kReported;
  std::abort();
}

void on_exit_call(int status, void*) noexcept {
  if (exit_is_fatal_in.load() != ::getpid()) return;
  await_pending_lines();
  Line line;
  line.add("atoll: fatal: exit(").add(cat(status)).add(") was called");
  add_where(line, 0, 0);
  line.write();
}

struct Range {
  uintptr_t address, begin, end;
};

int find_range(dl_phdr_info* info, size_t, void* context) {
  auto& range = *static_cast<Range*>(context);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min<uintptr_t>(begin, info->dlpi_addr + segment.p_vaddr);
    end = std::max<uintptr_t>(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (range.address < begin || range.address >= end) return 0;
  range.begin = begin;
  range.end = end;
  return 1;
}

/// For a new name: one that was never used, else one whose file is gone.
Object* free_object() noexcept {
  Object* gone = nullptr;
  for (Object& object : objects) {
    if (object.end.load() == 0) return &object;
    if (object.gone.load()) gone = &object;
  }
  return gone;
}

}  // namespace

void install_fault_report(const std::atomic<uint64_t>* pending_lines) noexcept {
  pending.store(pending_lines);
  std::set_terminate(&on_terminate);
  if (kSanitized) return;
  void* frames[1];
  ::backtrace(frames, 1);  // the first call loads a library, which a handler must not
  for (int number : kSignals) {
    struct sigaction action {};
    action.sa_sigaction = &on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // a fault in the handler is told too
    sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
  }
}

ExitReport::ExitReport() noexcept {
  static const int registered = ::on_exit(&on_exit_call, nullptr);
  if (registered == 0) exit_is_fatal_in.store(::getpid());
}
ExitReport::~ExitReport() { exit_is_fatal_in.store(0); }

void set_fault_log(int descriptor) noexcept { log_descriptor.store(descriptor); }

void name_object(const void* address, std::string_view name) noexcept {
  Range range{reinterpret_cast<uintptr_t>(address), 0, 0};
  Object* object = free_object();
  if (object == nullptr || ::dl_iterate_phdr(&find_range, &range) == 0) return;
  object->end.store(0);
  const size_t size = std::min(name.size(), sizeof object->name - 1);
  std::memcpy(object->name, name.data(), size);
  object->name[size] = '\0';
  object->begin.store(range.begin);
  object->gone.store(false);
  object->end.store(range.end);
}

void forget_object(const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (Object& object : objects) {
    if (at >= object.begin.load() && at < object.end.load()) object.gone.store(true);
  }
}

FaultNotes& fault_notes() noexcept {
  struct Notes final : FaultNotes {
    const char*& note() noexcept override { return runtime::note; }
  };
  static constinit Notes notes;
  return notes;
}

ThreadNote::ThreadNote(const char* text) noexcept : outer_(set(text)) {
  const int fd = told.load(std::memory_order_relaxed);
  if (fd < 0 || text == nullptr) return;
  const std::string line = cat(kToldPrefix, text, "\n");
  [[maybe_unused]] const ssize_t written = ::write(fd, line.data(), line.size());
}
ThreadNote::~ThreadNote() { set(outer_); }
void ThreadNote::write_to(int descriptor) noexcept { told.store(descriptor); }
std::string ThreadNote::last_told(std::string_view output) {
  const size_t at = output.rfind(kToldPrefix);
  if (at == std::string_view::npos) return {};
  output.remove_prefix(at + kToldPrefix.size());
  return std::string(output.substr(0, output.find('\n')));
}
const char* ThreadNote::set(const char* text) noexcept { return std::exchange(note, text); }

SignalStack::SignalStack() noexcept {
  if (kSanitized) return;  // a sanitizer has its own
  memory_ = ::mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) memory_ = nullptr;
  stack_t stack{};
  stack.ss_sp = memory_;
  stack.ss_size = kSignalStackBytes;
  if (memory_ != nullptr) ::sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  ::munmap(memory_, kSignalStackBytes);
}

void end_by_second_signal(int number) noexcept {
  await_pending_lines();
  Line line;
  line.add("atoll: ended at once, without the rest of its work: ")
      .add(number == SIGINT ? "SIGINT" : "SIGTERM")
      .add(" came while the server was ending");
  line.write();
  _exit(128 + number);
}

void await_pending_lines() noexcept {
  const std::atomic<uint64_t>* lines = pending.load();
  for (int waited_ms = 0; lines != nullptr && lines->load() != 0 && waited_ms < kPendingMsMost;
       waited_ms += 5) {
    ::poll(nullptr, 0, 5);
  }
}

}  // namespace atl::runtime
