/// Who needs whom: a pure function from descriptors to bindings and an order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "atoll/abi/plugin.h"
#include "atoll/core/status.h"
#include "atoll/runtime/problems.h"

namespace atl::runtime {

/// One enabled plugin instance.
struct GraphNode {
  std::string name;
  std::string use;
  uint32_t flags = 0;
  std::span<const atoll_provided_v1> provides;
  std::span<const atoll_need_v1> needs;
  std::map<std::string, std::string> named;  ///< the manifest's `needs`: interface id -> instance
  SourceLocation where;                      ///< in the manifest
  SourceLocation named_where = {};           ///< of `needs`
};

/// By node, in the order of the nodes given.
struct ServiceGraph {
  std::vector<size_t> order;  ///< providers first; ties by name
  /// Interface id -> instance that acquire() without a name finds: every required need, and every need that
  /// the manifest names. Others are looked up when asked for, because their providers come and go.
  std::vector<std::map<std::string, std::string>> bindings;
  std::vector<std::vector<size_t>> required;  ///< the nodes that required needs are bound to
};

/// "plugin 'grpc' (frontends/grpc)"
std::string plugin_text(std::string_view name, std::string_view use);

/// Binds every need and finds the order in which to start. Providers of optional needs and of NEED_MANY start
/// before their holders unless that would close a cycle.
/// \param problems    gets every one found
/// \param who_offers  names plugins that are not enabled and provide an interface; "": none is known
/// \param all_known   false: there are instances that are not among the nodes, because their plugins could not be loaded; what
///                    might be well with them is not told
/// \returns of no use if there were problems
ServiceGraph resolve_graph(std::span<const GraphNode> nodes, Problems& problems,
                           const std::function<std::string(std::string_view)>& who_offers = {},
                           bool all_known = true);

}  // namespace atl::runtime
