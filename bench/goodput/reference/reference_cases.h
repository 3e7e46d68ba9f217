/// The reference cases: what arrives, and how many requests the public simulator of AlpaServe answers in time under which plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pools/leases/planner/pool_traffic.h"

namespace atl::goodput {

/// The plan of a part of the arrivals, up to the next part. Devices begin without work.
struct ReferenceSegment {
  size_t first_arrival = 0;
  pools::ReplicaPlan plan;
};

/// What was counted of one case.
struct ReferenceLine {
  std::string name;       ///< of the case
  int64_t slo_scale = 0;  ///< deadlines are so many service times
  std::string rules;      ///< "plain", or "shipped" with that simulator's own overheads
  std::string policy;     ///< that made the plans, "sr-greedy"
  size_t good = 0;        ///< requests in time
  std::vector<ReferenceSegment> segments;
  std::vector<pools::PlannedModel> models;
};

/// What is in expected.json, by line.
/// \throws std::runtime_error  it cannot be read, or is not such a file
std::vector<ReferenceLine> read_reference(const std::filesystem::path& file);

/// \param folder  where make_arrivals.py has put them
/// \throws std::runtime_error  it cannot be read, is not such a file, or is of more models than the case has
std::vector<pools::PoolArrival> read_arrivals(const std::filesystem::path& folder, const ReferenceLine& line);

}  // namespace atl::goodput
