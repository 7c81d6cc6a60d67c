import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import type { SealedSecret } from '../../src/domain/webhook-endpoint.ts';
import { loadEncryptionKeys } from '../../src/service/webhook-deps.ts';
import { KEY_BYTES, openSealed, sealText, createSecretBox, isWebhookSecret } from '../../src/webhooks/secret-box.ts';
import { temporaryFolder } from '../process/program.ts';
import { anyCodePoint } from '../support/code-point.ts';
import { runs } from '../support/for-all.ts';

const key = fc.uint8Array({ minLength: KEY_BYTES, maxLength: KEY_BYTES });
const text = fc.string({ unit: anyCodePoint, maxLength: 200 }).filter((value) => value.isWellFormed());
const context = fc.string({ unit: anyCodePoint, maxLength: 80 }).filter((value) => value.isWellFormed());
const OWNER = { endpointId: 'whe_a', environment: 'sandbox' } as const;

function sealedSecret(sealed: string, place: Pick<SealedSecret, 'endpointId' | 'environment'> = OWNER): SealedSecret {
  return { ...place, number: 1, sealed, created: 1, expiresAt: null };
}

test('a sealed text can be opened only with its key and context, and does not reveal the original text', () => {
  fc.assert(
    fc.property(text, key, key, context, context, (value, secretKey, otherKey, about, other) => {
      const sealed = sealText(value, secretKey, about, randomBytes);
      assert.equal(openSealed(sealed, secretKey, about), value);
      assert.match(sealed, /^v1\.[\w-]+$/);
      if (value.length > 8) assert(!sealed.includes(value));
      assert.notEqual(sealText(value, secretKey, about, randomBytes), sealed);
      if (Buffer.compare(secretKey, otherKey) !== 0) assert.equal(openSealed(sealed, otherKey, about), undefined);
      if (about !== other) assert.equal(openSealed(sealed, secretKey, other), undefined);
    }),
  );
});

test('a sealed text that was shortened, extended or changed cannot be opened', () => {
  fc.assert(
    fc.property(text, key, fc.nat(), fc.nat({ max: 62 }), (value, secretKey, at, step) => {
      const sealed = sealText(value, secretKey, 'here', randomBytes);
      const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      const place = at % sealed.length;
      assert.equal(openSealed(sealed.slice(0, place), secretKey, 'here'), undefined);
      assert.equal(openSealed(`${sealed}A`, secretKey, 'here'), undefined);
      const letter = letters[(letters.indexOf(sealed[place]!) + 1 + step) % letters.length]!;
      if (letter === sealed[place]) return;
      assert.equal(openSealed(sealed.slice(0, place) + letter + sealed.slice(place + 1), secretKey, 'here'), undefined);
    }),
    { numRuns: runs(300) },
  );
});

test('opening a text that was not sealed returns undefined', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.base64String().map((rest) => `v1.${rest}`),
      ),
      key,
      (sealed, secretKey) => {
        assert.equal(openSealed(sealed, secretKey, 'here'), undefined);
      },
    ),
  );
});

function boxOf(...keys: Uint8Array[]) {
  return createSecretBox({ known: () => keys, canSeal: () => true, forSealing: () => keys[0]! }, randomBytes);
}

test('a new secret is whsec_ and the base64 of 32 bytes, and is decrypted only for its endpoint and environment', () => {
  const box = boxOf(randomBytes(32));
  const { secret, sealed } = box.newSecret(OWNER);
  assert(isWebhookSecret(secret));
  assert.equal(Buffer.from(secret.slice('whsec_'.length), 'base64').length, 32);
  assert.equal(box.open(sealedSecret(sealed)), secret);
  assert.equal(box.open(sealedSecret(sealed, { ...OWNER, endpointId: 'whe_b' })), undefined);
  assert.equal(box.open(sealedSecret(sealed, { ...OWNER, environment: 'production' })), undefined);
});

test('the first key seals, every key opens, and a secret sealed with a later key can be sealed again with the first key', () => {
  const [old, newKey] = [randomBytes(32), randomBytes(32)];
  const { secret, sealed } = boxOf(old).newSecret(OWNER);
  const both = boxOf(newKey, old);
  assert.equal(both.open(sealedSecret(sealed)), secret);
  assert.equal(boxOf(newKey).open(sealedSecret(sealed)), undefined);
  assert.equal(boxOf(newKey).resealed(sealedSecret(sealed)), undefined);
  assert.equal(boxOf(old, newKey).resealed(sealedSecret(sealed)), undefined);
  const again = both.resealed(sealedSecret(sealed))!;
  assert.equal(boxOf(newKey).open(sealedSecret(again)), secret);
  assert.equal(both.resealed(sealedSecret(again)), undefined);
});

const quiet = { warn: () => undefined };

test('without ENCRYPTION_KEY, the first sealing creates a key file beside the SQLite database', () => {
  using folder = temporaryFolder();
  const path = folder.path('tillway.db');
  const warned: unknown[] = [];
  const surroundings = { database: { kind: 'sqlite', path }, configured: [], randomBytes } as const;
  const keys = loadEncryptionKeys({ ...surroundings, log: { warn: (...words: unknown[]) => void warned.push(words) } });
  assert.throws(() => statSync(`${path}.key`), /ENOENT/);
  assert.deepEqual(keys.known(), []);
  const created = keys.forSealing();
  assert.equal(statSync(`${path}.key`).mode & 0o777, 0o600);
  assert.equal(warned.length, 1);
  assert(!JSON.stringify(warned).includes(Buffer.from(created).toString('base64')));
  assert.deepEqual(Buffer.from(readFileSync(`${path}.key`, 'utf8'), 'base64'), Buffer.from(created));
  // The next start reads the key file; keys from the settings precede its key.
  const again = loadEncryptionKeys({ ...surroundings, log: quiet });
  assert.deepEqual(Buffer.from(again.forSealing()), Buffer.from(created));
  const set = randomBytes(32);
  const beside = loadEncryptionKeys({ ...surroundings, configured: [set], log: quiet });
  assert.deepEqual(
    beside.known().map((one) => Buffer.from(one)),
    [set, Buffer.from(created)],
  );
});

test('a key file that another process has created since the start is used, not replaced', () => {
  using folder = temporaryFolder();
  const path = folder.path('tillway.db');
  const keys = loadEncryptionKeys({ database: { kind: 'sqlite', path }, configured: [], randomBytes, log: quiet });
  const otherKey = randomBytes(32);
  writeFileSync(`${path}.key`, otherKey.toString('base64'));
  assert.deepEqual(Buffer.from(keys.forSealing()), otherKey);
});

test('an invalid key file prevents the start', () => {
  using folder = temporaryFolder();
  const path = folder.path('tillway.db');
  writeFileSync(`${path}.key`, 'nothing');
  const load = () =>
    loadEncryptionKeys({ database: { kind: 'sqlite', path }, configured: [], randomBytes, log: quiet });
  assert.throws(load, /tillway\.db\.key contains no valid key/);
});

test('on PostgreSQL, sealing needs ENCRYPTION_KEY', () => {
  const database = { kind: 'postgres', url: 'postgres://x/y', poolSize: 6 } as const;
  const surroundings = { database, configured: [], randomBytes, log: quiet };
  const none = loadEncryptionKeys(surroundings);
  assert.throws(
    () => none.forSealing(),
    (error) => error instanceof GatewayError && error.code === 'invalid_state' && /ENCRYPTION_KEY/.test(error.message),
  );
  assert.equal(loadEncryptionKeys({ ...surroundings, configured: [randomBytes(32)] }).known().length, 1);
});
