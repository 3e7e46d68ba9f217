/// Status and Result: how every Atoll interface reports failure.
///
/// A Status is one word. Zero is success, so the good path costs one compare and no memory. A failure owns
/// its code, the message, the plugin instance it came from and a chain of notes added on the way up. Messages
/// say subject, found and expected. Exceptions never cross an interface; all of this is noexcept and safe to
/// hand from plugin to plugin, because a failure holds plain data only and outlives the code that made it.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "atoll/core/text.h"

struct atoll_status;  // the same word as seen by the C descriptor (abi/plugin.h)

namespace atl {

/// gRPC's codes, with gRPC's numbers: what a client sees, over gRPC as it is, over HTTP as the status that
/// the frontend maps it to.
enum class Code : uint32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// "INVALID_ARGUMENT"; "UNKNOWN" for a number that is no code.
constexpr std::string_view code_name(Code code) noexcept {
  constexpr std::string_view kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  auto index = static_cast<uint32_t>(code);
  return index < 17 ? kNames[index] : "UNKNOWN";
}

/// The outcome of a call. Move-only, one word; a moved-from status is success. Not for two threads at a time,
/// but it may be made on one and looked at on another. Making a failure allocates, success never does.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  /// A failure.
  /// \param code     with kOk the status is success and the message is dropped
  /// \param message  as clients get it: subject, found and expected; where in the server it was found goes
  ///                 into a note
  Status(Code code, std::string message) noexcept {
    if (code != Code::kOk) rep_ = new Rep{code, std::move(message), {}, {}};
  }
  Status(Status&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    if (this != &other) {
      delete rep_;
      rep_ = std::exchange(other.rep_, nullptr);
    }
    return *this;
  }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  ~Status() { delete rep_; }

  bool ok() const noexcept { return rep_ == nullptr; }
  Code code() const noexcept { return rep_ == nullptr ? Code::kOk : rep_->code; }
  /// The message alone, as clients get it. Empty for success. Borrowed from this object.
  std::string_view message() const noexcept { return rep_ == nullptr ? std::string_view{} : rep_->message; }
  /// The plugin instance that failed, if noted. Borrowed from this object.
  std::string_view origin() const noexcept { return rep_ == nullptr ? std::string_view{} : rep_->origin; }

  /// Who failed. The first one to say it is kept; nothing for success.
  /// \param instance  name of the plugin instance; copied
  Status& set_origin(std::string_view instance) & noexcept {
    if (rep_ != nullptr && rep_->origin.empty()) rep_->origin = instance;
    return *this;
  }
  /// Adds what was being done: text() then reads "<newest note>: <older note>: <message>". Nothing for
  /// success.
  Status& note(std::string_view what) & noexcept {
    if (rep_ != nullptr) rep_->notes.insert(0, cat(what, ": "));
    return *this;
  }
  Status&& note(std::string_view what) && noexcept { return std::move(note(what)); }
  /// Notes and message on one line, for logs and operators. "OK" for success.
  std::string text() const { return rep_ == nullptr ? "OK" : rep_->notes + rep_->message; }

  /// A copy, which allocates: for a failure that several get, such as the requests of a batch.
  Status clone() const {
    Status copy;
    if (rep_ != nullptr) copy.rep_ = new Rep(*rep_);
    return copy;
  }

  /// Gives the failure away across the C boundary; null for success.
  atoll_status* release() noexcept { return reinterpret_cast<atoll_status*>(std::exchange(rep_, nullptr)); }
  /// Takes over what release() gave, once.
  static Status take(atoll_status* raw) noexcept {
    Status status;
    status.rep_ = reinterpret_cast<Rep*>(raw);
    return status;
  }

 private:
  struct Rep {
    Code code;
    std::string message;
    std::string origin;
    std::string notes;
  };
  Rep* rep_ = nullptr;
};
static_assert(sizeof(Status) == sizeof(void*));

/// A failure whose message is made of the parts, as cat() (text.h) does it. The functions below: the same,
/// for the codes that are used most.
template <class... Parts>
Status make_status(Code code, const Parts&... parts) {
  return Status(code, cat(parts...));
}
template <class... Parts>
Status invalid_argument(const Parts&... parts) {
  return make_status(Code::kInvalidArgument, parts...);
}
template <class... Parts>
Status not_found(const Parts&... parts) {
  return make_status(Code::kNotFound, parts...);
}
template <class... Parts>
Status unavailable(const Parts&... parts) {
  return make_status(Code::kUnavailable, parts...);
}
template <class... Parts>
Status internal_error(const Parts&... parts) {
  return make_status(Code::kInternal, parts...);
}
template <class... Parts>
Status unimplemented(const Parts&... parts) {
  return make_status(Code::kUnimplemented, parts...);
}

/// A value or the failure to make one; never holds both. T must be movable. Threads: as Status, and as T.
template <class T>
class [[nodiscard]] Result {
 public:
  /// Success. Implicit, so that a function returns its value as it is.
  Result(T value) noexcept : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  /// From what converts to T: a unique_ptr of a derived class makes a Result of a unique_ptr of its base.
  template <class Other>
  requires(std::is_convertible_v<Other&&, T> && !std::is_convertible_v<Other&&, Status> &&
           !std::is_same_v<std::remove_cvref_t<Other>, T> &&
           !std::is_same_v<std::remove_cvref_t<Other>, Result>) Result(Other&& value)
  noexcept : value_(std::in_place, std::forward<Other>(value)) {}  // NOLINT(google-explicit-constructor)
  /// A failure; made from a successful Status it is one, too, INTERNAL: a function has forgotten its value.
  Result(Status failure) noexcept : status_(std::move(failure)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) status_ = Status(Code::kInternal, "a Result was made from a successful Status");
  }
  bool ok() const noexcept { return status_.ok(); }
  const Status& status() const& noexcept { return status_; }
  Status status() && noexcept { return std::move(status_); }
  /// This and what follows only when ok(): nothing checks it. The value can be taken once.
  T& value() & noexcept { return *value_; }
  const T& value() const& noexcept { return *value_; }
  T value() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  T& operator*() & noexcept { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

/// Returns the failure from the enclosing function, whose result is a Status or a Result; goes on if there is
/// none. The expression is evaluated once.
#define ATOLL_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                         \
    if (::atl::Status atoll_status_ = (expression); !atoll_status_.ok()) return atoll_status_; \
  } while (false)

}  // namespace atl
