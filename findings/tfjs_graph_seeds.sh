#!/usr/bin/env bash
# TensorFlow.js: in a graph model, all normals of one graph seed are one, and seeds of uniforms are ignored.
#
# Expected: TensorFlow writes the seed of tf.random.set_seed(1) as `seed` into each random node, and the node's own as
# `seed2`. Two normals of (1, 0) and (1, 1) draw numbers of their own, which go on from run to run, and a RandomUniform
# of (1, 3) begins with the same numbers whenever the model is loaded.
# So it is: `seed2` is not read, so both normals draw the same numbers, and a truncated normal those of them that are
# in range; each run begins again. RandomUniform reads neither seed: each run and each loading draws other numbers.
#
# Versions: @tensorflow/tfjs 4.22.0, Node.js 20.20.2, Linux x86-64; the seeds as TensorFlow 2.21.0 writes them.
# 29 November 2026. Source: met while formats of seeds were compared; this script.
# Output seen:
#   two normals of one run are equal: true, two runs of one are: true
#   a truncated normal begins as they do: true
#   uniforms of two loadings are equal: false
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent @tensorflow/tfjs@4.22.0
cat > draw.js <<'SCRIPT'
const tf = require('@tensorflow/tfjs');

const FLOATS = {type: 'DT_FLOAT'};
const SEEDS = {first: ['RandomStandardNormal', 0], second: ['RandomStandardNormal', 1],
  truncated: ['TruncatedNormal', 2], uniform: ['RandomUniform', 3]};

function loaded() {
  const nodes = [
    {name: 'x', op: 'Placeholder', attr: {dtype: FLOATS, shape: {shape: {dim: [{size: '1'}]}}}},
    {name: 'shape', op: 'Const', attr: {dtype: {type: 'DT_INT32'},
      value: {tensor: {dtype: 'DT_INT32', tensorShape: {dim: [{size: '1'}]}}}}},
  ];
  for (const [name, [op, own]] of Object.entries(SEEDS)) {
    const attr = {seed: {i: '1'}, seed2: {i: String(own)}, dtype: FLOATS, T: {type: 'DT_INT32'}};
    nodes.push({name, op, input: ['shape'], attr});
  }
  const weightSpecs = [{name: 'shape', shape: [1], dtype: 'int32'}];
  const modelTopology = {node: nodes, versions: {producer: 987}};
  const weightData = new Int32Array([64]).buffer;
  return tf.loadGraphModel({load: async () => ({modelTopology, weightSpecs, weightData})});
}

function run(model) {
  const names = Object.keys(SEEDS);
  const values = model.execute({x: tf.zeros([1])}, names);
  return Object.fromEntries(names.map((name, i) => [name, Array.from(values[i].dataSync())]));
}

const equal = (one, other) => one.every((value, i) => value === other[i]);

async function main() {
  await tf.setBackend('cpu');
  const model = await loaded();
  const [one, two] = [run(model), run(model)];
  const other = run(await loaded());
  const [ofNodes, ofRuns] = [equal(one.first, one.second), equal(one.first, two.first)];
  const begins = equal(one.truncated.slice(0, 3), one.first.slice(0, 3));
  const ofLoadings = equal(one.uniform, other.uniform);
  console.log(`two normals of one run are equal: ${ofNodes}, two runs of one are: ${ofRuns}`);
  console.log(`a truncated normal begins as they do: ${begins}`);
  console.log(`uniforms of two loadings are equal: ${ofLoadings}`);
  process.exitCode = ofNodes && ofRuns && begins && !ofLoadings ? 0 : 1;
}

main();
SCRIPT
node draw.js 2>errors | grep -v "^$\|^=\|Hi, looks\|tfjs-node" || { tail -5 errors; exit 1; }
