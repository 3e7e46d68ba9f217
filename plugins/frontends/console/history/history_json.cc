#include "frontends/console/history/history_json.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "frontends/console/query_parts.h"

namespace atl::frontends::console {
namespace {

/// What is told of the present is a mean over so long.
constexpr int64_t kRecentMs = 10'000;

/// What one version did in all points.
struct Total {
  const HistorySeries* series = nullptr;
  uint64_t success = 0, fail = 0, us = 0;
  uint64_t recent_success = 0, recent_fail = 0;  ///< in points that recent_from() counts
};

/// The number of the first point that ends less than kRecentMs before the last one.
uint64_t recent_from(const HistoryView& view) {
  for (const auto& point : view.points) {
    if (point->time_ms > view.points.back()->time_ms - kRecentMs) return point->number;
  }
  return 0;
}

/// The time that those points cover.
int64_t recent_ms(const HistoryView& view) {
  const uint64_t from = recent_from(view);
  int64_t sum = 0;
  for (const auto& point : view.points) sum += point->number < from ? 0 : point->covers_ms;
  return sum;
}

std::vector<Total> busiest(const HistoryView& view) {
  const uint64_t from = recent_from(view);
  std::vector<Total> totals(view.series.size());
  for (size_t i = 0; i < totals.size(); ++i) totals[i].series = view.series[i].get();
  for (const auto& point : view.points) {
    for (uint32_t i = 0; i < point->row_count; ++i) {
      const HistoryRow& row = point->rows[i];
      if (row.series >= totals.size()) continue;
      Total& total = totals[row.series];
      if (total.series == nullptr || point->number < total.series->since) continue;
      total.success += row.success;
      total.fail += row.fail;
      total.us += uint64_t{row.success} * row.mean_us;
      if (point->number < from) continue;
      total.recent_success += row.success;
      total.recent_fail += row.fail;
    }
  }
  std::erase_if(totals, [](const Total& one) { return one.success + one.fail == 0; });
  std::stable_sort(totals.begin(), totals.end(),
                   [](const Total& a, const Total& b) { return a.success + a.fail > b.success + b.fail; });
  return totals;
}

void write_head(CheckedWriter& json, const ProcessStart& start,
                std::initializer_list<std::string_view> columns) {
  write_member(json, "run", start.run);
  write_member(json, "started_ms", start.time_ms);
  write_array(json, "columns", columns, [&](std::string_view name) { write_text(json, name); });
}

}  // namespace

Result<HistoryQuery> HistoryQuery::parse(std::string_view text) {
  HistoryQuery query;
  std::optional<uint64_t> version;
  for (auto& [name, value] : query_parts(text)) {
    if (name == "model") {
      query.model = std::move(value);
    } else if (name == "version") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &version.emplace()));
    } else {
      return invalid_argument("found '", name, "', expected model or version");
    }
  }
  if (query.model.empty() == version.has_value())
    return invalid_argument("model and version belong together");
  if (version.value_or(0) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return invalid_argument("the version is too large");
  query.version = static_cast<int64_t>(version.value_or(0));
  return query;
}

std::string history_json(const HistoryView& view, const ProcessStart& start) {
  return object_json([&](CheckedWriter& json) {
    write_head(json, start,
               {"time_ms", "covers_ms", "success", "fail", "p50_ns", "p99_ns", "waiting", "running",
                "processors", "resident_bytes"});
    write_array(json, "points", view.points, [&](const auto& point) {
      json.StartArray();
      json.Int64(point->time_ms);
      json.Int64(point->covers_ms);
      for (const uint64_t count :
           {point->success, point->fail, point->p50_ns, point->p99_ns, point->waiting, point->running})
        json.Uint64(count);
      json.Double(point->processors);
      json.Uint64(point->resident_bytes);
      json.EndArray();
    });
    write_member(json, "recent_ms", recent_ms(view));
    write_array(json, "busiest", busiest(view), [&](const Total& one) {
      write_object(json, [&] {
        write_member(json, "name", one.series->model.view());
        write_member(json, "version", cat(one.series->version));
        write_member(json, "success", one.success);
        write_member(json, "fail", one.fail);
        write_member(json, "mean_us", one.success == 0 ? 0 : one.us / one.success);
        write_member(json, "recent_success", one.recent_success);
        write_member(json, "recent_fail", one.recent_fail);
      });
    });
  });
}

std::string history_json(const HistoryView& view, const ProcessStart& start, std::string_view model,
                         int64_t version) {
  const HistorySeries* const series = view.find(model, version);
  return object_json([&](CheckedWriter& json) {
    write_head(json, start, {"time_ms", "covers_ms", "success", "fail", "mean_us"});
    write_key(json, "points");
    json.StartArray();
    for (const auto& point : view.points) {
      if (series == nullptr || point->number < series->since) continue;
      const HistoryRow* const row = HistoryView::row_of(*point, *series);
      json.StartArray();
      json.Int64(point->time_ms);
      json.Int64(point->covers_ms);
      for (const uint32_t count : {row == nullptr ? 0 : row->success, row == nullptr ? 0 : row->fail,
                                   row == nullptr ? 0 : row->mean_us})
        json.Uint64(count);
      json.EndArray();
    }
    json.EndArray();
  });
}

}  // namespace atl::frontends::console
