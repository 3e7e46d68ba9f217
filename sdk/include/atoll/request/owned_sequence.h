/// The sequence of an owner (atoll/request/owner.h) as one SequenceId. Model::has_sequence(), Scheduler::has_sequence()
/// and ModelCatalog::finishing() take nothing but a SequenceId. Frontends give them qualified_id() of the request's
/// sequence; schedulers take it apart with owned_sequence(). Whatever lies between passes it on as it is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "atoll/request/request.h"

namespace atl {

struct OwnedSequence {
  SequenceId id;
  std::string_view owner;  ///< empty: nobody's
};

/// `id` itself if there is no owner. Otherwise number and text are both set, which no client's id has.
/// \param memory  holds the text of the result
inline SequenceId qualified_id(const SequenceId& id, std::string_view owner, std::string& memory) {
  if (owner.empty() || id.empty()) return id;
  memory = owner;
  if (id.text.empty()) {
    memory.append(reinterpret_cast<const char*>(&id.number), sizeof(id.number));
  } else {
    memory += id.text;
  }
  return {uint64_t{owner.size()} << 1 | (id.text.empty() ? 0 : 1), memory};
}

/// What a qualified id is made of, or the id of nobody that it is. Its texts are borrowed from `qualified`.
inline OwnedSequence owned_sequence(const SequenceId& qualified) noexcept {
  const uint64_t owner_bytes = qualified.number >> 1;
  if (owner_bytes == 0 || owner_bytes >= qualified.text.size()) return {qualified, {}};
  const std::string_view owner = qualified.text.substr(0, owner_bytes);
  const std::string_view id = qualified.text.substr(owner_bytes);
  if ((qualified.number & 1) != 0) return {{0, id}, owner};
  uint64_t number = 0;
  if (id.size() != sizeof(number)) return {qualified, {}};
  std::memcpy(&number, id.data(), sizeof(number));
  return {{number, {}}, owner};
}

}  // namespace atl
