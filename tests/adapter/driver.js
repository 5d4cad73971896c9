// Drives `jvmti debug` with the client that editors' adapters are tested with; see test_driver.py.
'use strict';

const assert = require('assert');
const { DebugClient } = require(process.argv[2]);
const [python, adapter, source, launch, attach, lines] = [
  process.argv[3],
  process.argv[4],
  process.argv[5],
  JSON.parse(process.argv[6]),
  JSON.parse(process.argv[7]),
  JSON.parse(process.argv[8]),
];

const checks = {
  async 'initialize says what the adapter can do'(client) {
    const response = await client.initializeRequest();
    assert.strictEqual(response.body.supportsConfigurationDoneRequest, true);
    assert.strictEqual(response.body.supportsFunctionBreakpoints, true);
  },
  async 'an unknown request is an error'(client) {
    await client.initializeRequest();
    await assert.rejects(client.customRequest('fly'), /no request/);
  },
  async 'a program runs to its end'(client) {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ ...launch, command: [...launch.command, '2'] }),
      client.waitForEvent('exited'),
      client.waitForEvent('terminated'),
    ]);
  },
  async 'what the program writes is shown'(client) {
    await Promise.all([
      client.configurationSequence(),
      client.launch(launch),
      client.assertOutput('stdout', 'ready'),
    ]);
  },
  async 'a thread stops at a breakpoint'(client) {
    await client.hitBreakpoint(launch, { path: source, line: lines.GROSS, verified: false });
  },
  async 'a condition decides'(client) {
    await Promise.all([
      client.waitForEvent('initialized').then(async () => {
        await client.setBreakpointsRequest({
          source: { path: source },
          breakpoints: [{ line: lines.GROSS, condition: 'count == 7' }],
        });
        await client.configurationDoneRequest();
      }),
      client.launch(launch),
      client.assertStoppedLocation('breakpoint', { path: source, line: lines.GROSS }),
    ]);
    const frames = await client.stackTraceRequest({ threadId: await thread(client) });
    const scopes = await client.scopesRequest({ frameId: frames.body.stackFrames[0].id });
    const variables = await client.variablesRequest(
      { variablesReference: scopes.body.scopes[0].variablesReference });
    const count = variables.body.variables.find((one) => one.name === 'count');
    assert.strictEqual(count.value, '7');
  },
  async 'a step ends at the next line'(client) {
    await client.hitBreakpoint(launch, { path: source, line: lines.NET, verified: false });
    const threadId = await thread(client);
    await Promise.all([
      client.assertStoppedLocation('step', { path: source, line: lines.GROSS }),
      client.nextRequest({ threadId }),
    ]);
    await Promise.all([
      client.assertStoppedLocation('step', { path: source, line: lines.RETURN }),
      client.stepInRequest({ threadId }),
    ]);
    const value = await client.evaluateRequest({
      expression: 'gross - net',
      frameId: (await client.stackTraceRequest({ threadId })).body.stackFrames[0].id,
    });
    assert.strictEqual(value.body.type, 'int');
  },
  async 'a function stops'(client) {
    await Promise.all([
      client.waitForEvent('initialized').then(async () => {
        await client.setFunctionBreakpointsRequest({ breakpoints: [{ name: 'Debugged.square' }] });
        await client.configurationDoneRequest();
      }),
      client.launch(launch),
      client.assertStoppedLocation('function breakpoint', { path: /Debugged/, line: lines.SQUARE }),
    ]);
  },
  async 'a running program is attached to'(client) {
    await client.initializeRequest();
    await Promise.all([
      client.waitForEvent('initialized').then(async () => {
        await client.setBreakpointsRequest(
          { source: { path: source }, breakpoints: [{ line: lines.GROSS }] });
        await client.configurationDoneRequest();
      }),
      client.attachRequest(attach),
      client.assertStoppedLocation('breakpoint', { path: source, line: lines.GROSS }),
    ]);
  },
};

async function thread(client) {
  const response = await client.threadsRequest();
  return response.body.threads.find((one) => one.name === 'main').id;
}

async function main() {
  for (const [name, check] of Object.entries(checks)) {
    const client = new DebugClient(python, adapter, 'jvmti');
    client.defaultTimeout = 40000;
    await client.start();
    try {
      await check(client);
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`failed ${name}: ${error.message}`);
      process.exitCode = 1;
    }
    await client.stop();
  }
  process.exit();
}

main();
