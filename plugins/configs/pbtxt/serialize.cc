#include "configs/pbtxt/serialize.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace atl::pbtxt {

Result<std::string> serialize(const inference::ModelConfig& config) {
  std::string bytes;
  bool written = false;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);
    written = config.SerializeToCodedStream(&output);
  }
  if (!written) {
    return internal_error("the configuration of model '", config.name(), "' cannot be serialized");
  }
  return bytes;
}

}  // namespace atl::pbtxt
