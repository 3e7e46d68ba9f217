#include "routing/weighted/sequence_models.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "model_config.pb.h"

namespace atl::routing {

bool serves_sequences(const ModelInfo& info) noexcept {
  using google::protobuf::internal::WireFormatLite;
  // Asked on the path of requests, so the fields are stepped over and nothing is built of them.
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(info.config.data()),
                                                static_cast<int>(info.config.size()));
  while (uint32_t tag = stream.ReadTag()) {
    if (WireFormatLite::GetTagFieldNumber(tag) == inference::ModelConfig::kSequenceBatchingFieldNumber) {
      return true;
    }
    if (!WireFormatLite::SkipField(&stream, tag)) return false;
  }
  return false;
}

}  // namespace atl::routing
