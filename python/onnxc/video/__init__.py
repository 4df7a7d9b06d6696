"""Videos through the autoencoders of video generators, in tiles and chunks of bounded memory.

    decoder = onnxc.video.Decoder("decoder.so", entry="later", first="first", caches={"cache": "next"}, tile=32)
    frames = decoder.decode(latents)  # all of them
    for chunk in decoder.chunks(latents, frames="uint8"):
        print(f"{len(chunk)} frames are done")
    decoder.write(latents, "video.npy")

The [guide](../guides/video-decoder.md) goes from diffusers to such a file.
"""

from onnxc.video.decoder import Decoder
from onnxc.video.encoder import Encoder

__all__ = ["Decoder", "Encoder"]
