#include "frontends/console/timeline/timeline_json.h"

#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"
#include "frontends/console/answer_json.h"
#include "frontends/console/query_parts.h"

namespace atl::frontends::console {
namespace {

bool may_see(const Identity* identity, const TimelineEntry& entry) {
  // Who has made a call is shown only to callers who see everything.
  if (entry.generation != 0 || is_call(entry.kind)) return may_see_all(identity);
  return console::may_see(identity, entry.subject.view());
}

void write_call(CheckedWriter& json, const TimelineEntry& entry) {
  if (!entry.subject.view().empty()) write_member(json, "model", entry.subject.view());
  write_member(json, "call", entry.call.view());
  write_member(json, "caller", entry.caller.view());
  write_member(json, "peer", entry.peer.view());
  write_member(json, "status", entry.status);
}

void write_entry(CheckedWriter& json, const TimelineEntry& entry) {
  write_object(json, [&] {
    write_member(json, "number", entry.number);
    write_member(json, "time_ms", entry.time_ms);
    write_member(json, "kind", kind_name(entry.kind));
    if (is_call(entry.kind)) {
      write_call(json, entry);
    } else if (entry.generation == 0) {
      write_member(json, "model", entry.subject.view());
      write_member(json, "version",
                   entry.version == TimelineEntry::kUnknown ? std::string() : cat(entry.version));
    } else {
      write_member(json, "generation", entry.generation);
      if (!entry.subject.view().empty()) {
        write_member(json, "instance", entry.subject.view());
        write_member(json, "plugin", entry.plugin.view());
      }
    }
    if (entry.took_ms != TimelineEntry::kUnknown) write_member(json, "took_ms", entry.took_ms);
    if (!entry.reason.view().empty()) write_member(json, "reason", entry.reason.view());
  });
}

}  // namespace

Result<TimelineQuery> TimelineQuery::parse(std::string_view text) {
  TimelineQuery query;
  for (auto& [name, value] : query_parts(text)) {
    if (name == "since") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.since));
    } else if (name == "limit") {
      ATOLL_RETURN_IF_ERROR(read_number(name, value, &query.limit));
    } else {
      return invalid_argument("found '", name, "', expected since or limit");
    }
  }
  return query;
}

std::string timeline_json(const TimelineEntries& entries, const TimelineQuery& query,
                          const ProcessStart& start, int64_t now_ms, const Identity* identity) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "started_ms", start.time_ms);
    write_member(json, "time_ms", now_ms);
    write_key(json, "entries");
    json.StartArray();
    uint64_t written = 0;
    for (const auto& entry : entries) {
      if (written == query.limit || entry->number <= query.since) break;
      if (!may_see(identity, *entry)) continue;
      write_entry(json, *entry);
      ++written;
    }
    json.EndArray();
  });
}

}  // namespace atl::frontends::console
