/// One line that says where a fault that ends the process came from: what the thread was doing, and which
/// plugin's code it ran. The process then ends as it would have without it, core dump included.
///
/// Fatal are an exception that nobody catches and the signals SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT,
/// unless a handler that was installed later takes them. In sanitizer builds the signals are left to the
/// sanitizer. A call of exit() by a plugin is fatal too: ExitReport.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "atoll/core/fault_notes.h"

namespace atl::runtime {

/// Of the whole process, for good. [control]
/// \param pending_lines  what is logged and not written yet, waited for a moment before the report; may be
/// null
void install_fault_report(const std::atomic<uint64_t>* pending_lines) noexcept;

/// While one exists, exit() in this process writes such a line, and the process ends with the status that exit() was
/// given. At most one exists; a process that was made by fork() writes none. [control]
class ExitReport {
 public:
  ExitReport() noexcept;
  ExitReport(const ExitReport&) = delete;
  ExitReport& operator=(const ExitReport&) = delete;
  ~ExitReport();
};

/// Where the report goes besides standard error; -1: nowhere. [any]
void set_fault_log(int descriptor) noexcept;

/// Names the mapped file that holds the address, until it is named again: also after it was unmapped, because
/// a thread that was left behind faults then. At most 256 files at a time; more are not named. [control]
void name_object(const void* address, std::string_view name) noexcept;
/// The file is unmapped now.
void forget_object(const void* address) noexcept;

/// What the calling thread does, for the report. The text must outlive the note; notes may be nested.
class ThreadNote {
 public:
  explicit ThreadNote(const char* text) noexcept;
  ThreadNote(const ThreadNote&) = delete;
  ThreadNote& operator=(const ThreadNote&) = delete;
  ~ThreadNote();

  /// The same without an object to end it; null: none. \returns what it was.
  static const char* set(const char* text) noexcept;

  /// [any] From here on each note that begins, on any thread, is written to the descriptor as a line, so that
  /// another process knows what this one was at when it ended or hung.
  static void write_to(int descriptor) noexcept;
  /// The last note that was told in what was written there; empty: none.
  static std::string last_told(std::string_view output);

 private:
  const char* const outer_;
};

/// The same notes as plugins see them. Its note() is for the calling thread only.
FaultNotes& fault_notes() noexcept;

/// A stack for signal handlers, so that a stack that has overflown is reported too. One a thread, made by
/// itself.
class SignalStack {
 public:
  SignalStack() noexcept;
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack();

 private:
  void* memory_ = nullptr;
};

/// For the second signal of an operator, which comes while the server ends: writes a line that says so, and ends the process with
/// the status 128 + `number`. Async-signal-safe.
[[noreturn]] void end_by_second_signal(int number) noexcept;

/// Waits a moment until no line is pending. Async-signal-safe.
void await_pending_lines() noexcept;

}  // namespace atl::runtime
