/// GET /v2/console/sequences.
#pragma once

#include <string>
#include <vector>

#include "atoll/frontend/access.h"
#include "atoll/lib/checked_json.h"
#include "frontends/console/counts/count_reader.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// The sequences of a version that has had any.
struct CountedSequences {
  std::string model;    ///< as the scheduler names it: its identifier
  std::string version;  ///< decimal
  double open = 0, slots_in_use = 0, backlog = 0, oldest_seconds = 0, idle_ended = 0, rescheduled = 0;
};

/// Those that the caller may see, those with the longest backlog first, then those with the most open ones.
/// \param identity  null: all
std::vector<CountedSequences> sequences_of(const CountReading& reading, const Identity* identity);
void write_sequences(CheckedWriter& json, const CountedSequences& one);

std::string sequences_json(const CountReading& reading, const ProcessStart& start, const Identity* identity);

}  // namespace atl::frontends::console
