// Drives `jvmti debug` with the client that editors' adapters are tested with; see test_driver.py.
'use strict';

const assert = require('assert');
const fs = require('fs');
const net = require('net');
const path = require('path');
const { PassThrough } = require('stream');

const given = JSON.parse(process.argv[2]);
const { lines, source } = given;
const { DebugClient } = require(given.testsupport);
const PATIENCE = 40000;

// ---- the client, with what goes either way written down ----------------------------------------

/** The client, at the socket where the adapter waits, or with an adapter of its own. */
class Client extends DebugClient {
  constructor(number, way) {
    super(given.python, given.adapter, 'jvmti');
    this.defaultTimeout = PATIENCE;
    this.number = number;
    this.way = way;
    this.stops = [];
    this.said = '';
    this.on('stopped', (event) => this.stops.push(event.body));
    this.on('output', (event) => {
      this.said += event.body.output;
    });
    this.on('breakpoint', (event) => {
      this.changed = event.body.breakpoint;
    });
  }

  /** Connect to the adapter that serves all. */
  enter() {
    return new Promise((resolve, reject) => {
      this.wire = net.createConnection(given.socket, () => {
        this.connect(this.wire, this.wire);
        resolve();
      });
      this.wire.on('error', reject);
    });
  }

  connect(readable, writable) {
    const log = (name) => fs.createWriteStream(path.join(given.record, `${this.number}.${name}`));
    const [received, sent] = [log('received'), log('sent')];
    readable.on('data', (data) => received.write(data));
    const passed = new PassThrough();
    passed.on('data', (data) => sent.write(data));
    passed.pipe(writable);
    super.connect(readable, passed);
  }

  /** Begin a session: what is to be set is set in the middle of it. */
  async begin(setUp = async () => {}, more = {}) {
    const ready = this.waitForEvent('initialized').then(async () => {
      await setUp();
      await this.configurationDoneRequest();
    });
    await this.initializeRequest();
    const ask = this.way === 'late' ? this.attachRequest(given.attach) : this.launchRequest(
      { ...given.launch, ...more });
    await Promise.all([ready, ask]);
  }

  async set(...breakpoints) {
    const asked = await this.setBreakpointsRequest({ source: { path: source }, breakpoints });
    return asked.body.breakpoints;
  }

  /** The next stop, which has this reason. */
  async stopped(reason) {
    await until(() => this.stops.length, `a stop: ${reason}`);
    const stop = this.stops.shift();
    assert.strictEqual(stop.reason, reason);
    return stop.threadId;
  }

  async go(command, threadId, reason = 'step', more = {}) {
    await this.customRequest(command, { threadId, ...more });
    assert.strictEqual(await this.stopped(reason), threadId);
  }

  async frames(threadId) {
    return (await this.stackTraceRequest({ threadId })).body.stackFrames;
  }

  async line(threadId) {
    return (await this.frames(threadId))[0].line;
  }

  async scope(threadId, name = 'Locals') {
    const frameId = (await this.frames(threadId))[0].id;
    const { scopes } = (await this.scopesRequest({ frameId })).body;
    return scopes.find((one) => one.name === name).variablesReference;
  }

  async variables(variablesReference, more = {}) {
    const asked = await this.variablesRequest({ variablesReference, ...more });
    return Object.fromEntries(asked.body.variables.map((one) => [one.name, one]));
  }

  async locals(threadId) {
    return this.variables(await this.scope(threadId));
  }

  async evaluate(threadId, expression, more = {}) {
    const frameId = (await this.frames(threadId))[0].id;
    return (await this.evaluateRequest({ expression, frameId, ...more })).body;
  }
}

async function until(holds, what) {
  const end = Date.now() + PATIENCE;
  while (!holds()) {
    if (Date.now() > end) {
      throw new Error(`${what} has not come`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const number = (variable) => Number(variable.value);

// ---- what the client itself offers, with adapters of their own ---------------------------------

const own = {
  async 'initialize says what the adapter can do'(client) {
    const response = await client.initializeRequest();
    assert.strictEqual(response.body.supportsConfigurationDoneRequest, true);
    assert.strictEqual(response.body.supportsFunctionBreakpoints, true);
  },
  async 'a program runs to its end'(client) {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ ...given.launch, command: [...given.launch.command, '2'] }),
      client.waitForEvent('exited'),
      client.waitForEvent('terminated'),
    ]);
  },
};

