// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Capabilities } from '../../src/contract/capabilities-contract.ts';
import { commandLine } from '../../src/operations/capabilities.ts';
import { ACTIONS } from '../../src/operations/registry.ts';
import { runIn } from '../cli/terminal.ts';
import { type Body, bodyOf } from '../support/agent-client.ts';
import { call } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
// Characters with a meaning to shells, option parsers or lists of pairs.
const AWKWARD = `it's "$HOME" \`id\` \\ a=b; & | * ~ #\n 50 % ü`;

describe('the CLI command lines in the capabilities document', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-command-lines-'));
  let capabilities: Capabilities;
  const service = suiteService({}, async () => {
    capabilities = (await call<Capabilities>('GET', `${service.url}/api/agent/capabilities`)).body;
    writeProgram(folder, 'tillway', `exec '${process.execPath}' '${MAIN}' "$@"`);
    writeProgram(folder, 'words', String.raw`printf '%s\0' "$@"`);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** Runs a command line in a shell with only PATH set, so that it finds `tillway` and reads no TILLWAY settings. */
  async function shell(line: string): Promise<string> {
    const path = [folder, process.env['PATH']].join(delimiter);
    return (await run('sh', ['-c', line], { env: { PATH: path } })).stdout;
  }

  async function answerOf(action: string, body: Body): Promise<unknown> {
    const { url } = capabilities.actions.find(({ name }) => name === action)!;
    const answer = await call('POST', url, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }

  test('the CLI command lines in the capabilities document run unchanged, and print the response of their action', async () => {
    assert.equal(capabilities.actions.length, ACTIONS.length);
    await Promise.all(
      capabilities.actions.map(async ({ name, example, cli }) => {
        const printed: unknown = JSON.parse(await shell(cli));
        assert.deepEqual(withoutIds(printed), withoutIds(await answerOf(name, example.request)), cli);
      }),
    );
  });

  for (const { name, command } of ACTIONS) {
    test(`the CLI command lines in the capabilities document can express every request body of ${name}`, async () => {
      const { inputSchema } = capabilities.actions.find((action) => action.name === name)!;
      const whole = bodyOf(inputSchema, 'all');
      const bodies = [bodyOf(inputSchema, 'required'), whole, awkward(whole)];
      for (const [index, body] of bodies.entries()) {
        // Each body needs its own idempotency key.
        const sent = 'idempotencyKey' in body ? { ...body, idempotencyKey: `order-C-100${index}` } : body;
        const line = commandLine(service.url, command(sent));
        const printArgs = (await shell(line.replace(/^tillway /, 'words '))).split('\0').slice(0, -1);
        const { code, stdout, stderr } = await runIn({ url: 'http://127.0.0.1:1' }, ...printArgs);
        assert.equal(code, 0, `${line}: ${stderr}`);
        assert.deepEqual(withoutIds(JSON.parse(stdout)), withoutIds(await answerOf(name, sent)), line);
      }
    });
  }

  test('the CLI command lines in the capabilities document exit with 1 and print the error if the action is rejected', async () => {
    const { command } = ACTIONS.find(({ name }) => name === 'checkout.preview')!;
    const printArgs = command({ product: 'Field guide', amount: 20_000, customer: 'buyer@example.com' });
    const { code, stdout } = await runIn(service, ...printArgs, '--json');
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: { code: string } };
    assert.deepEqual([code, ok, error.code], [1, false, 'invalid_input']);
  });
});

function writeProgram(folder: string, name: string, line: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
}

/** Replaces values of a body by text that is hard to quote on a command line. */
function awkward(body: Body): Body {
  const replaced: Body = {
    product: `--${AWKWARD}`,
    metadata: { note: AWKWARD, empty: '' },
    clientReferenceId: AWKWARD,
    provider: AWKWARD,
    txHash: null,
    livemode: true,
    signature: AWKWARD,
  };
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, name in replaced ? replaced[name] : value]),
  );
}

/** Replaces session ids, because each created session has a new id. */
function withoutIds(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer).replaceAll(/chk_[0-9a-z]+/g, 'chk_ID'));
}
