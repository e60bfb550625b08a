#include "nearfield/nearfield.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <new>

#include "api/stream_engine.hpp"
#include "core/error.hpp"

using nearfield::api::GivenArrays;
using nearfield::api::StreamEngine;

/// The handle given to a program.
struct nf_engine {
  GivenArrays arrays;
  std::unique_ptr<StreamEngine> stream;  ///< null before nf_engine_start()
  std::string error;
};

namespace {

constexpr std::size_t kXyz = 3;
using Complex = std::complex<float>;
static_assert(sizeof(Complex) == sizeof(nf_complex));

const Complex* complex_of(const nf_complex* values) { return reinterpret_cast<const Complex*>(values); }

/// Stores the message, or leaves only the status if memory is exhausted.
nf_status failed(nf_engine& engine, const char* what, nf_status status) noexcept {
  try {
    engine.error = what;
  } catch (...) {
    engine.error.clear();
  }
  return status;
}

/// Runs `body` and turns its exceptions into a status and a message.
template <class Body>
nf_status guarded(nf_engine* engine, Body body) noexcept {
  if (engine == nullptr) {
    return NF_USAGE;
  }
  try {
    return body();
  } catch (const nearfield::Error& error) {
    return failed(*engine, error.what(), static_cast<nf_status>(error.exit_code()));
  } catch (const std::exception& error) {
    return failed(*engine, error.what(), NF_INTERNAL);
  } catch (...) {
    return failed(*engine, "an exception of an unknown kind", NF_INTERNAL);
  }
}

void require_given(bool is_given, const char* what) {
  if (!is_given) {
    throw nearfield::UsageError(std::string("expected ") + what + ", found a null pointer or none");
  }
}

StreamEngine& started(nf_engine* engine) {
  if (!engine->stream) {
    throw nearfield::UsageError("expected nf_engine_start() first");
  }
  return *engine->stream;
}

void require_ascending(std::span<const double> frequencies_hz) {
  require_given(!frequencies_hz.empty(), "frequencies");
  for (std::size_t i = 0; i < frequencies_hz.size(); ++i) {
    if (!std::isfinite(frequencies_hz[i]) || frequencies_hz[i] <= 0.0 ||
        (i > 0 && frequencies_hz[i] <= frequencies_hz[i - 1])) {
      throw nearfield::UsageError("expected frequencies > 0 Hz that ascend");
    }
  }
}

/// The product of these factors. No program has 2^48 bytes, so that a larger count is a negative or wrapped one; a
/// smaller one can be multiplied by the size of a value and added to a pointer.
std::size_t counted(std::initializer_list<std::uint64_t> factors, std::size_t value_bytes, const char* what) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48U;
  std::uint64_t left = kMostBytes / value_bytes;
  std::uint64_t count = 1;
  for (const std::uint64_t factor : factors) {
    if (factor > left) {
      throw nearfield::UsageError(std::string("expected a number of ") + what + " that memory can hold, found " +
                                  std::to_string(factor) + (factors.size() > 1 ? " times others" : ""));
    }
    left /= std::max<std::uint64_t>(factor, 1);
    count *= factor;
  }
  return count;
}

template <class Value>
std::vector<Value> copied(const Value* values, std::size_t count) {
  return {values, values + count};
}

template <class Value>
void require_finite(const Value* values, std::size_t count, const char* what) {
  if (!std::all_of(values, values + count, [](Value value) { return std::isfinite(value); })) {
    throw nearfield::UsageError(std::string("expected finite ") + what + ", found one that is not");
  }
}

/// Checks both parts of each value.
void require_finite(const nf_complex* values, std::size_t count, const char* what) {
  if (!std::all_of(values, values + count, [](nf_complex v) { return std::isfinite(v.re) && std::isfinite(v.im); })) {
    throw nearfield::UsageError(std::string("expected finite ") + what + ", found one that is not");
  }
}

/// Allows NaN, which masks a microphone.
void require_gains(const nf_complex* gains, std::size_t count) {
  if (std::any_of(gains, gains + count, [](nf_complex gain) { return std::isinf(gain.re) || std::isinf(gain.im); })) {
    throw nearfield::UsageError("expected gains that are finite or NaN, found an infinite one");
  }
}

