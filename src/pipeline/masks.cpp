#include "pipeline/masks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "files/nfr/nfr_json.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostMaskBytes = std::size_t{64} << 20U;

MaskChange change_of(const nlohmann::json& object, int microphones) {
  MaskChange change{.first_bit_time = nfr::integer_at<std::uint64_t>(object, "first_bit_time"),
                    .channels = nfr::integers_at<int>(object, "channels")};
  if (const std::string flaw = flaw_of_mask(change, microphones); !flaw.empty()) {
    throw DataError(flaw);
  }
  return change;
}

}  // namespace

MaskSchedule schedule_of(const MaskChanges& changes, const InputInfo& input) {
  MaskSchedule schedule;
  for (const MaskChange& change : changes) {
    schedule.add(sample_of(input, change.first_bit_time), change.channels);
  }
  return schedule;
}

MaskChanges find_masks(ReplayPart& part, MicrophoneWatch& watch, std::uint64_t first, std::uint64_t end,
                       const LookHooks& hooks) {
  MaskChanges changes;
  Engine& engine = *part.engine;
  const std::unique_ptr<Recording> recording = part.reopen();
  const InputInfo& input = recording->info();
  const std::uint64_t hop = hop_samples_of(*recording);
  std::vector<std::complex<float>> spectra(engine.spectra_values());
  for (std::uint64_t frame = first; frame < end && !(hooks.stop && hooks.stop()); ++frame) {
    frame = std::max(frame, (watch.due_sample() + hop - 1) / hop);
    if (frame >= end) {
      break;
    }
    if (hooks.progress) {
      hooks.progress(frame - first, end - first);
    }
    const FinishedBatch batch = recording->compute(frame * hop, 1, engine);
    if (batch.statuses().front().missing_bits > 0) {
      continue;
    }
    engine.read_spectra(batch, 0, spectra);
    if (std::optional<MicrophoneWatch::Found> found = watch.add(frame * hop, spectra)) {
      changes.push_back(
          {.first_bit_time = bit_time_of(input, found->from_sample), .channels = std::move(found->channels)});
    }
  }
  engine.forget();
  return changes;
}

std::string to_json(const MaskChanges& changes, int microphones) {
  nlohmann::json masks = nlohmann::json::array();
  for (const MaskChange& change : changes) {
    masks.push_back({{"first_bit_time", change.first_bit_time}, {"channels", change.channels}});
  }
  return nlohmann::json({{"microphones", microphones}, {"masks", masks}}).dump() + "\n";
}

MaskChanges read_masks(const std::filesystem::path& path, int microphones) {
  const std::string text = read_regular_file(path, "masks as nearfield masks writes them", kMostMaskBytes + 1);
  if (text.size() > kMostMaskBytes) {
    throw DataError(
        fmt::format("{}: expected masks, found a file of more than {} bytes", path.string(), kMostMaskBytes));
  }
  try {
    const nlohmann::json object = nlohmann::json::parse(text);
    if (const int found = nfr::integer_at<int>(object, "microphones"); found != microphones) {
      throw DataError(fmt::format("expected masks of {} microphones, found {}", microphones, found));
    }
    if (!object.at("masks").is_array()) {
      throw DataError("expected a list for masks");
    }
    MaskChanges changes;
    for (const nlohmann::json& one : object.at("masks")) {
      MaskChange change = change_of(one, microphones);
      if (!changes.empty() && change.first_bit_time <= changes.back().first_bit_time) {
        throw DataError(fmt::format("expected first_bit_time in ascending order, found {} behind {}",
                                    change.first_bit_time, changes.back().first_bit_time));
      }
      changes.push_back(std::move(change));
    }
    return changes;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{}: expected masks as nearfield masks writes them: {}", path.string(), error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::string_view name_of(MaskSource source) {
  switch (source) {
    case MaskSource::kGiven:
      return "given";
    case MaskSource::kRecorded:
      return "recorded";
    case MaskSource::kFound:
      return "found";
    case MaskSource::kNone:
      break;
  }
  return "none";
}

MaskSource mask_source(const Recording& recording, bool are_given) {
  const ArraySettings& array = recording.plan().settings.array;
  if (!array.health.enabled || array.health.mask == HealthMask::kNone) {
    if (are_given) {
      throw UsageError(
          "--masks: expected array.health.enabled: true and array.health.mask: certain or all, found false or none");
    }
    return MaskSource::kNone;
  }
  if (are_given) {
    return MaskSource::kGiven;
  }
  if (recording.masks() != nullptr) {
    return MaskSource::kRecorded;
  }
  return are_watched(array) ? MaskSource::kFound : MaskSource::kNone;
}

}  // namespace nearfield
