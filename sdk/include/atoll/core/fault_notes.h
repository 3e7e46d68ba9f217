/// What a thread does, for the line that the server ends with when a fault ends it. Service
/// "atoll.fault_notes/1", provided by the kernel.
#pragma once

#include <string_view>
#include <utility>

namespace atl {

/// [any]
class FaultNotes {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.fault_notes/1";

  /// What the calling thread does, as it follows after "while"; null: nothing that anybody noted. It may be
  /// read at any moment, by a signal handler too, so the text must be valid until another one or null is
  /// there.
  virtual const char*& note() noexcept = 0;

 protected:
  ~FaultNotes() = default;
};

/// A note for as long as it is in scope; the one before it comes back then. Costs a call and two stores.
class FaultNote {
 public:
  /// \param notes  null: nothing is noted
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