std::string name_of(const char* name) {
  require_given(name != nullptr && *name != '\0', "a name");
  return nearfield::api::name_in_settings(name);
}

nearfield::api::InputOfProgram input_of(const nf_input& input) {
  using nearfield::EngineKind;
  using nearfield::InputForm;
  if (input.form > NF_INPUT_SPECTRA || input.engine > NF_ENGINE_REFERENCE) {
    throw nearfield::UsageError("expected a form NF_INPUT_ and an engine NF_ENGINE_");
  }
  nearfield::api::InputOfProgram out{.form = static_cast<InputForm>(input.form),
                                     .engine = static_cast<EngineKind>(input.engine),
                                     .channels = 0,
                                     .sample_rate_hz = 0.0,
                                     .frequencies_hz = {}};
  if (out.form != InputForm::kBits) {
    if (input.channels == 0 || input.channels > static_cast<std::uint32_t>(nearfield::kMaxMicrophones)) {
      throw nearfield::UsageError("expected 1 to 4096 channels of samples or spectra");
    }
    out.channels = static_cast<int>(input.channels);
  }
  if (out.form != InputForm::kBits) {
    const bool is_known = std::isfinite(input.sample_rate_hz) && input.sample_rate_hz > 0.0;
    if (!is_known && (out.form == InputForm::kSamples || input.sample_rate_hz != 0.0)) {
      throw nearfield::UsageError("expected a sample_rate_hz > 0 of samples, or 0 of spectra if it is not known");
    }
    out.sample_rate_hz = input.sample_rate_hz;
  }
  if (out.form == InputForm::kSpectra) {
    require_given(input.frequencies_hz != nullptr && input.frequency_count > 0, "frequencies of spectra");
    out.frequencies_hz = copied(input.frequencies_hz, input.frequency_count);
    require_ascending(out.frequencies_hz);
  }
  return out;
}

template <class Value>
nf_status push(nf_engine* engine, const Value* values, std::uint64_t count,
               void (StreamEngine::*push)(std::span<const Value>)) {
  return guarded(engine, [&] {
    require_given(values != nullptr || count == 0, "values");
    (started(engine).*push)({values, counted({count}, sizeof(Value), "values")});
    return NF_OK;
  });
}

}  // namespace

const char* nf_version(void) { return NEARFIELD_VERSION; }

nf_status nf_engine_open(nf_engine** engine) {
  if (engine == nullptr) {
    return NF_USAGE;
  }
  *engine = new (std::nothrow) nf_engine();
  return *engine == nullptr ? NF_INTERNAL : NF_OK;
}

void nf_engine_close(nf_engine* engine) { delete engine; }

const char* nf_engine_error(const nf_engine* engine) { return engine == nullptr ? "" : engine->error.c_str(); }

nf_status nf_engine_give_positions(nf_engine* engine, const double* positions_m, uint32_t count) {
  return guarded(engine, [&] {
    require_given(positions_m != nullptr || count == 0, "positions");
    if (count > static_cast<std::uint32_t>(nearfield::kMaxMicrophones)) {
      throw nearfield::UsageError("expected at most 4096 positions, found " + std::to_string(count));
    }
    require_finite(positions_m, kXyz * count, "positions");
    std::vector<nearfield::MicrophonePosition> places;
    for (std::size_t i = 0; i < count; ++i) {
      places.push_back({positions_m[kXyz * i], positions_m[kXyz * i + 1], positions_m[kXyz * i + 2]});
    }
    engine->arrays.positions_m = std::move(places);
    return NF_OK;
  });
}

nf_status nf_engine_give_calibration(nf_engine* engine, const char* name, const double* frequencies_hz,
                                     uint32_t frequency_count, const nf_complex* gains, uint32_t channels) {
  return guarded(engine, [&] {
    const std::string key = name_of(name);
    require_given(frequencies_hz != nullptr && gains != nullptr, "frequencies and gains");
    const std::size_t count = counted({frequency_count, channels}, sizeof(nf_complex), "gains");
    require_ascending({frequencies_hz, frequency_count});
    require_gains(gains, count);
    engine->arrays.calibrations[key] = {.frequencies_hz = copied(frequencies_hz, frequency_count),
                                        .gains = copied(complex_of(gains), count)};
    return NF_OK;
  });
}

