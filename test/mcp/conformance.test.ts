// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestService } from '../support/service.ts';
import { toolPath } from '../support/tools.ts';

const PATIENCE = new URL('patience.ts', import.meta.url).href;

/** One check of a scenario in the output of the suite. */
interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}
type Results = Map<string, Check[]>;

/** Scenarios that need no fixtures, with the least number of passed checks. */
type Wanted = Readonly<Record<string, number>>;

const WANTED: Readonly<Record<string, Wanted>> = {
  '2026-07-28': {
    'server-stateless': 24,
    'tools-list': 4,
    'resources-list': 2,
    'prompts-list': 2,
    'sep-2164-resource-not-found': 4,
    caching: 8,
    'dns-rebinding-protection': 2,
    'server-sse-multiple-streams': 1,
    'http-header-validation': 14,
  },
  '2025-11-25': {
    'server-initialize': 2,
    ping: 2,
    'tools-list': 3,
    'resources-list': 2,
    'prompts-list': 2,
    'dns-rebinding-protection': 2,
  },
};

/** Checks that call tools of a server made for the suite. */
const NEED_DIAGNOSTIC_TOOLS = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
];

test('the server conforms to the protocols of 2026-07-28 and 2025-11-25', async (t) => {
  await using service = await startTestService();
  const judged = Object.entries(WANTED).map(async ([version, wanted]) => {
    const results = await runSuite(`${service.url}/mcp`, version);
    const expectedFailures = version === '2026-07-28' ? NEED_DIAGNOSTIC_TOOLS : [];
    assert.deepEqual(faultsOf(results, wanted, expectedFailures), [], version);
    t.diagnostic(`${version}: ${Object.keys(wanted).length} scenarios`);
  });
  await Promise.all(judged);
});

/** One line for each failed or missing check. */
function faultsOf(results: Results, wanted: Wanted, expectedFailures: readonly string[]): string[] {
  const failed = new Set<string>();
  const faults = Object.entries(wanted).flatMap(([name, least]) => {
    const checks = results.get(name) ?? [];
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    for (const { id } of bad) failed.add(id);
    const unexpected = bad.filter(({ id }) => !expectedFailures.includes(id));
    const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
    return [
      ...unexpected.map(({ id, status, errorMessage }) => `${name}: ${id} ${status} ${errorMessage}`),
      ...(passed < least ? [`${name}: ${passed} of ${least} checks passed`] : []),
    ];
  });
  const stale = expectedFailures.filter((id) => !failed.has(id));
  return [...faults, ...stale.map((id) => `${id} was expected to fail`)];
}

/** Runs every server scenario of a version in one process: most need fixtures, and fail without them. */
async function runSuite(url: string, version: string): Promise<Results> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const options = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '--output-dir', folder];
    await new Promise<void>((resolve) => {
      const suite = ['--import', PATIENCE, toolPath('conformance')];
      execFile(process.execPath, [...suite, ...options], () => resolve());
    });
    // server-<scenario>-<time>
    const names = (await readdir(folder)).map((name) => ({
      name,
      scenario: /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1],
    }));
    const entries = names.map(async ({ name, scenario = name }): Promise<[string, Check[]]> => {
      return [scenario, JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as Check[]];
    });
    return new Map(await Promise.all(entries));
  } finally {
    await rm(folder, { recursive: true });
  }
}