// ---- launched ----------------------------------------------------------------------------------

const launched = {
  async 'what the program writes is shown'(client) {
    await Promise.all([
      client.configurationSequence(),
      client.launch(given.launch),
      client.assertOutput('stdout', 'ready'),
    ]);
  },
  async 'a thread stops at a breakpoint'(client) {
    await client.hitBreakpoint(
      given.launch, { path: source, line: lines.GROSS, verified: false });
  },
  async 'a step ends at the next line'(client) {
    await client.hitBreakpoint(given.launch, { path: source, line: lines.NET, verified: false });
    const threadId = await client.stopped('breakpoint');
    for (const [request, line] of [['next', 'GROSS'], ['stepIn', 'RETURN']]) {
      await Promise.all([
        client.assertStoppedLocation('step', { path: source, line: lines[line] }),
        client[`${request}Request`]({ threadId }),
      ]);
    }
    assert.strictEqual((await client.evaluate(threadId, 'gross - net')).type, 'int');
  },
  async 'a breakpoint is verified when its class comes'(client) {
    let before;
    await client.begin(async () => {
      [before] = await client.set({ line: lines.NESTED });
    });
    assert.strictEqual(before.verified, false);
    assert.strictEqual(before.reason, 'pending');
    await client.stopped('breakpoint');
    assert.deepStrictEqual([client.changed.id, client.changed.verified], [before.id, true]);
  },
  async 'hits are counted from the first'(client) {
    await client.begin(() => client.set(
      { line: lines.NET, hitCondition: '3' }, { line: lines.GROSS, hitCondition: '> 3' }));
    const seen = [];
    for (let count = 0; count < 3; count += 1) {
      const threadId = await client.stopped('breakpoint');
      seen.push([await client.line(threadId), number((await client.locals(threadId)).count)]);
      await client.continueRequest({ threadId });
    }
    assert.deepStrictEqual(seen, [[lines.NET, 3], [lines.GROSS, 4], [lines.GROSS, 5]]);
  },
  async 'what is caught is not uncaught'(client) {
    await client.begin(async () => {
      await client.setExceptionBreakpointsRequest({ filters: ['uncaught'] });
      await client.set({ line: lines.CAUGHT });
    });
    const threadId = await client.stopped('breakpoint');
    await client.set();
    await client.setExceptionBreakpointsRequest({ filters: ['caught'] });
    await client.continueRequest({ threadId });
    await client.stopped('exception');
    const { body } = await client.exceptionInfoRequest({ threadId });
    assert.strictEqual(body.breakMode, 'always');
  },
  async 'instructions are stepped and stop threads'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    const threadId = await client.stopped('breakpoint');
    await client.set();
    const here = async () => (await client.frames(threadId))[0].instructionPointerReference;
    const memoryReference = await here();
    const { instructions } = (await client.disassembleRequest(
      { memoryReference, instructionOffset: 0, instructionCount: 5 })).body;
    assert.strictEqual(instructions[0].line, lines.GROSS);
    await client.go('next', threadId, 'step', { granularity: 'instruction' });
    assert.strictEqual(await here(), instructions[1].address);
    await client.customRequest('setInstructionBreakpoints',
      { breakpoints: [{ instructionReference: instructions[3].address }] });
    await client.go('continue', threadId, 'instruction breakpoint');
    assert.strictEqual(await here(), instructions[3].address);
  },
  async 'frames below the topmost are restarted'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    const threadId = await client.stopped('breakpoint');
    await client.set();
    const [, caller] = await client.frames(threadId);
    await client.restartFrameRequest({ frameId: caller.id });
    await client.stopped('restart');
    assert.strictEqual(await client.line(threadId), lines.FIRST);
  },
  async 'all threads stop together'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }), { suspendAllThreads: true });
    await until(() => client.stops.length, 'a stop');
    assert.strictEqual(client.stops[0].allThreadsStopped, true);
    const threadId = await client.stopped('breakpoint');
    const { threads } = (await client.threadsRequest()).body;
    const other = threads.find((one) => one.name === 'Reference Handler');
    assert(await client.frames(other.id));
    const { body } = await client.continueRequest({ threadId });
    assert.strictEqual(body.allThreadsContinued, true);
  },
  async 'terminate ends the program'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    await client.stopped('breakpoint');
    const ends = Promise.all([client.waitForEvent('exited'), client.waitForEvent('terminated')]);
    await client.terminateRequest({});
    await ends;
  },
};

