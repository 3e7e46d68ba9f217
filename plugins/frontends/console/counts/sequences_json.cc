#include "frontends/console/counts/sequences_json.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "atoll/lib/json_writer.h"
#include "atoll/models/model_identifier.h"
#include "frontends/console/answer_json.h"

namespace atl::frontends::console {
namespace {

constexpr size_t kMostSequenceRows = 1000;

constexpr CountColumn<CountedSequences> kSequenceColumns[] = {
    {"atoll_sequences_open", &CountedSequences::open},
    {"atoll_sequence_slots_in_use", &CountedSequences::slots_in_use},
    {"atoll_sequence_backlog_length", &CountedSequences::backlog},
    {"atoll_sequence_backlog_oldest_seconds", &CountedSequences::oldest_seconds},
    {"atoll_sequence_idle_ended_total", &CountedSequences::idle_ended},
    {"atoll_sequence_rescheduled_total", &CountedSequences::rescheduled}};

}  // namespace

std::vector<CountedSequences> sequences_of(const CountReading& reading, const Identity* identity) {
  std::map<std::pair<std::string_view, std::string_view>, CountedSequences> found;
  for (const auto& column : kSequenceColumns) {
    for (const CountedSample& sample : reading.of(column.family)) {
      const std::string_view model = sample.label("model"), version = sample.label("version");
      if (!may_see(identity, model_name_of(model))) continue;
      CountedSequences& one = found[{model, version}];
      one.model = model;
      one.version = version;
      one.*column.member += sample.value;
    }
  }
  std::vector<CountedSequences> all;
  for (auto& [key, one] : found) all.push_back(std::move(one));
  std::stable_sort(all.begin(), all.end(), [](const CountedSequences& a, const CountedSequences& b) {
    return std::tie(a.backlog, a.open) > std::tie(b.backlog, b.open);
  });
  return all;
}

void write_sequences(CheckedWriter& json, const CountedSequences& one) {
  write_object(json, [&] {
    write_member(json, "model", model_name_of(one.model));
    write_member(json, "version", one.version);
    write_member(json, "open", static_cast<uint64_t>(one.open));
    write_member(json, "slots_in_use", static_cast<uint64_t>(one.slots_in_use));
    write_member(json, "backlog", static_cast<uint64_t>(one.backlog));
    write_member(json, "oldest_seconds", one.oldest_seconds);
    write_member(json, "idle_ended", static_cast<uint64_t>(one.idle_ended));
    write_member(json, "rescheduled", static_cast<uint64_t>(one.rescheduled));
  });
}

std::string sequences_json(const CountReading& reading, const ProcessStart& start, const Identity* identity) {
  std::vector<CountedSequences> all = sequences_of(reading, identity);
  const uint64_t matching = all.size();
  if (all.size() > kMostSequenceRows) all.resize(kMostSequenceRows);
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "time_ms", reading.wall_ms);
    write_member(json, "matching", matching);
    write_array(json, "models", all, [&](const CountedSequences& one) { write_sequences(json, one); });
  });
}

}  // namespace atl::frontends::console
