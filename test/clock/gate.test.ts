// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from '../../src/operations/test-clock-gate.ts';

/** How far one comes who goes to the gate now. */
function comer(gate: ReturnType<typeof createGate>) {
  const one: { leave: (() => void) | undefined; isIn: Promise<void> } = {
    leave: undefined,
    isIn: gate.enter().then((leave) => void (one.leave = leave)),
  };
  return one;
}

test('whoever is inside is waited for, and whoever comes then waits', async () => {
  const gate = createGate();
  const first = comer(gate);
  await first.isIn;
  const steps: string[] = [];
  const moved = gate.alone(async () => void steps.push('moved'));
  const second = comer(gate);
  second.isIn = second.isIn.then(() => void steps.push('second is in'));
  setImmediate(() => {
    steps.push('first leaves');
    first.leave!();
  });
  await moved;
  await second.isIn;
  assert.deepEqual(steps, ['first leaves', 'moved', 'second is in']);
});

test('others come in again where the work fails', async () => {
  const gate = createGate();
  await assert.rejects(
    gate.alone(() => Promise.reject(new Error('planted'))),
    /planted/,
  );
  await comer(gate).isIn;
});

test('work that waits for somebody outside does not wait for ever: the gate opens, and says so', async () => {
  const gate = createGate({ shutMs: 20 });
  const seen: boolean[] = [];
  await gate.alone(async (isShut) => {
    seen.push(isShut());
    await comer(gate).isIn;
    seen.push(isShut());
  });
  assert.deepEqual(seen, [true, false]);
});

test('whoever stays for longer than any request may is not waited for', async () => {
  const gate = createGate({ insideMs: 20 });
  await comer(gate).isIn;
  assert.equal(await gate.alone(async (isShut) => isShut()), true);
});
