/// All that is known of pools and leases.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "pools/leases/book/lease_book.h"
#include "pools/leases/book/lease_names.h"
#include "pools/leases/book/model_backends.h"
#include "pools/leases/book/pool.h"
#include "pools/leases/store/store.h"

namespace atl::pools {

/// What the store has, in memory, and beside it what happens now. It has no lock: it is used on the executor of the PoolContext alone.
struct PoolBook {
  PoolBook(const PoolContext& with, Store& opened, PoolEvents& events, LeaseRoutes& routes)
      : store(opened), leases(with, store, events, routes, names) {}

  /// Null: there is none.
  Pool* find_pool(std::string_view name) const {
    const auto found = pools.find(name);
    return found == pools.end() ? nullptr : found->second.get();
  }

  Store& store;
  ModelBackends backends;
  std::map<std::string, std::unique_ptr<Pool>, std::less<>> pools;
  LeaseNames names;
  LeaseBook leases;
};

}  // namespace atl::pools
