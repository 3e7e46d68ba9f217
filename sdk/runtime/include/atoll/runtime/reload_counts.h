/// What becomes of reloads: for metrics, and for the line that tells of one.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/metrics.h"
#include "atoll/core/text.h"

namespace atl::runtime {

/// [any]
class ReloadCounts final : public MetricSource {
 public:
  virtual ~ReloadCounts() = default;
  void add(bool applied) noexcept { ++(applied ? applied_ : refused_); }
  void collect(MetricSink& sink) const noexcept override {
    sink.family("atoll_reloads_total",
                "Reloads of the manifest since the start, by whether they were applied.",
                MetricKind::kCounter);
    for (const auto& [result, count] : {std::pair("applied", &applied_), {"refused", &refused_}}) {
      const MetricLabel label{"result", result};
      sink.sample({&label, 1}, static_cast<double>(count->load()));
    }
  }

 private:
  std::atomic<uint64_t> applied_{0};
  std::atomic<uint64_t> refused_{0};
};

/// "added a; replaced b (options), c (file); changed d; removed e"
class ReloadChanges {
 public:
  static constexpr std::string_view kNew = "new";
  /// \param why  it is replaced; kNew: it was not there; empty: it stays
  void planned(std::string_view name, std::string_view why) {
    if (why == kNew) {
      add(added_, name, {});
    } else if (!why.empty()) {
      add(replaced_, name, why);
    }
  }
  /// It stays, and goes on with other options.
  void followed(std::string_view name) { add(followed_, name, {}); }
  void removed(std::string_view name) { add(removed_, name, {}); }
  std::string text() const {
    std::string all;
    for (const auto& [what, names] : {std::pair("added ", &added_),
                                      {"replaced ", &replaced_},
                                      {"changed ", &followed_},
                                      {"removed ", &removed_}}) {
      if (!names->empty()) all += cat(all.empty() ? "" : "; ", what, *names);
    }
    return all.empty() ? "nothing changed" : all;
  }

 private:
  static void add(std::string& names, std::string_view name, std::string_view why) {
    names += cat(names.empty() ? "" : ", ", name);
    if (!why.empty()) names += cat(" (", why, ")");
  }
  std::string added_, replaced_, followed_, removed_;
};

}  // namespace atl::runtime
