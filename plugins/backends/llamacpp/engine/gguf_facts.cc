#include "backends/llamacpp/engine/gguf_facts.h"

#include "atoll/lib/checked_document.h"
#include "atoll/lib/json_writer.h"

namespace atl::llamacpp {
namespace {

/// Reads members of one object; whatever is missing or of another type makes it wrong.
class FactsReader {
 public:
  explicit FactsReader(const CheckedValue& object) : object_(object) {}

  void read(const char* name, std::string& to) {
    const CheckedValue* const value = find(name);
    if (value == nullptr || !value->IsString()) return fail();
    to.assign(value->GetString(), value->GetStringLength());
  }
  void read(const char* name, int32_t& to) {
    const CheckedValue* const value = find(name);
    if (value == nullptr || !value->IsInt() || value->GetInt() < 0) return fail();
    to = value->GetInt();
  }
  void read(const char* name, uint64_t& to) {
    const CheckedValue* const value = find(name);
    if (value == nullptr || !value->IsUint64()) return fail();
    to = value->GetUint64();
  }
  void read(const char* name, bool& to) {
    const CheckedValue* const value = find(name);
    if (value == nullptr || !value->IsBool()) return fail();
    to = value->GetBool();
  }
  bool is_right() const noexcept { return is_right_; }

 private:
  const CheckedValue* find(const char* name) const {
    const auto member = object_.FindMember(name);
    return member == object_.MemberEnd() ? nullptr : &member->value;
  }
  void fail() noexcept { is_right_ = false; }

  const CheckedValue& object_;
  bool is_right_ = true;
};

}  // namespace

std::string facts_json(const GgufFacts& facts) {
  CheckedBuffer buffer;
  CheckedWriter writer(buffer);
  write_object(writer, [&] {
    write_member(writer, "description", facts.description);
    write_member(writer, "architecture", facts.architecture);
    write_member(writer, "context_tokens", facts.context_tokens);
    write_member(writer, "embedding_size", facts.embedding_size);
    write_member(writer, "vocabulary_size", facts.vocabulary_size);
    write_member(writer, "has_chat_template", facts.has_chat_template);
    write_member(writer, "pooling", static_cast<int32_t>(facts.pooling));
    write_member(writer, "weights_bytes", facts.weights_bytes);
    write_member(writer, "memory_bytes_per_token", facts.memory_bytes_per_token);
    write_member(writer, "unserved", facts.unserved);
  });
  return {buffer.GetString(), buffer.GetSize()};
}

Result<GgufFacts> read_facts(std::string_view json) {
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsObject())
    return internal_error("what was found out of the file is no JSON object");
  GgufFacts facts;
  FactsReader reader(document);
  int32_t pooling = 0;
  reader.read("description", facts.description);
  reader.read("architecture", facts.architecture);
  reader.read("context_tokens", facts.context_tokens);
  reader.read("embedding_size", facts.embedding_size);
  reader.read("vocabulary_size", facts.vocabulary_size);
  reader.read("has_chat_template", facts.has_chat_template);
  reader.read("pooling", pooling);
  reader.read("weights_bytes", facts.weights_bytes);
  reader.read("memory_bytes_per_token", facts.memory_bytes_per_token);
  reader.read("unserved", facts.unserved);
  if (!reader.is_right() || pooling > static_cast<int32_t>(Pooling::kRank))
    return internal_error("what was found out of the file lacks a part");
  facts.pooling = static_cast<Pooling>(pooling);
  return facts;
}

}  // namespace atl::llamacpp
