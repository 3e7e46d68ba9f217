#include "caches/common/kept_answer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "atoll/memory/memory.h"

namespace atl::caches {
namespace {

constexpr uint64_t kAlignment = 64;

constexpr uint64_t rounded(uint64_t bytes, uint64_t to) noexcept { return (bytes + to - 1) / to * to; }

}  // namespace

/// Behind the answer: the outputs, the parameters, shapes, texts, and then the bytes, each output's aligned.
class KeptAnswer::Writer {
 public:
  explicit Writer(char* at) noexcept : at_(at) {}
  template <class T>
  T* array(size_t count) noexcept {
    align(alignof(T));
    T* items = reinterpret_cast<T*>(at_);
    for (size_t i = 0; i < count; ++i) new (items + i) T();
    at_ += count * sizeof(T);
    return items;
  }
  std::string_view text(std::string_view from) noexcept {
    auto* to = static_cast<char*>(bytes(from.data(), from.size(), 1));
    *at_++ = '\0';
    return {to, from.size()};
  }
  std::span<const int64_t> shape(std::span<const int64_t> from) noexcept {
    return {static_cast<const int64_t*>(bytes(from.data(), from.size_bytes(), alignof(int64_t))),
            from.size()};
  }
  void* bytes(const void* from, size_t size, size_t alignment) noexcept {
    align(alignment);
    void* to = at_;
    if (size != 0) std::memcpy(at_, from, size);
    at_ += size;
    return to;
  }

 private:
  void align(size_t alignment) noexcept {
    at_ = reinterpret_cast<char*>(rounded(reinterpret_cast<uintptr_t>(at_), alignment));
  }
  char* at_;
};

const KeptOutput* KeptAnswer::outputs() const noexcept {
  return reinterpret_cast<const KeptOutput*>(this + 1);
}

const Parameter* KeptAnswer::parameters() const noexcept {
  return reinterpret_cast<const Parameter*>(outputs() + outputs_count_);
}

uint64_t KeptAnswer::size_of(const Response& response) noexcept {
  uint64_t size = sizeof(KeptAnswer) + kAlignment;
  for (const OutputTensor& output : response.outputs) {
    size += sizeof(KeptOutput) + output.name.size() + 1 + output.shape.size_bytes() + sizeof(int64_t);
    size += rounded(output.buffer.size_bytes, kAlignment) + kAlignment;
  }
  for (const Parameter& parameter : response.parameters) {
    size += sizeof(Parameter) + parameter.key.size() + parameter.text.size() + 2;
  }
  return rounded(size, kAlignment);
}

KeptAnswer::Ref KeptAnswer::copy_of(const Response& response) noexcept {
  for (const OutputTensor& output : response.outputs) {
    if (!is_host_ready(output.buffer)) return Ref();
  }
  static_assert(sizeof(KeptAnswer) % alignof(KeptOutput) == 0 &&
                sizeof(KeptOutput) % alignof(Parameter) == 0);
  const uint64_t size = size_of(response);
  void* memory = std::aligned_alloc(kAlignment, size);
  if (memory == nullptr) return Ref();
  auto* made = new (memory) KeptAnswer();
  made->size_bytes_ = size;
  made->outputs_count_ = response.outputs.size();
  made->parameters_count_ = response.parameters.size();
  Writer writer(static_cast<char*>(memory) + sizeof(KeptAnswer));
  KeptOutput* outputs = writer.array<KeptOutput>(response.outputs.size());
  Parameter* parameters = writer.array<Parameter>(response.parameters.size());
  for (const OutputTensor& output : response.outputs) {
    KeptOutput& kept = *outputs++;
    kept.name = writer.text(output.name);
    kept.datatype = output.datatype;
    kept.shape = writer.shape(output.shape);
    kept.size_bytes = output.buffer.size_bytes;
    kept.data = writer.bytes(output.buffer.data, output.buffer.size_bytes, kAlignment);
  }
  for (const Parameter& parameter : response.parameters) {
    Parameter& kept = *parameters++;
    kept = parameter;
    kept.key = writer.text(parameter.key);
    kept.text = writer.text(parameter.text);
  }
  return Ref(made);
}

void KeptAnswer::destroy(KeptAnswer* answer) noexcept {
  answer->~KeptAnswer();
  std::free(answer);
}

void answer_again(Request& request, std::span<const KeptOutput> outputs,
                  std::span<const Parameter> parameters) noexcept {
  Response* response = request.sink->new_response();
  for (const KeptOutput& kept : outputs) {
    OutputTensor& output = response->add_output(kept.name, kept.datatype, kept.shape);
    Status status = response->allocate(output, kept.size_bytes);
    Buffer from;
    from.data = const_cast<void*>(kept.data);
    from.size_bytes = kept.size_bytes;
    if (status.ok()) status = copy_on_host(output.buffer, from);
    if (status.ok()) continue;
    request.sink->discard(response);
    return fail_request(request, std::move(status));
  }
  for (const Parameter& kept : parameters) {
    Parameter& parameter = response->parameters.add(response->arena());
    parameter = kept;
    // The kept ones may go before the client has read them.
    parameter.key = response->arena().copy_text(kept.key);
    parameter.text = response->arena().copy_text(kept.text);
  }
  response->send(kFinal);
  (void)request.release().ok();
}

}  // namespace atl::caches
