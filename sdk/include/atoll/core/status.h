/// Status and Result: how every Atoll interface reports failure.
///
///     Result<Shape> read_shape(std::string_view text) {
///       if (text.empty()) return invalid_argument("the shape: found nothing, expected [d,d,...]");
///       return Shape(...);                                    // a value becomes a Result by itself
///     }
///
///     Status load(std::string_view text) {
///       Result<Shape> shape = read_shape(text);
///       if (!shape.ok()) return std::move(shape).status().note("loading the model");
///       ATOLL_RETURN_IF_ERROR(check(*shape));
///       return {};                                            // success
///     }
///
/// A Status is one word. Zero is success, so the good path costs one comparison and no memory. A
/// failure owns its code, its message, the name of the plugin instance that it came from, and notes
/// that were added on the way up. A message says subject, found and expected: "input 'x': found 3
/// dimensions, expected 2".
///
/// Exceptions never cross an interface. A failure may be handed from plugin to plugin: it holds
/// plain data only, and outlives the code that made it.
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

/// The kinds of failure: gRPC's codes, with gRPC's numbers. A client sees them, over gRPC as they
/// are, and over HTTP as the status that the frontend maps them to.
enum class Code : uint32_t {
  /// Success.
  kOk = 0,
  /// Whoever asked does not want the answer any more.
  kCancelled = 1,
  /// A failure of foreign code that says no more.
  kUnknown = 2,
  /// The request or the option is wrong, whatever state the server is in.
  kInvalidArgument = 3,
  /// It was not done in time.
  kDeadlineExceeded = 4,
  /// There is no model, version, file, service or lease of that name.
  kNotFound = 5,
  /// There is one of that name, and there can be no second.
  kAlreadyExists = 6,
  /// The caller is known, and may not do this.
  kPermissionDenied = 7,
  /// A limit is reached: memory, a quota, the length of a queue.
  kResourceExhausted = 8,
  /// The request is right, but not in the present state, which somebody has to change first.
  kFailedPrecondition = 9,
  /// Something else came in between; the caller may begin again.
  kAborted = 10,
  /// A number or a place lies beyond what is there.
  kOutOfRange = 11,
  /// This server, plugin or model does not do that.
  kUnimplemented = 12,
  /// A defect, of the server, a plugin, a model or a device.
  kInternal = 13,
  /// Not now: what is needed is not ready, has gone, or the server is ending. Trying again may
  /// help.
  kUnavailable = 14,
  /// Stored data is damaged.
  kDataLoss = 15,
  /// It is not known who the caller is.
  kUnauthenticated = 16,
};

/// The name that gRPC's documentation has: "INVALID_ARGUMENT". "UNKNOWN" for a number that is no
/// code.
constexpr std::string_view code_name(Code code) noexcept {
  constexpr std::string_view kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  auto index = static_cast<uint32_t>(code);
  return index < 17 ? kNames[index] : "UNKNOWN";
}

/// The outcome of a call. Move-only, one word; a moved-from status is success. A status may be made
/// on one thread and looked at on another, but is not for two threads at a time. Making a failure
/// allocates, success never does.
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() noexcept = default;
  /// A failure. The functions below, such as invalid_argument(), join a message of several parts.
  /// \param code  with kOk the status is success and the message is dropped
  /// \param message  as clients get it: subject, found and expected. Where in the server the failure
  /// was met is added by note()
  Status(Code code, std::string message) noexcept {
    if (code != Code::kOk) rep_ = new Rep{code, std::move(message), {}, {}};
  }
  /// The other one is success afterwards.
  Status(Status&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    if (this != &other) {
      delete rep_;
      rep_ = std::exchange(other.rep_, nullptr);
    }
    return *this;
  }
  /// A copy would allocate, so it has to be asked for: clone().
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  ~Status() { delete rep_; }

  /// Whether the call succeeded.
  bool ok() const noexcept { return rep_ == nullptr; }
  /// kOk for success.
  Code code() const noexcept { return rep_ == nullptr ? Code::kOk : rep_->code; }
  /// The message alone, as clients get it. Empty for success. Borrowed from this object.
  std::string_view message() const noexcept { return rep_ == nullptr ? std::string_view{} : rep_->message; }
  /// The name of the plugin instance that failed; empty if nobody said. Borrowed from this object.
  std::string_view origin() const noexcept { return rep_ == nullptr ? std::string_view{} : rep_->origin; }

  /// Says who failed. The first to say so is kept; for success this does nothing.
  /// \param instance  name of the plugin instance; copied
  Status& set_origin(std::string_view instance) & noexcept {
    if (rep_ != nullptr && rep_->origin.empty()) rep_->origin = instance;
    return *this;
  }
  /// Adds what was being done when the failure was met, for operators: text() then reads "<newest
  /// note>: <older note>: <message>". For success this does nothing.
  Status& note(std::string_view what) & noexcept {
    if (rep_ != nullptr) rep_->notes.insert(0, cat(what, ": "));
    return *this;
  }
  Status&& note(std::string_view what) && noexcept { return std::move(note(what)); }
  /// Notes and message on one line, for logs and operators. "OK" for success.
  std::string text() const { return rep_ == nullptr ? "OK" : rep_->notes + rep_->message; }

  /// A copy, which allocates for a failure. For a failure that several get, such as the requests of
  /// a batch.
  Status clone() const {
    Status copy;
    if (rep_ != nullptr) copy.rep_ = new Rep(*rep_);
    return copy;
  }

  /// Gives the failure away across the C boundary (abi/plugin.h), where the receiver owns it. Null
  /// for success.
  atoll_status* release() noexcept { return reinterpret_cast<atoll_status*>(std::exchange(rep_, nullptr)); }
  /// Takes over what release() gave, once.
  static Status take(atoll_status* raw) noexcept {
    Status status;
    status.rep_ = reinterpret_cast<Rep*>(raw);
    return status;
  }

 private:
  /// What a failure owns.
  struct Rep {
    Code code;
    /// See message().
    std::string message;
    /// See origin(); empty: nobody said.
    std::string origin;
    /// "<newest note>: <older note>: ", or empty.
    std::string notes;
  };
  /// Null for success.
  Rep* rep_ = nullptr;
};
static_assert(sizeof(Status) == sizeof(void*));

