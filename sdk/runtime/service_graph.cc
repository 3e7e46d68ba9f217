#include "atoll/runtime/service_graph.h"

#include <algorithm>
#include <optional>
#include <set>

namespace atl::runtime {
namespace {

constexpr size_t kNoNode = SIZE_MAX;
constexpr uint32_t kSoftFlags = ATOLL_NEED_OPTIONAL | ATOLL_NEED_MANY;

const atoll_provided_v1* provided_row(const GraphNode& node, std::string_view id) {
  for (const auto& row : node.provides) {
    if (id == row.id) return &row;
  }
  return nullptr;
}

class Resolver {
 public:
  Resolver(std::span<const GraphNode> nodes, Problems& problems,
           const std::function<std::string(std::string_view)>& who_offers, bool all_known)
      : nodes_(nodes),
        problems_(problems),
        who_offers_(who_offers),
        all_known_(all_known),
        surplus_(nodes.size(), false),
        before_(nodes.size()) {
    graph_.bindings.resize(nodes.size());
    graph_.required.resize(nodes.size());
  }

  ServiceGraph run() {
    check_singletons();
    check_alone();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      check_named(i);
      for (const auto& need : nodes_[i].needs) {
        if (!surplus_[i] || nodes_[i].named.contains(need.id)) bind(i, need);
      }
    }
    if (!failed_ && all_known_) find_order();
    return std::move(graph_);
  }

 private:
  std::string text(size_t i) const { return plugin_text(nodes_[i].name, nodes_[i].use); }
  template <class... Parts>
  void problem(size_t i, const Parts&... parts) {
    problems_.add(nodes_[i].where, text(i), ": ", parts...);
    failed_ = true;
  }

