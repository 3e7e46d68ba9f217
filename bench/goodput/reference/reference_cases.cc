#include "goodput/reference/reference_cases.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "atoll/core/text.h"

namespace atl::goodput {
namespace {

using Json = nlohmann::json;

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(cat("cannot read ", file.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The devices of "0 1|1 2".
pools::ReplicaPlan plan_of(const std::string& text, size_t models) {
  pools::ReplicaPlan plan;
  std::istringstream devices(text);
  for (std::string device; std::getline(devices, device, '|');) {
    std::istringstream numbers(device);
    auto& held = plan.devices.emplace_back();
    for (uint32_t model = 0; numbers >> model;) {
      if (model >= models) throw std::runtime_error(cat("a plan has model ", model, " of ", models));
      held.push_back(model);
    }
  }
  return plan;
}

/// With the rules "shipped" the simulator adds overheads to each request: 0.9 % of its execution, and 11 ms to its answer.
pools::PlannedModel model_of(int64_t latency_us, const ReferenceLine& line) {
  if (line.rules == "plain") return {latency_us, line.slo_scale * latency_us, 0};
  return {(latency_us * 1009 + 500) / 1000, line.slo_scale * latency_us, 11'000};
}

ReferenceLine line_of(const Json& json, const Json& cases) {
  ReferenceLine line;
  json.at("case").get_to(line.name);
  json.at("slo_scale").get_to(line.slo_scale);
  json.at("rules").get_to(line.rules);
  json.at("policy").get_to(line.policy);
  json.at("good").get_to(line.good);
  for (const Json& latency : cases.at(line.name).at("latency_us")) {
    line.models.push_back(model_of(latency.get<int64_t>(), line));
  }
  for (const Json& segment : json.at("segments")) {
    line.segments.push_back({segment.at(0).get<size_t>(), plan_of(segment.at(1), line.models.size())});
  }
  return line;
}

/// Takes a whole number and what has to follow it off the text.
bool take(std::string_view& text, char after, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || end == text.data() + text.size() || *end != after) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

std::vector<ReferenceLine> read_reference(const std::filesystem::path& file) try {
  const Json json = Json::parse(read_file(file));
  std::vector<ReferenceLine> lines;
  for (const Json& line : json.at("lines")) lines.push_back(line_of(line, json.at("cases")));
  return lines;
} catch (const Json::exception& error) {
  throw std::runtime_error(cat(file.string(), ": ", error.what()));
}

std::vector<pools::PoolArrival> read_arrivals(const std::filesystem::path& folder,
                                              const ReferenceLine& line) {
  constexpr std::string_view kHead = "t_ms,model\n";
  const std::filesystem::path file = folder / (line.name + ".csv");
  const std::string content = read_file(file);
  std::string_view left = content;
  bool is_good = left.starts_with(kHead);
  if (is_good) left.remove_prefix(kHead.size());
  std::vector<pools::PoolArrival> arrivals;
  while (is_good && !left.empty()) {
    int64_t ms = 0, us = 0, model = 0;
    is_good = take(left, '.', ms) && take(left, ',', us) && take(left, '\n', model) && us < 1000 &&
              model < static_cast<int64_t>(line.models.size());
    arrivals.push_back({1000 * ms + us, static_cast<uint32_t>(model)});
  }
  if (!is_good) {
    throw std::runtime_error(
        cat(file.string(), ", line ", arrivals.size() + 1, ": not the arrivals of ", line.name));
  }
  return arrivals;
}

}  // namespace atl::goodput
