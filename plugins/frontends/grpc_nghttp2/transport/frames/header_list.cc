#include "frontends/grpc_nghttp2/transport/frames/header_list.h"

namespace atl::frontends::grpc_nghttp2 {

void HeaderList::add(std::string_view name, std::string_view value) {
  places_.push_back({static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(name.size()),
                     static_cast<uint32_t>(value.size())});
  text_.append(name);
  text_.append(value);
}

std::string_view HeaderList::find(std::string_view name) const noexcept {
  for (size_t i = 0; i < places_.size(); ++i) {
    const HeaderField field = (*this)[i];
    if (field.name == name) return field.value;
  }
  return {};
}

}  // namespace atl::frontends::grpc_nghttp2
