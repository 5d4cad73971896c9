// The debugger itself is `jvmti debug`, which VS Code starts here; the rest of this extension is in
// package.json. There are four functions: the command to start, the choice of a process, and the two
// requests that VS Code has no button for.
"use strict";

const { execFile } = require("node:child_process");
const vscode = require("vscode");

/** The `jvmti` command of the settings. */
function command() {
  return vscode.workspace.getConfiguration("jvmti").get("command") || "jvmti";
}

/** The JVMs of this machine, as `jvmti ps --json` has them. */
function processes() {
  return new Promise((resolve, reject) => {
    execFile(command(), ["ps", "--json"], { maxBuffer: 1 << 26 }, (error, output, complaint) => {
      if (error && error.code === "ENOENT") {
        reject(
          new Error(
            `${command()} was not found: pip install 'jvmti[debug]' installs it, and the setting ` +
              "jvmti.command says where it is"
          )
        );
      } else if (error) {
        reject(new Error(complaint.trim() || error.message));
      } else {
        resolve(JSON.parse(output));
      }
    });
  });
}

/** An entry of the list that the user chooses from. */
function entry(jvm) {
  const name = jvm.main ? jvm.main.split("/").pop() : "?";
  return {
    label: name,
    description: `${jvm.pid}, Java ${jvm.java_version ?? "?"}, ${jvm.user}`,
    detail: jvm.arguments.join(" "),
    pid: String(jvm.pid),
  };
}

/** Let the user choose a JVM; its process id, or nothing. */
async function pickProcess() {
  try {
    const found = await processes();
    found.sort((one, other) => other.started - one.started);
    if (found.length === 0) {
      vscode.window.showInformationMessage("No JVM runs on this machine.");
      return undefined;
    }
    const chosen = await vscode.window.showQuickPick(found.map(entry), {
      placeHolder: "The JVM to debug; the youngest is first",
      matchOnDescription: true,
      matchOnDetail: true,
    });
    return chosen?.pid;
  } catch (error) {
    vscode.window.showErrorMessage(error.message);
    return undefined;
  }
}

/** Send a request of jvmti's own, and say why if it fails; its response, or nothing. */
async function requested(session, command, given) {
  try {
    return await session.customRequest(command, given);
  } catch (error) {
    vscode.window.showErrorMessage(error.message);
    return undefined;
  }
}

/** Let the selected frame return the value of an expression. */
async function returnEarly() {
  const at = vscode.debug.activeStackItem;
  if (at?.frameId === undefined) {
    vscode.window.showErrorMessage("Select the topmost frame of a thread that has stopped.");
    return;
  }
  const value = await vscode.window.showInputBox({
    prompt: "The value to return, a Java expression; empty for void",
  });
  if (value !== undefined) {
    await requested(at.session, "returnEarly", { frameId: at.frameId, value });
  }
}

/** Compile the source in the editor, and replace the code of its classes in the program. */
async function redefineClasses() {
  const session = vscode.debug.activeDebugSession;
  const source = vscode.window.activeTextEditor?.document;
  if (session?.type !== "jvmti" || source?.uri.scheme !== "file") {
    vscode.window.showErrorMessage("Open a source file of the program that is debugged.");
    return;
  }
  await source.save();
  const done = await requested(session, "redefineClasses", { sources: [source.uri.fsPath] });
  for (const one of done?.classes ?? []) {
    if (one.message) {
      vscode.window.showErrorMessage(`${one.name}: ${one.message}`);
    }
  }
}

function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("jvmti.pickProcess", pickProcess),
    vscode.commands.registerCommand("jvmti.returnEarly", returnEarly),
    vscode.commands.registerCommand("jvmti.redefineClasses", redefineClasses),
    vscode.debug.registerDebugAdapterDescriptorFactory("jvmti", {
      createDebugAdapterDescriptor: () =>
        new vscode.DebugAdapterExecutable(command(), ["debug"]),
    })
  );
}

module.exports = { activate };
