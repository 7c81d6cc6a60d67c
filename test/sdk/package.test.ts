// @run needs=process,browser
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openPage, startBrowser } from '../support/browser.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { toolPath } from '../support/tools.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const EDGE_RUNTIME = fileURLToPath(new URL('./edge-runtime.ts', import.meta.url));
const PROGRAM = readFileSync(new URL('./program.js', import.meta.url), 'utf8');
const MAIN = `import { program } from './program.mjs';
console.log(JSON.stringify(await program(process.argv[2])));`;
const EXPECTED = {
  amounts: [12, 11, 10],
  refused: 'not_found',
  gone: 'connection_failed',
  event: 'payment.paid',
  forged: 'wrong_signature',
};

const run = promisify(execFile);

/** Output of a command. Throws with all output if the command fails. */
async function output(file: string, args: string[], cwd: string, variables: Record<string, string> = {}) {
  const options = { cwd, env: { ...process.env, ...variables } };
  const { stdout } = await run(file, args, options).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${file} ${args.join(' ')}\n${error.stdout}${error.stderr}`);
  });
  return stdout;
}

/** Packs a copy of the SDK workspace, so that the build writes no files into the repository. */
async function packSdk(folder: string): Promise<{ tarball: string; files: string[] }> {
  const copy = join(folder, 'repository');
  mkdirSync(copy);
  cpSync(join(ROOT, 'tsconfig.json'), join(copy, 'tsconfig.json'));
  cpSync(join(ROOT, 'sdk'), join(copy, 'sdk'), { recursive: true, filter: (path) => !path.endsWith('/dist') });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const args = ['pack', '--json', '--loglevel=error', '--pack-destination', folder];
  const printed = await output('npm', args, join(copy, 'sdk'));
  type Packed = [{ filename: string; files: { path: string }[] }];
  const [{ filename, files }] = JSON.parse(printed.slice(printed.indexOf('[\n'))) as Packed;
  return { tarball: join(folder, filename), files: files.map(({ path }) => path) };
}

describe('the npm package of the SDK', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-sdk-'));
  const project = join(folder, 'project');
  const installed = join(project, 'node_modules/@tillway/sdk');
  let service: TestService;
  let files: string[];

  before(async () => {
    const packing = packSdk(folder);
    service = await startTestService({ background: true });
    const packed = await packing;
    files = packed.files;
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"name":"shop","private":true,"type":"module"}');
    const flags = ['--offline', '--no-audit', '--no-fund', '--loglevel=error'];
    await output('npm', ['install', packed.tarball, ...flags], project);
    writeFileSync(join(project, 'program.mjs'), PROGRAM);
    writeFileSync(join(project, 'main.mjs'), MAIN);
  });
  after(async () => {
    await service[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  test('the npm package of the SDK contains the built files, the README and the license, and no dependency', () => {
    for (const file of ['package.json', 'README.md', 'LICENSE', 'dist/index.js', 'dist/index.d.ts']) {
      assert.ok(files.includes(file), file);
    }
    const known = /^(?:dist\/(?:generated\/)?[\w-]+\.(?:js|d\.ts)|package\.json|README\.md|LICENSE)$/;
    assert.deepEqual(
      files.filter((file) => !known.test(file)),
      [],
    );
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>;
    for (const field of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
      assert.equal(manifest[field], undefined);
    }
  });

  const runtimes: Record<string, () => [file: string, args: string[]]> = {
    Node: () => [process.execPath, ['main.mjs']],
    Deno: () => [toolPath('deno'), ['run', '--no-remote', '--allow-net', '--allow-read', '--allow-env', 'main.mjs']],
    Bun: () => [toolPath('bun'), ['run', 'main.mjs']],
    'a runtime with only the globals of the web platform': () => {
      const flags = ['--experimental-vm-modules', '--no-warnings'];
      return [process.execPath, [...flags, EDGE_RUNTIME, installed, join(project, 'program.mjs')]];
    },
  };
  for (const [name, commandOf] of Object.entries(runtimes)) {
    test(`the npm package of the SDK runs in ${name}`, async () => {
      const [file, args] = commandOf();
      const quiet = { DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1' };
      const printed = await output(file, [...args, service.url], project, quiet);
      assert.deepEqual(JSON.parse(printed), EXPECTED);
    });
  }

  test('the SDK runs in a browser, on a page with the origin of the API', async () => {
    await using browser = await startBrowser();
    const { page } = await openPage(browser);
    writeFileSync(join(project, 'page.html'), PAGE);
    await page.route(`${service.url}/shop/**`, (route, request) =>
      route.fulfill({ path: join(project, new URL(request.url()).pathname.slice('/shop/'.length)) }),
    );
    await page.goto(`${service.url}/shop/page.html`);
    assert.deepEqual(await page.evaluate('window.result'), EXPECTED);
  });

  for (const [name, options] of Object.entries({
    'Node without DOM types': { module: 'nodenext', lib: ['es2022'], types: ['node'] },
    'a bundler': { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] },
  })) {
    test(`the npm package of the SDK has types for ${name}, with the strictest compiler settings`, async () => {
      const config = join(project, `tsconfig.${options.module}.json`);
      const compilerOptions = {
        ...options,
        target: 'es2022',
        typeRoots: [join(ROOT, 'node_modules/@types')],
        noEmit: true,
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
      };
      const typed = PROGRAM.replace('(baseUrl)', '(baseUrl: string)').replace('amounts = []', 'amounts: number[] = []');
      writeFileSync(join(project, 'typed.ts'), `${typed}\n${MISUSES}`);
      writeFileSync(config, JSON.stringify({ compilerOptions, files: ['typed.ts'] }));
      await output(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', config], project);
    });
  }
});

/** Calls that must not compile. */
const MISUSES = `
export async function misuses(tillway: Tillway) {
  // @ts-expect-error -- an amount is a number
  await tillway.sessions.create({ product: 'Field guide', amount: '49.99', customer: 'buyer@example.com' });
  // @ts-expect-error -- there is no such parameter
  await tillway.payments.list({ colour: 'red' });
  const event = await webhooks.verify('', {}, '');
  if (event.type === 'payment.paid') {
    const status: 'paid' = event.data.status;
    // @ts-expect-error -- a paid event is not failed
    if (status === 'failed') return;
  }
  // @ts-expect-error -- a parsed body is not a raw body
  await webhooks.verify({ id: 'evt_x' }, {}, '');
}
`;

const PAGE = `<!doctype html>
  <script type="importmap">{"imports":{"@tillway/sdk":"/shop/node_modules/@tillway/sdk/dist/index.js"}}</script>
  <script type="module">
    import { program } from '/shop/program.mjs';
    window.result = program(location.origin);
  </script>`;
