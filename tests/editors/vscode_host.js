// As much of VS Code as the extension asks for: it runs the command that the extension registers,
// chooses from its list, and prints what came of it.
"use strict";

const Module = require("node:module");

const [extension, jvmti, wanted] = process.argv.slice(2);
const commands = new Map();
const factories = new Map();
const messages = [];
const vscode = {
  workspace: { getConfiguration: () => ({ get: () => jvmti }) },
  commands: { registerCommand: (name, run) => commands.set(name, run) },
  debug: { registerDebugAdapterDescriptorFactory: (type, made) => factories.set(type, made) },
  window: {
    showQuickPick: async (entries) => entries.find((one) => one.pid === wanted),
    showInformationMessage: (text) => messages.push(text),
    showErrorMessage: (text) => messages.push(text),
  },
  DebugAdapterExecutable: class {
    constructor(command, args) {
      Object.assign(this, { command, args });
    }
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

async function main() {
  const context = { subscriptions: [] };
  require(extension).activate(context);
  const picked = await commands.get("jvmti.pickProcess")();
  const adapter = factories.get("jvmti").createDebugAdapterDescriptor();
  console.log(JSON.stringify({ picked: picked ?? null, adapter, messages }));
}

main();
