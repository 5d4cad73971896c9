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
    showInputBox: async () => "n * 2",
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
  const complaints = messages.splice(0);
  const requests = [];
  const session = {
    type: "jvmti",
    customRequest: async (command, given) => {
      requests.push([command, given]);
      if (command === "returnEarly") throw new Error("only the topmost frame can return");
      return { classes: [{ name: "Order", redefined: false, message: "no" }, { name: "Line" }] };
    },
  };
  const document = { uri: { scheme: "file", fsPath: "/src/Order.java" }, save: async () => true };
  await commands.get("jvmti.returnEarly")();
  await commands.get("jvmti.redefineClasses")();
  vscode.debug.activeStackItem = { session, threadId: 3, frameId: 7 };
  vscode.debug.activeDebugSession = session;
  vscode.window.activeTextEditor = { document };
  await commands.get("jvmti.returnEarly")();
  await commands.get("jvmti.redefineClasses")();
  console.log(JSON.stringify({ picked: picked ?? null, adapter, messages: complaints, requests, answers: messages }));
}

main();