  void check_singletons() {
    std::map<std::string, size_t> seen;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!is_singleton(i)) continue;
      auto [first, added] = seen.emplace(nodes_[i].use, i);
      if (added) continue;
      surplus_[i] = true;
      problem(i, "the server takes one instance of this plugin, and '", nodes_[first->second].name,
              "' is one already");
    }
  }

  void check_alone() {
    std::map<std::string_view, size_t> seen;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const atoll_provided_v1& row : nodes_[i].provides) {
        if ((row.flags & ATOLL_PROVIDED_ALONE) == 0) continue;
        auto [first, added] = seen.emplace(row.id, i);
        const bool told = !added && nodes_[first->second].use == nodes_[i].use && is_singleton(i);
        if (!added) surplus_[i] = true;
        if (added || told) continue;
        problem(i, "the server takes one plugin that provides ", row.id, ", and ", text(first->second),
                " is one already");
      }
    }
  }
  bool is_singleton(size_t i) const { return (nodes_[i].flags & ATOLL_PLUGIN_SINGLETON) != 0; }

  void check_named(size_t i) {
    std::vector<std::string_view> known;
    for (const auto& need : nodes_[i].needs) known.emplace_back(need.id);
    const SourceLocation& where = nodes_[i].named_where;
    for (const auto& [id, instance] : nodes_[i].named) {
      if (std::ranges::find(known, id) != known.end()) continue;
      std::string expected = suggestion(id, known);
      if (expected.empty()) {
        for (const std::string_view need : known)
          expected += cat(expected.empty() ? "; it needs " : ", ", need);
      }
      problems_.add(where.file.empty() ? nodes_[i].where : where, text(i), ": the manifest binds ", id,
                    " to '", instance, "', but the plugin does not need it", expected);
      failed_ = true;
    }
  }

  void bind(size_t i, const atoll_need_v1& need) {
    auto named = nodes_[i].named.find(need.id);
    size_t provider =
        named == nodes_[i].named.end() ? best_provider(i, need) : named_provider(i, need, named->second);
    bool soft = (need.flags & kSoftFlags) != 0;
    if (provider != kNoNode && (!soft || named != nodes_[i].named.end())) {
      graph_.bindings[i][need.id] = nodes_[provider].name;
    }
    if (provider != kNoNode && !soft) {
      graph_.required[i].push_back(provider);
      before_[i].insert(provider);
    }
    if (!soft) return;
    for (size_t j = 0; j < nodes_.size(); ++j) {
      if (j != i && provided_row(nodes_[j], need.id) != nullptr) soft_needs_.emplace_back(i, j);
    }
  }

  size_t named_provider(size_t i, const atoll_need_v1& need, const std::string& name) {
    for (size_t j = 0; j < nodes_.size(); ++j) {
      if (nodes_[j].name != name) continue;
      const atoll_provided_v1* row = provided_row(nodes_[j], need.id);
      if (row == nullptr) {
        problem(i, "needs ", need.id, " from '", name, "', which does not provide it");
      } else if (row->minor < need.minor) {
        problem(i, "needs ", need.id, " of minor ", need.minor, " or newer, '", name, "' provides minor ",
                row->minor);
      } else {
        return j;
      }
      return kNoNode;
    }
    if (all_known_) problem(i, "needs ", need.id, " from '", name, "', which is not an enabled plugin");
    return kNoNode;
  }

  // The provider of highest rank that is new enough. Only required needs turn the lack of one into a problem.
  size_t best_provider(size_t i, const atoll_need_v1& need) {
    size_t best = kNoNode;
    size_t tied = kNoNode;
    std::string too_old;
    int32_t rank = 0;
    for (size_t j = 0; j < nodes_.size(); ++j) {
      const atoll_provided_v1* row = j == i || surplus_[j] ? nullptr : provided_row(nodes_[j], need.id);
      if (row == nullptr) continue;
      if (row->minor < need.minor) {
        too_old += cat(too_old.empty() ? "" : ", ", "'", nodes_[j].name, "' provides minor ", row->minor);
      } else if (best == kNoNode || row->rank > rank) {
        best = j;
        rank = row->rank;
        tied = kNoNode;
      } else if (row->rank == rank && (row->flags & ATOLL_PROVIDED_ALONE) == 0) {
        tied = j;
      }
    }
    if ((need.flags & ATOLL_NEED_MANY) != 0 || !all_known_) return best;
    if (best == kNoNode && (need.flags & ATOLL_NEED_OPTIONAL) != 0) return kNoNode;
    if (best == kNoNode && !too_old.empty()) {
      problem(i, "needs ", need.id, " of minor ", need.minor, " or newer, ", too_old);
    } else if (best == kNoNode) {
      std::string offers = who_offers_ ? who_offers_(need.id) : std::string();
      problem(i, "needs ", need.id, ", no enabled plugin provides it",
              offers.empty() ? "" : "; these do: ", offers);
    } else if (tied != kNoNode) {
      problem(i, "needs ", need.id, ", '", nodes_[best].name, "' and '", nodes_[tied].name,
              "' provide it with the same rank ", rank, "; name one: needs = { \"", need.id, "\" = \"",
              nodes_[best].name, "\" }");
      return kNoNode;
    }
    return best;
  }

  bool reaches(size_t from, size_t to) const {
    std::vector<size_t> open = {from};
    std::set<size_t> seen = {from};
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      if (at == to) return true;
      for (size_t next : before_[at]) {
        if (seen.insert(next).second) open.push_back(next);
      }
    }
    return false;
  }

  void find_order() {
    auto by_name = [this](size_t a, size_t b) { return nodes_[a].name < nodes_[b].name; };
    if (std::optional<std::vector<size_t>> cycle = find_cycle(by_name)) {
      std::string path;
      for (size_t i : *cycle) path += cat(path.empty() ? "" : " -> ", nodes_[i].name);
      return problem(cycle->front(), "cycle of needs: ", path);
    }
    std::sort(soft_needs_.begin(), soft_needs_.end(), [&](const auto& a, const auto& b) {
      return std::tie(nodes_[a.first].name, nodes_[a.second].name) <
             std::tie(nodes_[b.first].name, nodes_[b.second].name);
    });
    for (auto [holder, provider] : soft_needs_) {
      if (!reaches(provider, holder)) before_[holder].insert(provider);
    }
    std::set<size_t, decltype(by_name)> waiting(by_name);
    for (size_t i = 0; i < nodes_.size(); ++i) waiting.insert(i);
    std::vector<bool> placed(nodes_.size(), false);
    while (!waiting.empty()) {
      auto ready = std::find_if(waiting.begin(), waiting.end(), [&](size_t i) {
        return std::all_of(before_[i].begin(), before_[i].end(), [&](size_t j) { return placed[j]; });
      });
      placed[*ready] = true;
      graph_.order.push_back(*ready);
      waiting.erase(ready);
    }
  }

  // Takes away whoever has all its providers; from a node that stays, following providers that stay ends in a
  // cycle.
  template <class ByName>
  std::optional<std::vector<size_t>> find_cycle(ByName by_name) const {
    std::set<size_t, ByName> left(by_name);
    for (size_t i = 0; i < nodes_.size(); ++i) left.insert(i);
    auto stays = [&](size_t i) {
      return std::any_of(before_[i].begin(), before_[i].end(), [&](size_t j) { return left.contains(j); });
    };
    for (size_t before = 0; before != left.size();) {
      before = left.size();
      std::erase_if(left, [&](size_t i) { return !stays(i); });
    }
    if (left.empty()) return std::nullopt;
    std::vector<size_t> path = {*left.begin()};
    while (true) {
      const auto& providers = before_[path.back()];
      size_t next =
          *std::find_if(providers.begin(), providers.end(), [&](size_t j) { return left.contains(j); });
      bool seen = std::find(path.begin(), path.end(), next) != path.end();
      path.push_back(next);
      if (!seen) continue;
      path.erase(path.begin(), std::find(path.begin(), path.end(), next));
      break;
    }
    // The cycle begins with its smallest name, so that the message does not depend on where the walk began.
    path.pop_back();
    std::rotate(path.begin(), std::min_element(path.begin(), path.end(), by_name), path.end());
    path.push_back(path.front());
    return path;
  }

  std::span<const GraphNode> nodes_;
  Problems& problems_;
  const std::function<std::string(std::string_view)>& who_offers_;
  const bool all_known_;
  bool failed_ = false;
  std::vector<bool> surplus_;             // by node: told to be one too many; nobody is bound to it
  std::vector<std::set<size_t>> before_;  // by node: who must be active first
  std::vector<std::pair<size_t, size_t>> soft_needs_;  // holder, provider: first if possible
  ServiceGraph graph_;
};

}  // namespace

std::string plugin_text(std::string_view name, std::string_view use) {
  return cat("plugin '", name, "' (", use, ")");
}

ServiceGraph resolve_graph(std::span<const GraphNode> nodes, Problems& problems,
                           const std::function<std::string(std::string_view)>& who_offers, bool all_known) {
  return Resolver(nodes, problems, who_offers, all_known).run();
}

}  // namespace atl::runtime
