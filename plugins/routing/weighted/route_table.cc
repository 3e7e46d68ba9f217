#include "routing/weighted/route_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

namespace atl::routing {
namespace {

constexpr uint32_t kMaxWeight = 1'000'000;
constexpr size_t kMaxLabelBytes = 128;

using Entries = std::map<std::string, std::string>;

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Labels must never look like numbers, which clients write in many ways, nor need escapes in a path.
bool is_label(std::string_view text) {
  if (text.empty() || text.size() > kMaxLabelBytes || !is_letter(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

/// One entry of an option: to whom it belongs, and how errors about it begin.
struct Entry {
  std::string_view option;
  std::string_view key;
  std::string_view value;
  std::string_view model;
  std::string_view target;  ///< a label or a version

  template <class... Parts>
  Status wrong(const Parts&... parts) const {
    return invalid_argument("option '", option, "': \"", key, "\" = \"", value, "\": ", parts...);
  }
};

template <class Use>
Status for_each(const Entries& entries, std::string_view option, Use&& use) {
  for (const auto& [key, value] : entries) {
    Entry entry{option, key, value, {}, {}};
    // The last dot: names of models may contain some.
    const size_t dot = key.rfind('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == key.size()) {
      return entry.wrong("expected a key \"<model>.<", option == "labels" ? "label" : "label or version",
                         ">\"");
    }
    entry.model = std::string_view(key).substr(0, dot);
    entry.target = std::string_view(key).substr(dot + 1);
    ATOLL_RETURN_IF_ERROR(use(entry));
  }
  return {};
}

Status read_label(const Entry& entry, RouteTable* table) {
  if (!is_label(entry.target)) {
    return entry.wrong("a label has at most ", kMaxLabelBytes,
                       " letters, digits, '_' and '-' and begins with a letter or '_'");
  }
  std::optional<int64_t> version = read_number<int64_t>(entry.value);
  if (!version || *version < 0) return entry.wrong("expected a version, that is a number from 0");
  (*table)[std::string(entry.model)].labels.emplace(entry.target, *version);
  return {};
}

/// The version that an entry's key ends with, by number or by label.
Result<int64_t> target_version(const Entry& entry, const ModelRoute& route) {
  if (std::optional<int64_t> version = read_number<int64_t>(entry.target); version && *version >= 0) {
    return *version;
  }
  auto label = route.labels.find(entry.target);
  if (label == route.labels.end()) {
    return entry.wrong("'", entry.target, "' is neither a version nor a label of model '", entry.model, "'");
  }
  return label->second;
}

Status read_weight(const Entry& entry, RouteTable* table) {
  ModelRoute& route = (*table)[std::string(entry.model)];
  Result<int64_t> version = target_version(entry, route);
  if (!version.ok()) return std::move(version).status();
  std::optional<uint32_t> weight = read_number<uint32_t>(entry.value);
  if (!weight || *weight > kMaxWeight) return entry.wrong("expected a weight from 0 to ", kMaxWeight);
  for (const WeightedVersion& known : route.weights) {
    if (known.version == *version) return entry.wrong("version ", *version, " has a weight already");
  }
  if (route.weights.size() == ModelRoute::kMaxWeights) {
    return entry.wrong("a model has at most ", ModelRoute::kMaxWeights, " weights");
  }
  route.weights.push_back({*version, *weight});
  return {};
}

Status read_shadow(const Entry& entry, RouteTable* table) {
  ModelRoute& route = (*table)[std::string(entry.model)];
  Result<int64_t> version = target_version(entry, route);
  if (!version.ok()) return std::move(version).status();
  std::optional<double> share = read_number<double>(entry.value);
  if (!share || !(*share >= 0) || *share > 1) return entry.wrong("expected a share from 0 to 1");
  for (const ShadowTarget& known : route.shadows) {
    if (known.version == *version) return entry.wrong("version ", *version, " is a shadow already");
  }
  if (*share == 0) return {};
  ShadowTarget& shadow = route.shadows.emplace_back();
  shadow.model = entry.model;
  shadow.version = *version;
  shadow.threshold =
      *share == 1 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(std::ldexp(*share, 64));
  return {};
}

/// Errors: every weight of a model is 0.
Status finish_weights(const std::string& model, ModelRoute* route) {
  if (route->weights.empty()) return {};
  std::erase_if(route->weights, [](const WeightedVersion& entry) { return entry.weight == 0; });
  if (route->weights.empty()) {
    return invalid_argument("option 'weights': every weight of model '", model, "' is 0");
  }
  std::stable_sort(route->weights.begin(), route->weights.end(),
                   [](const WeightedVersion& a, const WeightedVersion& b) { return a.weight > b.weight; });
  return {};
}

/// All but what the entries of a model have to be together.
Result<RouteTable> read_entries(const Entries& labels, const Entries& weights, const Entries& shadows) {
  RouteTable table;
  const auto label = [&](const Entry& entry) { return read_label(entry, &table); };
  const auto weight = [&](const Entry& entry) { return read_weight(entry, &table); };
  const auto shadow = [&](const Entry& entry) { return read_shadow(entry, &table); };
  ATOLL_RETURN_IF_ERROR(for_each(labels, "labels", label));
  ATOLL_RETURN_IF_ERROR(for_each(weights, "weights", weight));
  ATOLL_RETURN_IF_ERROR(for_each(shadows, "shadows", shadow));
  return table;
}

}  // namespace

void check_routes(OptionCheck& check) {
  const Entries labels = check.map("labels", [](const Entries& all) { return read_entries(all, {}, {}); });
  check.map("weights", [&](const Entries& all) { return read_entries(labels, all, {}); });
  check.map("shadows", [&](const Entries& all) { return read_entries(labels, {}, all); });
  check.whole(read_routes(check.options()));
}

Result<RouteTable> read_routes(const Options& options) {
  Result<RouteTable> table =
      read_entries(options.get_map("labels"), options.get_map("weights"), options.get_map("shadows"));
  if (!table.ok()) return table;
  for (auto& [model, route] : table.value()) ATOLL_RETURN_IF_ERROR(finish_weights(model, &route));
  return table;
}

size_t pick(const std::vector<WeightedVersion>& weights, uint64_t without, uint64_t draw) noexcept {
  const auto is_out = [&](size_t i) { return (without >> i & 1) != 0; };
  uint64_t total = 0;
  for (size_t i = 0; i < weights.size(); ++i) total += is_out(i) ? 0 : weights[i].weight;
  // Weights add up to less than 32 bits, so the draw is scaled down to them by its upper half.
  uint64_t point = ((draw >> 32) * total) >> 32;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (is_out(i)) continue;
    if (point < weights[i].weight) return i;
    point -= weights[i].weight;
    last = i;
  }
  return last;
}

}  // namespace atl::routing
