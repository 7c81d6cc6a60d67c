import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type WebhookTargets, blockedBecause, guardedLookup } from '../../src/webhooks/address.ts';
import { createDeliverer } from '../../src/webhooks/deliver.ts';
import { SHORT_LIMITS, START, listen } from './fixtures.ts';

const ALLOWED = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80e::200e',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
];

const BLOCKED: Record<string, string[]> = {
  'is unspecified': ['0.0.0.0', '0.1.2.3', '0.255.255.255', '::', '::ffff:0.0.0.0'],
  'is loopback': ['127.0.0.1', '127.255.255.254', '127.1.2.3', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  'is private': [
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.168.255.255',
    'fc00::1',
    'fd00:ec2::254',
    'fdff::1',
    'fec0::1',
    '::ffff:10.0.0.1',
    '::ffff:c0a8:101',
    '64:ff9b::10.0.0.1',
  ],
  'is link-local': [
    '169.254.0.1',
    '169.254.169.254',
    '169.254.170.2',
    'fe80::1',
    'febf::1',
    'fe80::1%lo',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
  ],
  'is shared by carrier-grade NAT': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
  'is multicast': ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  'is a broadcast address': ['255.255.255.255'],
  'is a 6to4 tunnel': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:808:808::1'],
  'is a Teredo tunnel': ['2001::1', '2001:0:7f00:1::1'],
  'is for benchmarking': ['2001:2::1'],
  'is reserved': [
    '192.0.0.1',
    '192.0.0.192',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '254.255.255.255',
    '168.63.129.16',
    '::7f00:1',
    '::8.8.8.8',
    '::ffff:0:127.0.0.1',
    '64:ff9b:1::7f00:1',
    '100::1',
    '2001:10::1',
    '2001:20::1',
    '2001:db8::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    '::2',
    '::ffff:168.63.129.16',
  ],
  'is not an IP address': ['', 'localhost', '127.1', '2130706433', '0x7f.1', '1.2.3.4.5', '::g', '1.1.1.1 '],
};
const LOOPBACK = BLOCKED['is loopback']!;

test('public addresses may be connected to', () => {
  for (const address of ALLOWED) {
    assert.equal(blockedBecause(address, 'public'), undefined, address);
    assert.equal(blockedBecause(address, 'loopback'), undefined, address);
  }
});

test('special addresses may not be connected to', () => {
  for (const [reason, addresses] of Object.entries(BLOCKED)) {
    for (const address of addresses) {
      assert.equal(blockedBecause(address, 'public'), reason, address);
      const loopback = LOOPBACK.includes(address);
      assert.equal(blockedBecause(address, 'loopback'), loopback ? undefined : reason, address);
      assert.equal(blockedBecause(address, 'any'), undefined, address);
    }
  }
});

test('IPv6 outside the space that is handed out is never public', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const first = Number.parseInt(address.split(':')[0] || '0', 16);
      const embedded = address.toLowerCase().startsWith('::ffff:') || first === 0x64;
      if (first >= 0x2000 && first < 0x4000) return;
      if (!embedded && !/^[0:]*ffff:/i.test(address)) assert.notEqual(blockedBecause(address, 'public'), undefined);
    }),
    { numRuns: 500 },
  );
});

function lookup(found: LookupAddress[], targets: WebhookTargets, all: boolean): Promise<unknown> {
  const look = guardedLookup(targets, () => Promise.resolve(found));
  return new Promise((resolve, reject) => {
    look('host.example', { all }, (error, address) => (error ? reject(error) : resolve(address)));
  });
}

test('a lookup answers the addresses that are allowed, and no other', async () => {
  const good = { address: '8.8.8.8', family: 4 };
  const bad = { address: '169.254.169.254', family: 4 };
  assert.deepEqual(await lookup([bad, good], 'public', true), [good]);
  assert.equal(await lookup([bad, good], 'public', false), '8.8.8.8');
  await assert.rejects(lookup([bad], 'public', true), {
    message: 'blocked destination: 169.254.169.254 is link-local',
  });
  await assert.rejects(lookup([], 'public', true), { message: 'no address for host.example' });
});

// In the space that is handed out, but not handed out: nobody can be reached there.
const PUBLIC_NOBODY = { address: '2d00::1', family: 6 };
const CANARY = { address: '127.0.0.1', family: 4 };
const toCanary = () => Promise.resolve([CANARY]);

test('a name that is rebound to a loopback address after it was public reaches nobody', async (context) => {
  let connections = 0;
  const port = await listen(
    context,
    createServer(() => connections++),
  );
  const answers = [[PUBLIC_NOBODY], [CANARY], [PUBLIC_NOBODY, CANARY], [CANARY, PUBLIC_NOBODY]];
  let asked = 0;
  const resolve = () => Promise.resolve(answers[asked++ % answers.length]!);
  const deliverer = createDeliverer({ targets: 'public', resolve, now: () => START, limits: SHORT_LIMITS });
  context.after(() => deliverer.close());
  const failures: (string | null)[] = [];
  for (let count = 1; count <= answers.length; count++) {
    const { failure, statusCode } = await deliverer.deliver(`http://rebind.example:${port}/`, {}, '{}');
    assert.equal(statusCode, null);
    // One question for each connection: what was checked is what is connected to.
    assert.equal(asked, count);
    failures.push(failure);
  }
  assert.equal(failures[1], 'blocked destination: 127.0.0.1 is loopback');
  assert.equal(connections, 0);
});

test('every way to write a loopback or metadata address in a URL is refused before a connection', async (context) => {
  let connections = 0;
  const port = await listen(
    context,
    createServer(() => connections++),
  );
  const deliverer = createDeliverer({ targets: 'public', resolve: toCanary, now: () => START, limits: SHORT_LIMITS });
  context.after(() => deliverer.close());
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '017700000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '１２７.０.０.１',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[0:0:0:0:0:0:0:1]',
    '0',
    '0.0.0.0',
    '[::]',
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '[fd00:ec2::254]',
    'localhost',
    'localhost.',
    'LOCALHOST',
    'foo.localhost',
    'user:password@127.0.0.1',
  ];
  for (const host of hosts) {
    const { failure } = await deliverer.deliver(`http://${host}:${port}/`, {}, '{}');
    assert.match(failure!, /^blocked destination: \S+ is /, host);
  }
  assert.equal(connections, 0);
});
