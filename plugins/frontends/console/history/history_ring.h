/// The last 15 minutes of the server.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "atoll/core/event_bus.h"
#include "atoll/core/host.h"
#include "frontends/console/history/history_events.h"

namespace atl::frontends::console {

using HistoryPoints = std::vector<std::shared_ptr<const HistoryPoint>>;

/// What the ring has at a moment.
struct HistoryView {
  HistoryPoints points;                                      ///< ascending by number
  std::vector<std::shared_ptr<const HistorySeries>> series;  ///< by index; null: nobody's

  /// The series of a model; null: it has none.
  const HistorySeries* find(std::string_view model, int64_t version) const noexcept;
  /// What the series did in the point; null: nothing that was noted.
  static const HistoryRow* row_of(const HistoryPoint& point, const HistorySeries& series) noexcept;
};

/// Keeps points and series, 0.8 MB at most, and publishes what is added: an instance that takes this one's place in the
/// manifest, under the same name, finds them on the event bus. [any]
class HistoryRing {
 public:
  /// With one each 5 s these are 15 minutes.
  static constexpr uint32_t kPoints = 180;

  /// \param host  outlives this object
  explicit HistoryRing(Host& host);

  /// Takes over what an instance before has left, soon. Errors: as Subscription::open(). [control]
  Status open();
  /// [control]
  void close() noexcept;

  /// Keeps a point and publishes it. Its key and its number are set here. \returns its number
  void add(HistoryPoint point);
  void add(HistorySeries series);
  /// Of the point that is added next.
  uint64_t next_number() const noexcept;
  HistoryView view() const;

 private:
  template <class Event>
  struct Keep {
    HistoryRing& ring;
    void operator()(const Event& event) const { ring.keep(event); }
  };
  void keep(const HistoryPoint& point);
  void keep(const HistorySeries& series);
  /// Whether an event is of an instance of this name.
  bool is_own(std::string_view key) const noexcept;

  Host& host_;
  mutable std::mutex mutex_;
  std::array<std::shared_ptr<const HistoryPoint>, kPoints> points_;  ///< by number
  std::vector<std::shared_ptr<const HistorySeries>> series_;         ///< by index
  uint64_t next_ = 0;
  Subscription<HistoryPoint, Keep<HistoryPoint>> point_news_{{*this}};
  Subscription<HistorySeries, Keep<HistorySeries>> series_news_{{*this}};
};

}  // namespace atl::frontends::console