// ---- launched, and attached to while it runs ---------------------------------------------------

const either = {
  async 'a condition decides, by its variables and by calls'(client) {
    await client.begin(() => client.set(
      { line: lines.GROSS, condition: 'count % 5 == 0' },
      { line: lines.NESTED, condition: 'String.valueOf(n).endsWith("7")' }));
    const seen = new Set();
    for (let count = 0; count < 3 || seen.size < 2; count += 1) {
      const threadId = await client.stopped('breakpoint');
      const { count: counted, n } = await client.locals(threadId);
      assert((counted && number(counted) % 5 === 0) || (n && n.value.endsWith('7')));
      seen.add(await client.line(threadId));
      await client.continueRequest({ threadId });
    }
  },
  async 'a condition that cannot be evaluated stops, and says why'(client) {
    await client.begin(() => client.set({ line: lines.GROSS, condition: 'nothing.here() > 1' }));
    await client.stopped('breakpoint');
    await until(() => /'nothing.here\(\) > 1' cannot be evaluated/.test(client.said), 'the reason');
    const [refused] = await client.set({ line: lines.GROSS, condition: '1 +' });
    assert.strictEqual(refused.verified, false);
    assert(refused.message);
  },
  async 'every n-th hit counts, and a wrong count is said'(client) {
    await client.begin(() => client.set({ line: lines.GROSS, hitCondition: '% 3' }));
    const seen = [];
    for (let count = 0; count < 2; count += 1) {
      const threadId = await client.stopped('breakpoint');
      seen.push(number((await client.locals(threadId)).count));
      await client.continueRequest({ threadId });
    }
    assert.strictEqual(seen[1] - seen[0], 3);
    const [refused] = await client.set({ line: lines.GROSS, hitCondition: 'often' });
    assert.strictEqual(refused.verified, false);
    assert.match(refused.message, /a hit condition is a number/);
  },
  async 'a logpoint writes and stops nothing'(client) {
    await client.begin(() => client.set(
      { line: lines.GROSS, logMessage: 'order {count} of {this.number}' }));
    await until(() => (client.said.match(/^order \d+ of \d+$/gm) || []).length > 2, 'the texts');
    for (const [, count, order] of client.said.matchAll(/^order (\d+) of (\d+)$/gm)) {
      assert.strictEqual(count, order);
    }
    assert.strictEqual(client.stops.length, 0);
  },
  async 'a function stops where it begins'(client) {
    await client.begin(() => client.setFunctionBreakpointsRequest(
      { breakpoints: [{ name: 'Debugged.square', condition: 'n > 2' }] }));
    const threadId = await client.stopped('function breakpoint');
    assert.strictEqual(await client.line(threadId), lines.SQUARE);
    assert(number((await client.locals(threadId)).n) > 2);
  },
  async 'a field stops what writes it'(client) {
    await client.begin(() => client.set({ line: lines.FIRST }));
    const threadId = await client.stopped('breakpoint');
    const { dataId, accessTypes } = (await client.dataBreakpointInfoRequest(
      { variablesReference: await client.scope(threadId, 'Static'), name: 'total' })).body;
    assert(accessTypes.includes('write'));
    const local = (await client.dataBreakpointInfoRequest(
      { variablesReference: await client.scope(threadId), name: 'this' })).body;
    assert.strictEqual(local.dataId, null);
    await client.set();
    const { breakpoints } = (await client.setDataBreakpointsRequest(
      { breakpoints: [{ dataId, accessType: 'write' }] })).body;
    assert.strictEqual(breakpoints[0].verified, true);
    await client.continueRequest({ threadId });
    await until(() => client.stops.length, 'a stop');
    assert.match(client.stops[0].text, /^Debugged.total becomes -?\d+/);
    await client.stopped('data breakpoint');
  },
  async 'an exception stops its thread and is shown'(client) {
    const condition = 'java.lang.IllegalState* if total > 3';
    const filterOptions = ['caught', 'uncaught'].map((filterId) => ({ filterId, condition }));
    await client.begin(() => client.setExceptionBreakpointsRequest({ filters: [], filterOptions }));
    const threadId = await client.stopped('exception');
    const { body } = await client.exceptionInfoRequest({ threadId });
    assert.strictEqual(body.exceptionId, 'java.lang.IllegalStateException');
    assert.match(body.description, /^order \d+$/);
    assert.match(body.details.stackTrace, /Debugged.fail/);
    assert.strictEqual(await client.line(threadId), lines.THROW);
    await assert.rejects(
      client.setExceptionBreakpointsRequest({ filters: ['all'] }), /caught and uncaught/);
  },
  async 'variables come page by page'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    const threadId = await client.stopped('breakpoint');
    const self = (await client.locals(threadId)).this.variablesReference;
    const held = (await client.variables(self)).lines;
    assert.strictEqual(held.indexedVariables, 250);
    const page = await client.variables(
      held.variablesReference, { filter: 'indexed', start: 248, count: 5 });
    assert.deepStrictEqual(Object.values(page).map((one) => one.value), ['"line 248"', '"line 249"']);
    const named = await client.variables(held.variablesReference, { filter: 'named' });
    assert('fields' in named);
  },
  async 'frames come page by page'(client) {
    await client.begin(() => client.set({ line: lines.DEEP }));
    const threadId = await client.stopped('breakpoint');
    const { body } = await client.stackTraceRequest({ threadId, startFrame: 300, levels: 5 });
    assert.strictEqual(body.totalFrames, 302);
    assert.deepStrictEqual(
      body.stackFrames.map((one) => one.name), ['Debugged.deep(int)', 'Debugged.main(String[])']);
  },
  async 'variables and fields are set'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    const threadId = await client.stopped('breakpoint');
    await client.setVariableRequest(
      { variablesReference: await client.scope(threadId), name: 'net', value: '40 + 60' });
    await client.go('next', threadId);
    const { gross, this: self } = await client.locals(threadId);
    assert.strictEqual(gross.value, '120');
    const variablesReference = self.variablesReference;
    await assert.rejects(
      client.setVariableRequest({ variablesReference, name: 'number', value: '1' }), /final/);
    const frameId = (await client.frames(threadId))[0].id;
    const { body } = await client.customRequest(
      'setExpression', { expression: 'weights[1]', value: 'gross', frameId });
    assert.strictEqual(body.value, '120');
  },
  async 'expressions have values, types, and errors'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    const threadId = await client.stopped('breakpoint');
    const sum = await client.evaluate(threadId, 'square(3) + lines.size()');
    assert.deepStrictEqual([sum.result, sum.type], ['259', 'int']);
    const map = await client.evaluate(threadId, 'prices', { context: 'hover' });
    assert.strictEqual(map.indexedVariables, 2);
    await assert.rejects(client.evaluate(threadId, 'lines.size()', { context: 'hover' }));
    await assert.rejects(client.evaluate(threadId, 'lines.get(999)'), /IndexOutOfBounds/);
    await assert.rejects(client.evaluate(threadId, '1 +'));
    await assert.rejects(client.evaluate(threadId, 'nowhere'), /nowhere/);
    const frameId = (await client.frames(threadId))[0].id;
    const { targets } = (await client.completionsRequest(
      { text: 'this.wei', column: 9, frameId })).body;
    assert(targets.some((one) => one.label.startsWith('weights')));
  },
  async 'steps go into calls, and into the chosen one'(client) {
    await client.begin(() => client.set({ line: lines.BOTH }));
    const threadId = await client.stopped('breakpoint');
    await client.set();
    const frameId = (await client.frames(threadId))[0].id;
    const { targets } = (await client.stepInTargetsRequest({ frameId })).body;
    assert.deepStrictEqual(
      targets.map((one) => one.label), ['Debugged.square(int)', 'Debugged.sum(int, int)']);
    await client.go('stepIn', threadId, 'step', { targetId: targets[1].id });
    assert.strictEqual(await client.line(threadId), lines.SUM);
    await client.go('stepOut', threadId);
    assert.notStrictEqual(await client.line(threadId), lines.SUM);
    await assert.rejects(client.stepInTargetsRequest({ frameId }));
  },
  async 'a call is restarted'(client) {
    await client.begin(() => client.set({ line: lines.RETURN }));
    const threadId = await client.stopped('breakpoint');
    await client.restartFrameRequest({ frameId: (await client.frames(threadId))[0].id });
    await client.stopped('restart');
    assert.strictEqual(await client.line(threadId), lines.NET);
    await client.go('continue', threadId, 'breakpoint');
    const { count, gross } = await client.locals(threadId);
    assert.strictEqual(number(gross), 120 * number(count));
  },
  async 'a running thread is paused'(client) {
    await client.begin(() => client.set({ line: lines.FIRST }));
    const threadId = await client.stopped('breakpoint');
    await client.set();
    await client.continueRequest({ threadId });
    await assert.rejects(client.stackTraceRequest({ threadId }), /runs/);
    await client.go('pause', threadId, 'pause');
    assert.strictEqual((await client.frames(threadId)).pop().name, 'Debugged.main(String[])');
    await client.continueRequest({ threadId });
  },
  async 'threads and modules are listed'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    const threadId = await client.stopped('breakpoint');
    const { threads } = (await client.threadsRequest()).body;
    assert.strictEqual(threads.find((one) => one.id === threadId).name, 'main');
    assert((await client.modulesRequest({})).body.totalModules > 1);
    const loaded = (await client.customRequest('loadedSources')).body.sources;
    assert(loaded.some((one) => one.path === source));
  },
  async 'lines without code are said'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    await client.stopped('breakpoint');
    const [without, good] = await client.set({ line: 1 }, { line: lines.GROSS });
    assert.strictEqual(without.verified, false);
    assert.match(without.message, /nearest lines with code/);
    assert.strictEqual(good.verified, true);
    const places = (await client.customRequest('breakpointLocations',
      { source: { path: source }, line: lines.NET - 1, endLine: lines.GROSS })).body.breakpoints;
    assert.deepStrictEqual(places.map((one) => one.line), [lines.NET, lines.GROSS]);
  },
  async 'wrong requests are errors, and the session goes on'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    const threadId = await client.stopped('breakpoint');
    await assert.rejects(client.customRequest('fly'), /no request/);
    await assert.rejects(client.customRequest('scopes'), /frameId/);
    await assert.rejects(client.scopesRequest({ frameId: 'top' }), /frameId/);
    await assert.rejects(client.variablesRequest({ variablesReference: 987654 }));
    await assert.rejects(client.continueRequest({ threadId: -5 }));
    await assert.rejects(client.customRequest('gotoTargets', { source: { path: source }, line: 1 }),
      /no JVM lets a debugger/);
    await assert.rejects(client.initializeRequest(), /once/);
    const [frame] = await client.frames(threadId);
    await client.go('next', threadId);
    await assert.rejects(client.scopesRequest({ frameId: frame.id }));
    assert.strictEqual((await client.evaluate(threadId, '1 + 1')).result, '2');
  },
};

