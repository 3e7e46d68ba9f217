#include "telemetry/trace/file_exporter.h"

#include <utility>

#include "telemetry/trace/file_text.h"

namespace atl::tracing {
namespace {

/// Traces of this scope wait for a numbered file.
bool waits_for_number(const Scope& scope) noexcept {
  return scope.values().log_frequency != 0 || scope.values().count > 0;
}

/// What is written now belongs into a numbered file.
bool is_numbered(const Scope& scope) noexcept {
  return scope.values().log_frequency != 0 || scope.exhausted();
}

}  // namespace

bool FileExporter::admit(const Record& record) noexcept {
  uint64_t before = pending_bytes_.fetch_add(record.size_bytes, std::memory_order_relaxed);
  if (before + record.size_bytes <= pending_bytes_max_) return true;
  pending_bytes_.fetch_sub(record.size_bytes, std::memory_order_relaxed);
  return false;
}

void FileExporter::forget(const Record& record) noexcept {
  pending_bytes_.fetch_sub(record.size_bytes, std::memory_order_relaxed);
}

void FileExporter::take(std::deque<std::unique_ptr<Record>> records) noexcept {
  for (auto& record : records) collect(std::move(record));
  write_ended();
  append_later();
}

void FileExporter::collect(std::unique_ptr<Record> record) {
  std::shared_ptr<Scope> scope = record->scope;
  Group& group = groups_[scope];
  if (!group.text.empty()) group.text.push_back(',');
  group.text += file_text(*record);
  for (RecordedRequest& request : record->requests) request.events = std::vector<RecordedEvent>();
  scope->close(record->sampled);
  group.records.push_back(std::move(record));
  uint32_t frequency = scope->values().log_frequency;
  bool enough = frequency != 0 && group.records.size() >= frequency;
  if (enough || scope->exhausted()) write(group, true);
  if (pending_bytes_.load(std::memory_order_relaxed) > pending_bytes_max_ / 2) write_all();
}

void FileExporter::write_all() {
  for (auto& [scope, group] : groups_) write(group, is_numbered(*scope));
}

void FileExporter::write(Group& group, bool numbered) {
  if (group.records.empty()) return;
  Status status = numbered ? file_.write_numbered(group.text) : file_.append(group.text);
  status.ok() ? report_success() : report_failure(status);
  for (auto& record : group.records) done(std::move(record), status.ok());
  group = {};
}

void FileExporter::append_appendable() {
  for (auto& [scope, group] : groups_) {
    if (!waits_for_number(*scope)) write(group, false);
  }
}

void FileExporter::write_ended() {
  for (auto entry = groups_.begin(); entry != groups_.end();) {
    auto& [scope, group] = *entry;
    if (scope->ended()) write(group, is_numbered(*scope));
    entry = group.records.empty() ? groups_.erase(entry) : std::next(entry);
  }
}

void FileExporter::append_later() {
  if (append_armed_ || !may_wait()) return;
  bool wanted = false;
  for (const auto& [scope, group] : groups_) wanted = wanted || !waits_for_number(*scope);
  if (!wanted) return;
  append_armed_ = true;
  executor().post_at(clock_.now_ns() + kAppendDelayNs, {[](void* self) {
                                                          auto& exporter = *static_cast<FileExporter*>(self);
                                                          exporter.append_armed_ = false;
                                                          exporter.append_appendable();
                                                          exporter.write_ended();
                                                        },
                                                        this, nullptr});
}

void FileExporter::flush(int64_t) noexcept {
  write_all();
  groups_.clear();
}

}  // namespace atl::tracing
