#pragma once
#include <alsa/asoundlib.h>

#include <string>

/// ALSA's library, opened at run time.
namespace nearfield::audio {

/// Calls of the library that are used, by their own names.
#define NEARFIELD_ALSA_CALLS(CALL)             \
  CALL(snd_strerror)                           \
  CALL(snd_lib_error_set_handler)              \
  CALL(snd_card_next)                          \
  CALL(snd_ctl_open)                           \
  CALL(snd_ctl_close)                          \
  CALL(snd_ctl_card_info)                      \
  CALL(snd_ctl_card_info_malloc)               \
  CALL(snd_ctl_card_info_free)                 \
  CALL(snd_ctl_card_info_get_id)               \
  CALL(snd_ctl_card_info_get_name)             \
  CALL(snd_ctl_pcm_next_device)                \
  CALL(snd_ctl_pcm_info)                       \
  CALL(snd_pcm_info_malloc)                    \
  CALL(snd_pcm_info_free)                      \
  CALL(snd_pcm_info_set_device)                \
  CALL(snd_pcm_info_set_stream)                \
  CALL(snd_pcm_info_get_name)                  \
  CALL(snd_device_name_hint)                   \
  CALL(snd_device_name_get_hint)               \
  CALL(snd_device_name_free_hint)              \
  CALL(snd_pcm_open)                           \
  CALL(snd_pcm_close)                          \
  CALL(snd_pcm_hw_params)                      \
  CALL(snd_pcm_hw_params_malloc)               \
  CALL(snd_pcm_hw_params_free)                 \
  CALL(snd_pcm_hw_params_any)                  \
  CALL(snd_pcm_hw_params_set_rate_resample)    \
  CALL(snd_pcm_hw_params_set_access)           \
  CALL(snd_pcm_hw_params_test_format)          \
  CALL(snd_pcm_hw_params_set_format)           \
  CALL(snd_pcm_hw_params_test_channels)        \
  CALL(snd_pcm_hw_params_set_channels)         \
  CALL(snd_pcm_hw_params_get_channels_min)     \
  CALL(snd_pcm_hw_params_get_channels_max)     \
  CALL(snd_pcm_hw_params_test_rate)            \
  CALL(snd_pcm_hw_params_set_rate)             \
  CALL(snd_pcm_hw_params_set_buffer_time_near) \
  CALL(snd_pcm_hw_params_set_period_time_near) \
  CALL(snd_pcm_hw_params_get_period_size)      \
  CALL(snd_pcm_sw_params)                      \
  CALL(snd_pcm_sw_params_malloc)               \
  CALL(snd_pcm_sw_params_free)                 \
  CALL(snd_pcm_sw_params_current)              \
  CALL(snd_pcm_sw_params_set_tstamp_mode)      \
  CALL(snd_pcm_sw_params_set_tstamp_type)      \
  CALL(snd_pcm_sw_params_set_avail_min)        \
  CALL(snd_pcm_status)                         \
  CALL(snd_pcm_status_malloc)                  \
  CALL(snd_pcm_status_free)                    \
  CALL(snd_pcm_status_get_avail)               \
  CALL(snd_pcm_status_get_htstamp)             \
  CALL(snd_pcm_prepare)                        \
  CALL(snd_pcm_start)                          \
  CALL(snd_pcm_wait)                           \
  CALL(snd_pcm_readi)

struct Alsa {
#define NEARFIELD_ALSA_MEMBER(name) \
  decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a name cannot be in parentheses
  NEARFIELD_ALSA_CALLS(NEARFIELD_ALSA_MEMBER)
#undef NEARFIELD_ALSA_MEMBER
};

/// The library, opened by the first call. Throws NoInputError where it is not installed.
const Alsa& alsa();

/// An error of the library in words: its own last line, which names the place in its configuration, and the system's.
std::string text_of_error(int error);

}  // namespace nearfield::audio
