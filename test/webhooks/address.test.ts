import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type WebhookTargets, blockReason, guardedLookup } from '../../src/webhooks/address.ts';
import { createDeliverer } from '../../src/webhooks/deliver.ts';
import { ALLOWED, BLOCKED, INNER_HOSTS } from '../fixtures/addresses.ts';
import { PATIENT, SHORT_LIMITS, START, listen } from './fixtures.ts';
import { runs } from '../support/for-all.ts';

const LOOPBACK = BLOCKED['is loopback']!;

test('webhooks to public addresses are allowed', () => {
  for (const address of ALLOWED) {
    assert.equal(blockReason(address, 'public'), undefined, address);
    assert.equal(blockReason(address, 'loopback'), undefined, address);
  }
});

test('webhooks to special-purpose addresses are blocked, with a reason', () => {
  for (const address of Object.values(BLOCKED).flat()) {
    const reason = blockReason(address, 'public');
    assert.match(reason ?? '', /^is /, address);
    assert.equal(blockReason(address, 'loopback'), LOOPBACK.includes(address) ? undefined : reason, address);
    assert.equal(blockReason(address, 'any'), undefined, address);
  }
});

test('webhooks to IPv6 addresses outside global unicast are blocked', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const first = Number.parseInt(address.split(':')[0] || '0', 16);
      const embedded = address.toLowerCase().startsWith('::ffff:') || first === 0x64;
      if (first >= 0x2000 && first < 0x4000) return;
      if (!embedded && !/^[0:]*ffff:/i.test(address)) assert.notEqual(blockReason(address, 'public'), undefined);
    }),
    { numRuns: runs(500) },
  );
});

function lookup(found: LookupAddress[], targets: WebhookTargets, all: boolean): Promise<unknown> {
  const look = guardedLookup(targets, () => Promise.resolve(found));
  return new Promise((resolve, reject) => {
    look('host.example', { all }, (error, address) => (error ? reject(error) : resolve(address)));
  });
}

test('a lookup returns allowed addresses only', async () => {
  const good = { address: '8.8.8.8', family: 4 };
  const bad = { address: '169.254.169.254', family: 4 };
  assert.deepEqual(await lookup([bad, good], 'public', true), [good]);
  assert.equal(await lookup([bad, good], 'public', false), '8.8.8.8');
  await assert.rejects(lookup([bad], 'public', true), {
    message: 'blocked destination: 169.254.169.254 is link-local',
  });
  await assert.rejects(lookup([], 'public', true), { message: 'no address for host.example' });
});

// A global unicast address on which no host listens.
const PUBLIC_UNUSED = { address: '2d00::1', family: 6 };
const CANARY = { address: '127.0.0.1', family: 4 };
const resolveToCanary = () => Promise.resolve([CANARY]);

test('a host name that resolves to a public and then to a loopback address (DNS rebinding) reaches no server', async (context) => {
  let connections = 0;
  const port = await listen(
    context,
    createServer(() => connections++),
  );
  // The public address has no server.
  const limits = { ...PATIENT, connectMs: SHORT_LIMITS.connectMs };
  const answers = [[CANARY], [PUBLIC_UNUSED], [PUBLIC_UNUSED, CANARY], [CANARY, PUBLIC_UNUSED]];
  const failures = answers.map(async (answer) => {
    let asked = 0;
    const resolve = () => Promise.resolve([answer, [CANARY]][Math.min(asked++, 1)]!);
    const deliverer = createDeliverer({ targets: 'public', resolve, now: () => START, limits });
    context.after(() => deliverer.close());
    const { failure, statusCode } = await deliverer.deliver(`http://rebind.example:${port}/`, {}, '{}');
    // Each connection makes one lookup, so it uses the checked address.
    assert.deepEqual([statusCode, asked], [null, 1]);
    return failure;
  });
  assert.equal((await Promise.all(failures))[0], 'blocked destination: 127.0.0.1 is loopback');
  assert.equal(connections, 0);
});

test('every spelling of a loopback or metadata address in a URL is blocked before a connection', async (context) => {
  let connections = 0;
  const port = await listen(
    context,
    createServer(() => connections++),
  );
  const deliverer = createDeliverer({ targets: 'public', resolve: resolveToCanary, now: () => START, limits: PATIENT });
  context.after(() => deliverer.close());
  for (const host of INNER_HOSTS) {
    const { failure } = await deliverer.deliver(`http://${host}:${port}/`, {}, '{}');
    assert.match(failure!, /^blocked destination: \S+ is /, host);
  }
  assert.equal(connections, 0);
});
