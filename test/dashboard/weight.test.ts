import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, get } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync } from 'node:zlib';
import { after, describe, it } from 'node:test';
import { call, sessionBody, startTestService } from '../support/service.ts';

const KIB = 1024;
const PAYMENTS = 50;
const MAX_REQUESTS = 4;
const MAX_SCRIPT_KIB = 10;
const MAX_STYLE_KIB = 6;

const test = await startTestService();
after(() => test[Symbol.asyncDispose]());
const ids: string[] = [];
for (let number = 0; number < PAYMENTS; number++) {
  const body = sessionBody({ product: `Field guide, volume ${number}`, customer: `buyer${number}@example.com` });
  ids.push((await call<{ id: string }>('POST', `${test.url}/api/gateway/sessions`, body)).body.id);
}

interface Loaded {
  bytes: number;
  text: string;
}

/** Loads an address as a browser that accepts brotli; `bytes` is the size of the compressed body. */
function load(path: string): Promise<Loaded> {
  return new Promise((resolve, reject) => {
    get(`${test.url}${path}`, { headers: { 'accept-encoding': 'br', accept: 'text/html' } }, (answer) => {
      buffer(answer).then((body) => resolve(loadedFrom(path, body, answer.headers)), reject);
    }).on('error', reject);
  });
}

function loadedFrom(path: string, body: Buffer, headers: IncomingHttpHeaders): Loaded {
  assert.equal(headers['content-encoding'], 'br', path);
  return { bytes: body.length, text: brotliDecompressSync(body).toString() };
}

/** Weight of the first visit of a page: all bytes, those of scripts and styles, and the number of requests. */
async function weigh(path: string) {
  const page = await load(path);
  const links = [...page.text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, link]) => link!);
  const assets = await Promise.all(links.map(async (link) => ({ link, ...(await load(link)) })));
  const sizeOf = (ending: string) =>
    assets.filter(({ link }) => link.endsWith(ending)).reduce((sum, { bytes }) => sum + bytes, 0);
  const [scripts, styles] = [sizeOf('.js'), sizeOf('.css')];
  return { all: page.bytes + scripts + styles, scripts, styles, requests: 1 + assets.length };
}

describe('the first visit of a page', () => {
  for (const [name, path, limitKib] of [
    ['list of payments', '/dashboard/sandbox/payments', 22],
    ['payment', `/dashboard/sandbox/payments/${ids[0]!}`, 26],
    ['overview', '/dashboard/sandbox', 32],
  ] as const) {
    it(`loads at most ${limitKib} KiB for the ${name}, in at most ${MAX_REQUESTS} requests`, async () => {
      const { all, scripts, styles, requests } = await weigh(path);
      assert.ok(all <= limitKib * KIB, `${name}: ${all} bytes`);
      assert.ok(scripts <= MAX_SCRIPT_KIB * KIB, `${name}: scripts of ${scripts} bytes`);
      assert.ok(styles <= MAX_STYLE_KIB * KIB, `${name}: styles of ${styles} bytes`);
      assert.ok(requests <= MAX_REQUESTS, `${name}: ${requests} requests`);
    });
  }
});
