// Draws from a seed in ONNX Runtime Web. The page uses it, and it runs in Node as well.

export const SIDE = 256; // of the picture of the words
export const IMAGES = 36;
export const IMAGE_SIDE = 16;
const LATENT = 4;

/** The largest seed: the generator's key has 64 bits. */
export const MAX_SEED = 2n ** 64n - 1n;

/** The state of a run: a counter of 0, and the seed as the key, least significant words first. */
export const stateOf = (seed) =>
  Uint32Array.of(0, 0, 0, 0, Number(seed & 0xffffffffn), Number(seed >> 32n));

/** The SHA-256 of an array's bytes, in hexadecimal. */
export async function sha256(array) {
  const digest = await crypto.subtle.digest('SHA-256', array);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Loads both models.
 *
 * @param provider 'wasm', or 'webgpu', which leaves the nodes that draw to WebAssembly: a GPU may
 *   round divisions and square roots in its own way.
 * @param read takes the name of a file in models/ to its bytes.
 * @returns a function that takes a seed (BigInt) to what is drawn from it. One call at a time.
 */
export async function load(provider, read) {
  const ort = await import(`onnxruntime-web/${provider}`);
  ort.env.wasm.numThreads = 1;
  const draws = JSON.parse(new TextDecoder().decode(await read('draws.json')));
  const open = async (name) =>
    ort.InferenceSession.create(await read(`${name}.onnx`), {
      executionProviders: [
        provider === 'webgpu' ? { name: provider, forceCpuNodeNames: draws[name] } : provider,
      ],
      // Errors only: which nodes run where is no news.
      logSeverityLevel: 3,
    });
  // One after the other: the runtime initialises itself with the first.
  const words = await open('words');
  const vae = await open('vae');
  const prior = new ort.Tensor('float32', new Float32Array(IMAGES * LATENT), [IMAGES, LATENT]);

  const draw = async (seed) => {
    const state = new ort.Tensor('uint32', stateOf(seed), [6]);
    const begin = performance.now();
    const { bits } = await words.run({ state });
    const milliseconds = performance.now() - begin;
    const decoded = await vae.run({ mean: prior, log_variance: prior, random_state: state });
    return {
      words: bits.data,
      milliseconds,
      noise: decoded.noise.data,
      images: decoded.images.data,
      next: decoded.next_random_state.data,
    };
  };
  await draw(0n); // The first run compiles and allocates: it is not timed.
  return draw;
}
