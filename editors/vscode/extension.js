// The debugger itself is `jvmti debug`, which VS Code starts here; the rest of this extension is in
// package.json. There are two functions: the command to start, and the choice of a process.
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

function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("jvmti.pickProcess", pickProcess),
    vscode.debug.registerDebugAdapterDescriptorFactory("jvmti", {
      createDebugAdapterDescriptor: () =>
        new vscode.DebugAdapterExecutable(command(), ["debug"]),
    })
  );
}

module.exports = { activate };
