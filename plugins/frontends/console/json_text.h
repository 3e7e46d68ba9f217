/// An answer's body.
#pragma once

#include <string>
#include <utility>

#include "atoll/lib/json_writer.h"

namespace atl::frontends::console {

/// The text of one object, whose members `write` writes to the CheckedWriter that it is given.
template <class Write>
std::string object_json(Write&& write) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] { write(json); });
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace atl::frontends::console
