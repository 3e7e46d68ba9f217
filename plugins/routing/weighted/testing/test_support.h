/// Options and models for the tests.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_options.h"
#include "routing/weighted/route_table.h"

namespace atl::routing {

using Map = std::map<std::string, std::string>;

struct RouteOptions {
  Map labels, weights, shadows;
};

inline Result<RouteTable> read(const RouteOptions& given) {
  test::FakeOptions options;
  options.set_map("labels", given.labels);
  options.set_map("weights", given.weights);
  options.set_map("shadows", given.shadows);
  return read_routes(options);
}

/// Versions 1 to 4 of the model "m".
struct FourVersions {
  FourVersions() {
    for (int64_t version = 1; version <= 4; ++version) {
      models[version] = &catalog.add_identity("m", DataType::kFp32, 0, version);
    }
  }
  test::FakeModelCatalog catalog;
  std::map<int64_t, test::FakeServedModel*> models;
};

}  // namespace atl::routing
