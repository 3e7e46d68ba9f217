/// One flag of the command line: its words in --help, and what it means for the manifest.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "launch_options.h"

namespace atl::tritonserver {

/// In the order of --help.
enum class Group : uint32_t {
  kServer,
  kLogging,
  kRepository,
  kHttp,
  kGrpc,
  kSagemaker,
  kVertex,
  kMetrics,
  kTracing,
  kBackend,
  kAgent,
  kCache,
  kRateLimiter,
  kMemory,
  kSharedMemory,
  kDeprecated,
};
inline constexpr uint32_t kGroupCount = 16;

/// A flag as it was used.
struct FlagUse {
  std::string name;  ///< "http-port"; a reader may make it more precise for the message: "trace-config level"
  std::string_view value;
  LaunchOptions& options;
};
/// Reads a value. Errors: INVALID_ARGUMENT what is wrong with it, without the flag's name.
using Reader = Status (*)(FlagUse& use);

/// What the values of a flag look like.
enum class ValueType : uint32_t { kText, kBool, kInteger, kBytes, kNumber, kSeconds, kMilliseconds, kPair };

/// What becomes of a flag.
struct FlagEffect {
  enum class Kind : uint32_t {
    kKey,       ///< sets `key`
    kOwn,       ///< `read` does it; `key` says where to, for --help
    kNothing,   ///< is checked and has no effect, for the reason `why`
    kRefused,   ///< is checked and refused, for the reason `why`
    kMustBeOff  ///< true is refused, for the reason `why`; false is what Atoll does
  };
  Kind kind = Kind::kOwn;
  ValueType type = ValueType::kText;
  std::string_view key = {};
  std::string_view why = {};
  int64_t minimum = 0;  ///< of kInteger, kBytes, kSeconds and kMilliseconds
  int64_t maximum = 0;
  Reader read = nullptr;
};

inline constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

constexpr FlagEffect sets(std::string_view key, ValueType type, int64_t minimum = 0, int64_t maximum = 0) {
  return {.kind = FlagEffect::Kind::kKey, .type = type, .key = key, .minimum = minimum, .maximum = maximum};
}
/// \param keys  for --help.
constexpr FlagEffect read_by(Reader read, std::string_view keys) {
  return {.kind = FlagEffect::Kind::kOwn, .key = keys, .read = read};
}
constexpr FlagEffect has_no_effect(ValueType type, std::string_view why) {
  return {.kind = FlagEffect::Kind::kNothing, .type = type, .why = why};
}
/// \param check  looks at the value first; may be null.
constexpr FlagEffect refused(std::string_view why, ValueType type = ValueType::kText,
                             Reader check = nullptr) {
  return {.kind = FlagEffect::Kind::kRefused, .type = type, .why = why, .read = check};
}
constexpr FlagEffect must_be_off(std::string_view why) {
  return {.kind = FlagEffect::Kind::kMustBeOff, .type = ValueType::kBool, .why = why};
}

struct Flag {
  Group group = Group::kServer;
  std::string_view name;   ///< without the dashes
  std::string_view value;  ///< "<integer>"; empty: the flag takes none
  std::string_view help;
  FlagEffect effect;
};

/// Takes one use of a flag into the options. Errors: as a Reader.
Status apply(const Flag& flag, FlagUse& use);

/// What the environment says about traces, once the flags are read. \param use  its name becomes the
/// variable's. Errors: as a Reader.
Status read_trace_environment(const EnvironmentLookup& environment, FlagUse& use);

/// The parts of the table (flag_table.h).
std::span<const Flag> server_flags();
std::span<const Flag> frontend_flags();
std::span<const Flag> tracing_flags();
std::span<const Flag> backend_flags();

}  // namespace atl::tritonserver
