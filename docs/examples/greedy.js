// Greedy prediction with onnxruntime alone: node greedy.js FILE.onnx WORD ...
const fs = require("fs");
const ort = require("onnxruntime-node"); // in a browser: onnxruntime-web, and fetch for the JSON

const ints = (values, shape) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);

async function greedy(encoder, step, about, word) {
  const text = word.normalize(about.format.normalization).toLowerCase();
  const letters = [...text].map((letter) => about.letters[letter] ?? about.unknown);
  const source = [about.begin, ...letters, about.end];
  const [n, chosen] = [source.length, [about.begin]];
  const inputs = { source: ints(source, [1, n]), lengths: ints([n], [1]), tags: ints([0], [1]) };
  let state = await encoder.run(inputs);
  while (chosen.at(-1) !== about.end && chosen.length <= about.length_limit * n) {
    const result = await step.run({ previous: ints(chosen.slice(-1), [1]), ...state });
    for (const name of Object.keys(result).filter((name) => name.startsWith("next_")))
      state = { ...state, [name.slice(5)]: result[name] };
    const scores = result.log_probs.data; // column 0 is the end
    chosen.push(about.end + scores.indexOf(Math.max(...scores)));
  }
  return chosen.slice(1, -1).map((k) => about.target[k]).join(about.format.target_separator);
}

(async () => {
  const [file, ...words] = process.argv.slice(2);
  const about = JSON.parse(fs.readFileSync(file.replace(/onnx$/, "json")));
  const open = (path) => ort.InferenceSession.create(path);
  const [encoder, step] = [await open(file), await open(file.replace(/onnx$/, "step.onnx"))];
  for (const word of words) console.log(word, await greedy(encoder, step, about, word));
})();
