/// What a server is called in a cluster.
#pragma once

#include <string>
#include <string_view>

namespace atl::launchers {

inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManager = "atoll";  ///< value of that label, and name of those who write
inline constexpr std::string_view kKeeperLabel = "atoll.dev/keeper";
inline constexpr std::string_view kServerLabel = "atoll.dev/server";
inline constexpr std::string_view kPoolLabel = "atoll.dev/pool";
/// An annotation, as an id may be longer than a label.
inline constexpr std::string_view kServerIdAnnotation = "atoll.dev/server-id";
/// Of the container that is the server.
inline constexpr std::string_view kContainerName = "server";

/// 16 hexadecimal digits that stand for the id.
std::string server_hash(std::string_view id);
/// "atoll-<pool>-<hash of the id>": at most 63 small letters, digits and '-', so it can be a host's name, too.
std::string pod_name(std::string_view pool, std::string_view id);
/// As much of a text as a label's value may have. May be empty.
std::string label_value(std::string_view text);
/// Selects the pods of a keeper, as a part of a URL's query.
std::string keeper_selector(std::string_view keeper);

}  // namespace atl::launchers