nf_status nf_engine_give_templates(nf_engine* engine, const char* name, const double* frequencies_hz,
                                   uint32_t frequency_count, const double* positions_m, uint32_t count,
                                   const nf_complex* templates, const float* coherence, uint32_t channels) {
  return guarded(engine, [&] {
    const std::string key = name_of(name);
    require_given(frequencies_hz != nullptr && positions_m != nullptr && templates != nullptr,
                  "frequencies, positions and templates");
    const std::size_t values = counted({frequency_count, count, channels}, sizeof(nf_complex), "templates");
    const std::size_t places = counted({frequency_count, count}, sizeof(float), "places");
    require_ascending({frequencies_hz, frequency_count});
    require_finite(positions_m, kXyz * count, "positions");
    require_finite(templates, values, "templates");
    require_finite(coherence, coherence == nullptr ? 0 : places, "coherence");
    engine->arrays.templates[key] = {
        .frequencies_hz = copied(frequencies_hz, frequency_count),
        .positions_m = copied(positions_m, kXyz * count),
        .a = copied(complex_of(templates), values),
        .coherence = coherence == nullptr ? std::vector<float>(places, 1.0F) : copied(coherence, places)};
    return NF_OK;
  });
}

nf_status nf_engine_give_points(nf_engine* engine, const char* name, const double* points_m, uint32_t count) {
  return guarded(engine, [&] {
    const std::string key = name_of(name);
    require_given(points_m != nullptr, "points");
    require_finite(points_m, kXyz * count, "points");
    engine->arrays.points[key] = copied(points_m, kXyz * count);
    return NF_OK;
  });
}

nf_status nf_engine_start(nf_engine* engine, const char* config_yaml, const nf_input* input) {
  return guarded(engine, [&] {
    require_given(config_yaml != nullptr && input != nullptr, "a configuration and an input");
    engine->stream.reset();
    engine->stream = std::make_unique<StreamEngine>(config_yaml, input_of(*input), engine->arrays);
    return NF_OK;
  });
}

const char* nf_engine_remarks(const nf_engine* engine) {
  return engine == nullptr || !engine->stream ? "" : engine->stream->remarks().c_str();
}

uint32_t nf_engine_processors(const nf_engine* engine) {
  return engine == nullptr || !engine->stream ? 0 : static_cast<uint32_t>(engine->stream->layouts().size());
}

const nf_engine_layout* nf_engine_get_layout(const nf_engine* engine, uint32_t processor) {
  return processor < nf_engine_processors(engine) ? &engine->stream->layouts()[processor].layout() : nullptr;
}

ptrdiff_t nf_engine_find_processor(const nf_engine* engine, const char* name) {
  for (uint32_t i = 0; name != nullptr && i < nf_engine_processors(engine); ++i) {
    if (engine->stream->layouts()[i].header().processor == name) {
      return i;
    }
  }
  return -1;
}

ptrdiff_t nf_engine_find_product(const nf_engine* engine, uint32_t processor, const char* name) {
  if (name == nullptr || processor >= nf_engine_processors(engine)) {
    return -1;
  }
  const nearfield::ResultHeader& header = engine->stream->layouts()[processor].header();
  const nearfield::Product* const product = header.product(name);
  return product == nullptr ? -1 : product - header.products.data();
}

nf_status nf_engine_push_bits(nf_engine* engine, const uint32_t* words, uint64_t count) {
  return push(engine, words, count, &StreamEngine::push_bits);
}

nf_status nf_engine_push_samples(nf_engine* engine, const float* samples, uint64_t count) {
  return push(engine, samples, count, &StreamEngine::push_samples);
}

nf_status nf_engine_push_spectra(nf_engine* engine, const nf_complex* spectra, uint64_t count) {
  return push(engine, complex_of(spectra), count, &StreamEngine::push_spectra);
}

nf_status nf_engine_next(nf_engine* engine, nf_engine_frame* frame) {
  return guarded(engine, [&] {
    require_given(frame != nullptr, "a frame");
    const std::optional<nf_engine_frame> found = started(engine).next();
    if (found) {
      *frame = *found;
    }
    return found ? NF_OK : NF_MORE;
  });
}

nf_status nf_engine_restart(nf_engine* engine) {
  return guarded(engine, [&] {
    started(engine).restart();
    return NF_OK;
  });
}
