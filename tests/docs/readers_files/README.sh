# Recordings of the reader's own array: 8 x 8 microphones, a tone of 1 kHz.
cc tests/docs/readers_files/time_data.c $(pkg-config --cflags --libs hdf5) -lm -o time_data
./time_data recording.h5 64 1000
python3 - <<'PYTHON'
import math, struct, wave
with wave.open("recording.wav", "wb") as sound:
    sound.setnchannels(64)
    sound.setsampwidth(2)
    sound.setframerate(48000)
    sound.writeframes(b"".join(struct.pack("<64h", *[round(8000 * math.sin(2 * math.pi * t / 48))] * 64) for t in range(4800)))
PYTHON
