/// What is wrong with the responses of a backend: they differ from the configuration of its model, or say INTERNAL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/log.h"
#include "atoll/lib/log_interval.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"

namespace atl::models {

/// Logs what is wrong with the responses of one instance: of each output and kind of difference the first one, then at most one a
/// minute. Clients get such answers as they are, or an error where no answer can be made of them. Outlives the requests that it
/// watches. [any]
class OutputCheck {
 public:
  /// \param log, clock  outlive it
  OutputCheck(const ModelInfo& info, std::string_view instance, Log& log, const Clock& clock);
  OutputCheck(const OutputCheck&) = delete;
  OutputCheck& operator=(const OutputCheck&) = delete;

  /// The responses of this request will be looked at on their way. To be called before the instance gets the request; takes a few
  /// words of the request's arena.
  void watch(Request& request) noexcept;
  /// Undoes watch(), for a request that the instance has not touched.
  static void unwatch(Request& request) noexcept;

  /// A response whose bytes do not fit its shape becomes a failure: no client can read it. Of failures only INTERNAL ones are
  /// logged, because they are the backend's own (what it threw, for example) and only the client saw their text.
  /// \param wanted  what its request asked for
  void look(Response& response, std::span<const RequestedOutput> wanted) noexcept {
    if (!response.error.ok()) return look_at_failure(response);
    if (!is_right(response, wanted)) look_closer(response, wanted);
  }

 private:
  static constexpr int64_t kIntervalNs = 60 * kNsPerSecond;
  struct Expected {
    std::string name;
    DataType datatype = DataType::kInvalid;
    uint64_t element_bytes = 0;                 ///< 0: elements have no size of their own
    bool has_shape = true;                      ///< and it is to be compared
    std::vector<int64_t> shape, backend_shape;  ///< with the batch dimension; -1: variable
    LogInterval missing{kIntervalNs}, type{kIntervalNs}, dims{kIntervalNs}, bytes{kIntervalNs},
        twice{kIntervalNs};
  };

  Expected* find(std::string_view name, size_t guess) noexcept;
  bool is_right(const Response& response, std::span<const RequestedOutput> wanted) const noexcept;
  void look_at_failure(const Response& response) noexcept;
  void look_closer(Response& response, std::span<const RequestedOutput> wanted) noexcept;
  static bool is_as_expected(const OutputTensor& output, const Expected& expected) noexcept;
  Status report_differences(const OutputTensor& output, Expected& expected) noexcept;
  void look_for_missing(const Response& response, std::span<const RequestedOutput> wanted) noexcept;
  void look_for_repeated(const Response& response) noexcept;
  template <class... Parts>
  void warn(LogInterval& interval, const Parts&... parts) noexcept;

  Log& log_;
  const Clock& clock_;
  const std::string subject_;       ///< begins every record
  const bool decoupled_;            ///< each response has the outputs that it likes
  std::vector<Expected> expected_;  ///< in the order of ModelInfo::outputs
  LogInterval unknown_{kIntervalNs}, failed_{kIntervalNs};
};

}  // namespace atl::models
