#include "cl/measured_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "cl/program_cache.hpp"

namespace nearfield::ocl {
namespace {

/// Choices of this process, by the path of the choice's file. They are per process, like the files per machine: engines
/// of one process must agree even if the folder of choices is emptied in between.
struct ChoicesOfProcess {
  std::mutex mutex;  ///< guards `ways`; held during a measurement
  std::map<std::filesystem::path, std::string> ways;
};

ChoicesOfProcess& choices_of_process() {
  static ChoicesOfProcess choices;
  return choices;
}

std::string texts_of(std::span<const std::string_view> files) {
  std::string texts;
  for (const std::string_view file : files) {
    for (const EmbeddedKernel& kernel : embedded_kernels()) {
      if (kernel.path == file) {
        texts += fmt::format("{}", fmt::join(kernel.texts, ""));
      }
    }
  }
  return texts;
}

CacheKey key_of(const Device& device, const ChoiceQuestion& question) {
  const std::string options = fmt::format("{} of {}: {}", question.stage, question.sizes, question.ways);
  return device_key("choice", device.queue().getInfo<CL_QUEUE_DEVICE>(), options, texts_of(question.kernels));
}

/// Empty if it names none of the ways.
std::optional<std::size_t> way_of(const ChoiceQuestion& question, std::string_view name) {
  const auto found = std::find(question.ways.begin(), question.ways.end(), name);
  return found == question.ways.end() ? std::nullopt
                                      : std::optional(static_cast<std::size_t>(found - question.ways.begin()));
}

std::optional<std::size_t> way_of(const ChoiceQuestion& question, std::span<const unsigned char> stored) {
  return way_of(question, std::string(stored.begin(), stored.end()));
}

std::optional<std::size_t> stored_way(const CacheFiles& files, const CacheKey& key, const ChoiceQuestion& question) {
  const std::optional<std::vector<unsigned char>> stored = files.load(key);
  const std::optional<std::size_t> way = stored ? way_of(question, *stored) : std::nullopt;
  std::error_code error;
  if (!way && files.is_on() && std::filesystem::exists(std::filesystem::symlink_status(files.path_of(key), error))) {
    spdlog::warn("{}: {}: this file holds no choice of a kernel that can be used; it is not taken into account",
                 question.stage, files.path_of(key).string());
  }
  return way;
}

Choice choice_by_rule(const ChoiceQuestion& question, std::string_view why) {
  spdlog::info("{}: {}, by rule, because {} (docs/use/program_cache.md)", question.stage,
               question.ways.at(question.by_rule), why);
  return {question.by_rule, ChoiceOrigin::kRule};
}

Choice measured_choice(const CacheFiles& files, const CacheKey& key, const ChoiceQuestion& question,
                       const Measurement& measure) {
  constexpr std::string_view kNotKept = "no measured choice can be kept";
  if (!files.can_store_first()) {
    return choice_by_rule(question, kNotKept);
  }
  const std::optional<std::size_t> fastest = measure();
  if (!fastest) {
    return choice_by_rule(question, "every candidate failed when it was measured");
  }
  const std::string name = question.ways.at(*fastest);
  const auto first =
      files.store_first(key, std::span(reinterpret_cast<const unsigned char*>(name.data()), name.size()),
                        [&](std::span<const unsigned char> stored) { return way_of(question, stored).has_value(); });
  if (!first) {
    return choice_by_rule(question, kNotKept);
  }
  const std::size_t way = way_of(question, *first).value();
  const bool is_own = question.ways[way] == name;
  spdlog::info("{}: {}, {}; kept in {}", question.stage, question.ways[way],
               is_own ? "measured" : "measured by another process at the same time", files.path_of(key).string());
  return {way, is_own ? ChoiceOrigin::kMeasured : ChoiceOrigin::kRemembered};
}

}  // namespace

std::filesystem::path choices_folder() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / "choices";
}

std::filesystem::path choice_file(const Device& device, const ChoiceQuestion& question) {
  return CacheFiles(choices_folder()).path_of(key_of(device, question));
}

Choice choose_once(const Device& device, const ChoiceQuestion& question, const Measurement& measure) {
  const CacheFiles files(choices_folder());
  const CacheKey key = key_of(device, question);
  ChoicesOfProcess& process = choices_of_process();
  const std::lock_guard lock(process.mutex);
  if (const auto found = process.ways.find(files.path_of(key)); found != process.ways.end()) {
    return {way_of(question, found->second).value(), ChoiceOrigin::kRemembered};
  }
  Choice choice;
  if (const std::optional<std::size_t> way = stored_way(files, key, question)) {
    spdlog::debug("{}: {}, remembered in {}", question.stage, question.ways[*way], files.path_of(key).string());
    choice = {*way, ChoiceOrigin::kRemembered};
  } else {
    choice = measured_choice(files, key, question, measure);
  }
  process.ways.emplace(files.path_of(key), question.ways[choice.way]);
  return choice;
}

}  // namespace nearfield::ocl
