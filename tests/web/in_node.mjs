// node in_node.mjs EXAMPLE SEED ...: prints what ONNX Runtime Web draws in Node, as JSON.
import fs from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [example, ...seeds] = process.argv.slice(2);
const { load, sha256 } = await import(pathToFileURL(path.join(example, 'draw.mjs')));
const draw = await load('wasm', (name) => fs.readFile(path.join(example, 'models', name)));
const drawn = {};
for (const seed of seeds) {
  const { words, noise, next } = await draw(BigInt(seed));
  drawn[seed] = { words: await sha256(words), noise: await sha256(noise), next: Array.from(next) };
}
console.log(JSON.stringify(drawn));
