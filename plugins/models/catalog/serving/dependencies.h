/// The services that versions are built with, and those for want of which some could not be built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace atl::models {

/// A service that a version was built with.
struct Dependency {
  enum class Kind : uint32_t {
    kRequired,  ///< the version goes with it
    kOptional,  ///< the version is built anew without it or, where `instance` is empty, with one that comes
    kChosen,    ///< one of several: as kRequired where there is no other choice
  };
  std::string_view interface_id;  ///< a constant of the SDK
  std::string instance;
  Kind kind = Kind::kRequired;
};

/// A service for want of which a version is not served.
struct Want {
  std::string_view interface_id;  ///< a constant of the SDK; empty: nothing is wanted
  std::string instance = {};      ///< empty: any
  bool any_change = false;        ///< one that is replaced, or goes, may help as well as one that comes
};

}  // namespace atl::models
