import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { fetchPage } from '../../src/cli/verify-page/verify-page-command.ts';
import { type PageManifest, observePage } from '../../src/cli/verify-page/page-manifest.ts';
import { runIn } from '../cli/terminal.ts';
import { startServer } from '../support/http-server.ts';
import { suiteService } from '../support/suite.ts';

const RELEASE = JSON.parse(
  readFileSync(new URL('../../src/checkout/page-manifest.json', import.meta.url), 'utf8'),
) as PageManifest;

const WRITER = new URL('./write-page-manifest.ts', import.meta.url);

type Tamper = (body: string, headers: Headers, path: string) => string;

const tillway = suiteService({ variables: { MERCHANT_NAME: 'Søren & <b>Sons</b> - "Ltd"' } });

/** Starts a proxy that serves the service below `/shop` and changes responses with `tamper`. */
async function startProxy(tamper: Tamper) {
  async function pass(url: string, response: ServerResponse): Promise<void> {
    const path = url.replace(/^\/shop/, '');
    const answer = await fetch(tillway.url + path);
    const headers = new Headers(answer.headers);
    const served = (await answer.text()).replaceAll('"/assets/', '"/shop/assets/');
    const body = tamper(served, headers, path);
    for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name);
    response.writeHead(answer.status, Object.fromEntries(headers)).end(body);
  }
  const server = await startServer((request, response) =>
    pass(request.url!, response).catch((error: Error) => response.writeHead(502).end(error.message)),
  );
  return { ...server, url: `${server.url}/shop` };
}

const differing = (output: string) =>
  (JSON.parse(output) as { checks: { what: string; ok: boolean }[] }).checks
    .filter(({ ok }) => !ok)
    .map(({ what }) => what);

describe('tillway verify-page', () => {
  it('the manifest of tillway verify-page matches the page of this release', async () => {
    assert.deepEqual(
      await observePage(tillway.url, fetchPage),
      RELEASE,
      `the page has changed: node ${WRITER.pathname}`,
    );
    assert.deepEqual(Object.keys(RELEASE.assets).toSorted(), ['checkout.css', 'checkout.js']);
  });

  it('tillway verify-page exits with 0 for this release with any merchant name, also behind a proxy that changes only the path', async () => {
    await using proxy = await startProxy((body) => body);
    for (const url of [tillway.url, proxy.url]) {
      const { code, stdout } = await runIn({ url }, 'verify-page');
      assert.equal(code, 0, stdout);
      assert.match(stdout, /^ok +page\nok +checkout\.css\nok +checkout\.js\n/);
      assert.match(stdout, /The checkout page matches this release\.\n$/);
    }
  });

  /** Replaces text in the responses of matching paths. */
  const replace =
    (path: RegExp, from: string, to: string): Tamper =>
    (body, _, requestedPath) =>
      path.test(requestedPath) ? body.replace(from, to) : body;
  const change =
    (set: (headers: Headers) => void): Tamper =>
    (body, headers) => {
      set(headers);
      return body;
    };
  const PAGE = /^\/checkout\//;
  const script = '<script src="https://evil.example/assets/checkout-000000000000.js"></script></head>';
  const cases: [what: string, tamper: Tamper, differs: string][] = [
    ['one byte of the script', replace(/\.js$/, ';', ','), 'checkout.js'],
    ['one byte of the styles', replace(/\.css$/, '}', '} '), 'checkout.css'],
    ['one byte of the page', replace(PAGE, 'preview', 'Preview'), 'page'],
    ['a script from elsewhere', replace(PAGE, '</head>', script), 'page'],
    ['a script in the name', replace(PAGE, '</bdi>', '<script>1</script></bdi>'), 'page'],
    [
      'a content security policy that allows more',
      change((headers) => headers.append('content-security-policy', 'script-src *')),
      'header content-security-policy',
    ],
    ['a missing header', change((headers) => headers.delete('x-frame-options')), 'header x-frame-options'],
    ['a cookie', change((headers) => headers.set('set-cookie', 'track=1')), 'header set-cookie'],
  ];
  for (const [what, tamper, differs] of cases) {
    it(`tillway verify-page exits with 1 for ${what}, and reports the difference`, async () => {
      await using proxy = await startProxy(tamper);
      const { code, stdout } = await runIn(proxy, 'verify-page', '--json');
      assert.equal(code, 1);
      assert.ok(differing(stdout).includes(differs), stdout);
    });
  }

  it('tillway verify-page exits with 1 if there is no response or another page', async () => {
    assert.equal((await runIn({ url: 'http://127.0.0.1:9' }, 'verify-page')).code, 1);
    await using other = await startProxy(() => '<h1>It works!</h1>');
    assert.equal((await runIn(other, 'verify-page')).code, 1);
  });
});