/// A failure whose message is joined of the parts, as cat() (text.h) does it. The functions below
/// do the same for the codes that are used most.
template <class... Parts>
Status make_status(Code code, const Parts&... parts) {
  return Status(code, cat(parts...));
}
/// INVALID_ARGUMENT: the caller has to ask for something else.
template <class... Parts>
Status invalid_argument(const Parts&... parts) {
  return make_status(Code::kInvalidArgument, parts...);
}
/// NOT_FOUND: there is nothing of the name that was asked for.
template <class... Parts>
Status not_found(const Parts&... parts) {
  return make_status(Code::kNotFound, parts...);
}
/// UNAVAILABLE: not now; the same call may succeed later.
template <class... Parts>
Status unavailable(const Parts&... parts) {
  return make_status(Code::kUnavailable, parts...);
}
/// INTERNAL: something is broken that the caller cannot mend.
template <class... Parts>
Status internal_error(const Parts&... parts) {
  return make_status(Code::kInternal, parts...);
}
/// UNIMPLEMENTED: this server or plugin does not do that.
template <class... Parts>
Status unimplemented(const Parts&... parts) {
  return make_status(Code::kUnimplemented, parts...);
}

/// A value, or the failure to make one; never both. T must be movable. Threads: as for Status, and
/// as for T.
template <class T>
class [[nodiscard]] Result {
 public:
  /// Success. The conversion is implicit, so that a function returns its value as it is.
  Result(T value) noexcept : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  /// Success, from something that converts to T: a unique_ptr of a derived class makes a Result of
  /// a unique_ptr of its base.
  template <class Other>
  requires(std::is_convertible_v<Other&&, T> && !std::is_convertible_v<Other&&, Status> &&
           !std::is_same_v<std::remove_cvref_t<Other>, T> &&
           !std::is_same_v<std::remove_cvref_t<Other>, Result>) Result(Other&& value)
  noexcept : value_(std::in_place, std::forward<Other>(value)) {}  // NOLINT(google-explicit-constructor)
  /// A failure. A successful Status makes a failure, too, of the code INTERNAL: a function has
  /// forgotten its value.
  Result(Status failure) noexcept : status_(std::move(failure)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) status_ = Status(Code::kInternal, "a Result was made from a successful Status");
  }
  /// Whether there is a value.
  bool ok() const noexcept { return status_.ok(); }
  /// Success if there is a value, else why there is none.
  const Status& status() const& noexcept { return status_; }
  /// The failure itself, for who passes it on: return std::move(result).status().
  Status status() && noexcept { return std::move(status_); }
  /// This and what follows only when ok(): nothing checks that. The value can be taken once, by
  /// std::move(result).value().
  T& value() & noexcept { return *value_; }
  const T& value() const& noexcept { return *value_; }
  T value() && noexcept { return std::move(*value_); }
  /// The value's members, and the value itself.
  T* operator->() noexcept { return &*value_; }
  T& operator*() & noexcept { return *value_; }

 private:
  /// Nothing in a failure.
  std::optional<T> value_;
  /// Success where there is a value.
  Status status_;
};

/// Returns the failure from the enclosing function, whose result is a Status or a Result; goes on
/// if there is none. The expression is evaluated once.
#define ATOLL_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                         \
    if (::atl::Status atoll_status_ = (expression); !atoll_status_.ok()) return atoll_status_; \
  } while (false)

}  // namespace atl
