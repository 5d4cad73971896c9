// Runs the engine of Perfetto's page outside of a browser.
//
//     node perfetto_engine.js ENGINE_BUNDLE REQUESTS ANSWERS
//
// The page runs it in a worker, and sends bytes of its protocol through a port. Here the requests
// are a file, and so are the answers; the port stands between the two.

"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [bundle, requests, answers] = process.argv.slice(2);
const folder = path.dirname(path.resolve(bundle));

// A worker's surroundings, in which a request for the WebAssembly beside it is a file.
process.type = "renderer"; // no Node.js, in the eyes of the engine
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = { href: `https://localhost/${path.basename(bundle)}` };
globalThis.XMLHttpRequest = class {
  open(method, address) {
    this.file = path.join(folder, path.basename(String(address)));
  }
  send() {
    this.response = fs.readFileSync(this.file);
  }
};
// The engine asks for memory of 64 bits by a module of 23 bytes. Node.js 22 has it, but not its tables
// as the engine's other half has them.
WebAssembly.Module = class extends WebAssembly.Module {
  constructor(code) {
    if (code.length === 23) throw new WebAssembly.CompileError("no memory of 64 bits");
    super(code);
  }
};
vm.runInThisContext(fs.readFileSync(bundle, "utf8"), { filename: bundle });

const output = fs.openSync(answers, "w");
const port = { postMessage: (answer) => fs.writeSync(output, answer) };
globalThis.onmessage({ data: port });
// It is ready when the promises of its start have been kept.
setImmediate(() => port.onmessage({ data: new Uint8Array(fs.readFileSync(requests)) }));
