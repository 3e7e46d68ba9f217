#include "backends/onnxruntime/string_tensor.h"

#include <cstring>
#include <limits>

#include "atoll/backend/bytes.h"

namespace atl::ort {
Status fill_strings(OrtValue& value, size_t first, size_t count, const InputTensor& input) noexcept {
  return backends::read_elements(input, count, [&](size_t index, uint32_t size) -> Result<char*> {
    char* to = nullptr;
    ATOLL_RETURN_IF_ERROR(check(api().GetResizedStringTensorElementBuffer(&value, first + index, size, &to)));
    return to;
  });
}

Status StringElements::read(const OrtValue& value, size_t count) noexcept {
  size_t size = 0;
  ATOLL_RETURN_IF_ERROR(check(api().GetStringTensorDataLength(&value, &size)));
  data_.resize(size);
  offsets_.resize(count);
  if (count == 0) return {};
  return check(api().GetStringTensorContent(&value, data_.data(), size, offsets_.data(), count));
}

Status StringElements::encode(size_t first, size_t count, std::byte* to) const noexcept {
  for (size_t i = first; i < first + count; ++i) {
    size_t size = offset(i + 1) - offset(i);
    if (size > std::numeric_limits<uint32_t>::max()) {
      return invalid_argument("element ", i, ": found ", size, " bytes, expected less than 4 GiB");
    }
    to = backends::put_length(static_cast<uint32_t>(size), to);
    if (size != 0) std::memcpy(to, data_.data() + offset(i), size);
    to += size;
  }
  return {};
}

}  // namespace atl::ort
