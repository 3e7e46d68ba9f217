/// What a thread is doing, for the line that the server writes when a fault ends it: "atoll: fatal:
/// SIGSEGV at address 0x8 in thread 'm_0', while executing a batch of model 'm' version 1 on
/// instance 'm_0', in the code of ...". An operator then knows which model or plugin to look at.
/// Service "atoll.fault_notes/1", provided by the kernel.
///
///     const std::string doing = cat("checking model '", name, "'");
///     FaultNote note(notes, doing.c_str());                  // notes may be null
///     call_what_may_crash();
#pragma once

#include <string_view>
#include <utility>

namespace atl {

/// The notes of all threads, one text per thread. The kernel itself notes which function of which
/// plugin it calls, and the catalog which model it loads, asks or executes. [any]
class FaultNotes {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.fault_notes/1";

  /// The text of the calling thread, as it follows after "while". Null means that nobody noted
  /// anything. A signal handler may read the text at any moment, so it must be valid until another
  /// text or null has replaced it. A caller may keep the reference and write through it on the same
  /// thread, as FaultNote does.
  virtual const char*& note() noexcept = 0;

 protected:
  ~FaultNotes() = default;
};

/// Sets the calling thread's note for as long as this object is in scope, and then restores the
/// note that was there before. It costs one virtual call and two stores, so it may stand on the
/// request path. Must end on the thread that made it. [any]
class FaultNote {
 public:
  /// \param notes  null: nothing is noted, and the object costs one comparison
  /// \param text  borrowed; has to outlive this object, so a text that is made for the purpose is
  /// made once and kept, where requests pass
  FaultNote(FaultNotes* notes, const char* text) noexcept
      : note_(notes == nullptr ? nullptr : &notes->note()) {
    if (note_ != nullptr) outer_ = std::exchange(*note_, text);
  }
  FaultNote(const FaultNote&) = delete;
  FaultNote& operator=(const FaultNote&) = delete;
  ~FaultNote() {
    if (note_ != nullptr) *note_ = outer_;
  }

 private:
  const char** note_;
  const char* outer_ = nullptr;
};

}  // namespace atl
