#include "frontends/console/history/history_ring.h"

#include <algorithm>
#include <utility>

namespace atl::frontends::console {

const HistorySeries* HistoryView::find(std::string_view model, int64_t version) const noexcept {
  for (const auto& one : series) {
    if (one != nullptr && one->version == version && one->model.view() == model) return one.get();
  }
  return nullptr;
}

const HistoryRow* HistoryView::row_of(const HistoryPoint& point, const HistorySeries& series) noexcept {
  if (point.number < series.since) return nullptr;
  for (uint32_t i = 0; i < point.row_count; ++i) {
    if (point.rows[i].series == series.index) return &point.rows[i];
  }
  return nullptr;
}

HistoryRing::HistoryRing(Host& host) : host_(host), series_(HistoryPoint::kMostRows) {}

Status HistoryRing::open() {
  // Points speak of series, so those come first.
  ATOLL_RETURN_IF_ERROR(series_news_.open(host_.events()));
  return point_news_.open(host_.events());
}

void HistoryRing::close() noexcept {
  point_news_.reset();
  series_news_.reset();
}

void HistoryRing::add(HistoryPoint point) {
  point.number = next_number();
  point.key_text = cat(host_.instance_name(), " ", point.number % kPoints);
  keep(point);
  host_.events().publish(point);
}

void HistoryRing::add(HistorySeries series) {
  series.key_text = cat(host_.instance_name(), " ", series.index);
  keep(series);
  host_.events().publish(series);
}

uint64_t HistoryRing::next_number() const noexcept {
  std::lock_guard lock(mutex_);
  return next_;
}

HistoryView HistoryRing::view() const {
  HistoryView view;
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < kPoints; ++i) {
    if (const auto& point = points_[(next_ + i) % kPoints]; point != nullptr) view.points.push_back(point);
  }
  view.series = series_;
  return view;
}

bool HistoryRing::is_own(std::string_view key) const noexcept {
  const std::string_view name = host_.instance_name();
  return key.substr(0, key.rfind(' ')) == name;
}

void HistoryRing::keep(const HistoryPoint& point) {
  if (!is_own(point.key())) return;
  std::lock_guard lock(mutex_);
  auto& place = points_[point.number % kPoints];
  if (place != nullptr && place->number >= point.number) return;
  place = std::make_shared<const HistoryPoint>(point);
  next_ = std::max(next_, point.number + 1);
}

void HistoryRing::keep(const HistorySeries& series) {
  if (!is_own(series.key()) || series.index >= series_.size()) return;
  std::lock_guard lock(mutex_);
  auto& place = series_[series.index];
  if (place != nullptr && place->since > series.since) return;
  place = std::make_shared<const HistorySeries>(series);
}

}  // namespace atl::frontends::console
