// What an ONNX file says of itself in its metadata: enough of protobuf to read it.
const METADATA = 14; // ModelProto.metadata_props
const IR_VERSION = 1;
const GRAPH = 7;

/**
 * The metadata of an ONNX file, by key.
 *
 * @param bytes of the file.
 * @throws Error if it is no ONNX file.
 */
export function metadataOf(bytes) {
  const found = {};
  const seen = new Set();
  for (const [field, value] of fields(bytes)) {
    seen.add(field);
    if (field !== METADATA) continue;
    const entry = Object.fromEntries(fields(value));
    const [key, text] = [1, 2].map((i) => new TextDecoder().decode(entry[i] ?? new Uint8Array()));
    found[key] = text;
  }
  if (!seen.has(IR_VERSION) || !seen.has(GRAPH)) throw new Error('no ONNX file');
  return found;
}

/** The fields of a message: numbers, and bytes of what has a length. */
function* fields(bytes) {
  let place = 0;
  const varint = () => {
    let [value, scale] = [0, 1];
    for (;;) {
      if (place >= bytes.length || scale > 2 ** 63) throw new Error('no ONNX file');
      const byte = bytes[place++];
      value += (byte & 127) * scale; // exact for lengths; only those are used
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  while (place < bytes.length) {
    const tag = varint();
    const [field, kind] = [Math.floor(tag / 8), tag % 8];
    if (kind === 0) yield [field, varint()];
    else if (kind === 1) place += 8;
    else if (kind === 5) place += 4;
    else if (kind === 2) {
      const size = varint();
      if (place + size > bytes.length) throw new Error('no ONNX file');
      yield [field, bytes.subarray(place, place + size)];
      place += size;
    } else throw new Error('no ONNX file');
  }
}
