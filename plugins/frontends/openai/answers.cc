#include "frontends/openai/answers.h"

#include <google/protobuf/stubs/strutil.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <random>

#include "atoll/core/text.h"
#include "atoll/lib/json_writer.h"

namespace atl::frontends::openai {
namespace {

template <class Write>
std::string json_object(Write&& write) {
  CheckedBuffer buffer;
  CheckedWriter json(buffer);
  write_object(json, [&] { write(json); });
  return {buffer.GetString(), buffer.GetSize()};
}

void write_null(CheckedWriter& json, std::string_view name) {
  write_key(json, name);
  json.Null();
}

void write_usage(CheckedWriter& json, const Usage& usage) {
  write_object(json, "usage", [&] {
    write_member(json, "prompt_tokens", usage.prompt_tokens);
    write_member(json, "completion_tokens", usage.completion_tokens);
    write_member(json, "total_tokens", usage.prompt_tokens + usage.completion_tokens);
  });
}

void write_head(CheckedWriter& json, const AnswerHead& head, std::string_view object) {
  write_member(json, "id", head.id);
  write_member(json, "object", object);
  write_member(json, "created", head.created_s);
  write_member(json, "model", head.model);
}

/// One chunk with one choice. \param write  what the choice has of its own \param reason  empty: it goes on
template <class Write>
std::string chunk(const AnswerHead& head, uint32_t choice, std::string_view reason, bool has_usage,
                  Write&& write) {
  const std::string json = json_object([&](CheckedWriter& out) {
    write_head(out, head, head.is_chat ? "chat.completion.chunk" : "text_completion");
    write_key(out, "choices");
    out.StartArray();
    write_object(out, [&] {
      write_member(out, "index", choice);
      write(out);
      write_null(out, "logprobs");
      reason.empty() ? write_null(out, "finish_reason") : write_member(out, "finish_reason", reason);
    });
    out.EndArray();
    if (has_usage) write_null(out, "usage");
  });
  return cat("data: ", json, "\n\n");
}

/// The shortest digits that give the same float again.
void write_float(CheckedWriter& json, float value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  json.RawValue(digits, static_cast<size_t>(end - digits), rapidjson::kNumberType);
}

/// Of the little-endian bytes of the floats.
std::string base64_of(std::span<const float> values) {
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  std::string text;
  google::protobuf::Base64Escape(bytes, &text);
  return text;
}

void write_model(CheckedWriter& json, const ListedModel& model) {
  write_member(json, "id", model.id);
  write_member(json, "object", "model");
  write_member(json, "created", model.created_s);
  write_member(json, "owned_by", "atoll");
}

}  // namespace

std::string new_id(std::string_view prefix) {
  // One random number a process, and a counter: unique, and without a lock.
  static const uint64_t process = [] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  }();
  static std::atomic<uint64_t> next{0};
  const uint64_t parts[] = {process, next.fetch_add(1, std::memory_order_relaxed)};
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%08llx", static_cast<unsigned long long>(parts[0]),
                static_cast<unsigned long long>(parts[1]));
  return cat(prefix, text);
}

std::string completion_json(const AnswerHead& head, std::span<const FinishedChoice> choices,
                            const Usage& usage) {
  return json_object([&](CheckedWriter& json) {
    write_head(json, head, head.is_chat ? "chat.completion" : "text_completion");
    uint32_t index = 0;
    write_array(json, "choices", choices, [&](const FinishedChoice& choice) {
      write_object(json, [&] {
        write_member(json, "index", index++);
        if (head.is_chat) {
          write_object(json, "message", [&] {
            write_member(json, "role", "assistant");
            write_member(json, "content", choice.text);
          });
        } else {
          write_member(json, "text", choice.text);
        }
        write_null(json, "logprobs");
        write_member(json, "finish_reason", choice.finish_reason);
      });
    });
    write_usage(json, usage);
  });
}

std::string role_event(const AnswerHead& head, uint32_t choice, bool has_usage) {
  return chunk(head, choice, {}, has_usage, [](CheckedWriter& json) {
    write_object(json, "delta", [&] {
      write_member(json, "role", "assistant");
      write_member(json, "content", "");
    });
  });
}

std::string text_event(const AnswerHead& head, uint32_t choice, std::string_view text, bool has_usage) {
  return chunk(head, choice, {}, has_usage, [&](CheckedWriter& json) {
    if (!head.is_chat) return write_member(json, "text", text);
    write_object(json, "delta", [&] { write_member(json, "content", text); });
  });
}

std::string finish_event(const AnswerHead& head, uint32_t choice, std::string_view reason, bool has_usage) {
  return chunk(head, choice, reason, has_usage, [&](CheckedWriter& json) {
    if (!head.is_chat) return write_member(json, "text", "");
    write_object(json, "delta", [] {});
  });
}

std::string usage_event(const AnswerHead& head, const Usage& usage) {
  const std::string json = json_object([&](CheckedWriter& out) {
    write_head(out, head, head.is_chat ? "chat.completion.chunk" : "text_completion");
    write_array(out, "choices", std::vector<int>(), [](int) {});
    write_usage(out, usage);
  });
  return cat("data: ", json, "\n\n");
}

std::string embeddings_json(std::string_view model, std::span<const std::vector<float>> embeddings,
                            bool is_base64) {
  return json_object([&](CheckedWriter& json) {
    write_member(json, "object", "list");
    uint32_t index = 0;
    write_array(json, "data", embeddings, [&](const std::vector<float>& embedding) {
      write_object(json, [&] {
        write_member(json, "object", "embedding");
        write_member(json, "index", index++);
        if (is_base64) return write_member(json, "embedding", base64_of(embedding));
        write_array(json, "embedding", embedding, [&](float value) { write_float(json, value); });
      });
    });
    write_member(json, "model", model);
    write_object(json, "usage", [&] {
      write_member(json, "prompt_tokens", 0);
      write_member(json, "total_tokens", 0);
    });
  });
}

std::string model_json(const ListedModel& model) {
  return json_object([&](CheckedWriter& json) { write_model(json, model); });
}

std::string models_json(std::span<const ListedModel> models) {
  return json_object([&](CheckedWriter& json) {
    write_member(json, "object", "list");
    write_array(json, "data", models,
                [&](const ListedModel& model) { write_object(json, [&] { write_model(json, model); }); });
  });
}

}  // namespace atl::frontends::openai