// ---- attached to -------------------------------------------------------------------------------

const late = {
  async 'uncaught exceptions alone cannot be foreseen'(client) {
    await client.begin();
    const { breakpoints } = (await client.setExceptionBreakpointsRequest(
      { filters: ['uncaught'] })).body;
    assert.match(breakpoints[0].message, /ask for both kinds/);
  },
  async 'disconnect lets the program go on'(client) {
    await client.begin(() => client.set({ line: lines.GROSS }));
    await client.stopped('breakpoint');
    await client.disconnectRequest({});
    const before = fs.statSync(given.written).size;
    await until(() => fs.statSync(given.written).size > before, 'further output of the program');
  },
};

async function main() {
  let at = 0;
  for (const [way, checks] of [
    ['own', own], ['launched', { ...launched, ...either }], ['late', { ...either, ...late }],
  ]) {
    for (const [name, check] of Object.entries(checks)) {
      const client = new Client(at, way);
      at += 1;
      await (way === 'own' ? client.start() : client.enter());
      const began = Date.now();
      try {
        await check(client);
        console.log(`ok ${way}: ${name} (${Date.now() - began} ms)`);
      } catch (error) {
        console.log(`failed ${way}: ${name}: ${error.stack} ${client.said.slice(-500)}`);
      }
      await client.stop();
      if (client.wire) {
        client.wire.end();
      }
    }
  }
  console.log(`${at} checks`);
  process.exit();
}

main();
