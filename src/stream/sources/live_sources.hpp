#pragma once
#include <memory>

#include "stream/source.hpp"

namespace nearfield {

/// Receives packets "NFB1" in batches, into preallocated buffers.
std::unique_ptr<Source> make_udp_source(const SourceSettings& settings);

/// Reads raw words [element][word], little-endian, or samples of any format, from element 0 on. Standard input and
/// ordinary files end the stream at their end. A named pipe does not: when its last writer closes it, the next one
/// begins a new stream (the ids count 1, 2, ...) at element 0. An incomplete element at an end is dropped and counted.
std::unique_ptr<Source> make_pipe_source(const SourceSettings& settings);

/// Reads an ALSA device, as float32 [sample][microphone]. Samples that the driver lost are missing, as many as passed
/// by its time. A device that goes, as when it is unplugged, ends the stream; when it comes back, the next one begins.
/// Throws NoInputError and ConfigError as audio::Capture.
std::unique_ptr<Source> make_audio_source(const SourceSettings& settings);

}  // namespace nearfield
