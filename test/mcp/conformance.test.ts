// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestService } from '../support/service.ts';
import { toolPath } from '../support/tools.ts';

const EXTEND_TIMEOUTS = new URL('extend-timeouts.ts', import.meta.url).href;

/** One check of a scenario in the output of the conformance suite. */
interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}
type Results = Map<string, Check[]>;

/** Scenarios that need no fixtures, each with the minimum number of passed checks. */
type MinimumPasses = Readonly<Record<string, number>>;

const MINIMUM_PASSES: Readonly<Record<string, MinimumPasses>> = {
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

/** Checks that are expected to fail, because they call diagnostic tools that Tillway does not have. */
const NEED_DIAGNOSTIC_TOOLS = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
];

test('the server passes the MCP conformance suite for protocol versions 2026-07-28 and 2025-11-25', async (t) => {
  await using service = await startTestService();
  const runs = Object.entries(MINIMUM_PASSES).map(async ([version, minimumPasses]) => {
    const results = await runSuite(`${service.url}/mcp`, version);
    const expectedFailures = version === '2026-07-28' ? NEED_DIAGNOSTIC_TOOLS : [];
    assert.deepEqual(faultsOf(results, minimumPasses, expectedFailures), [], version);
    t.diagnostic(`${version}: ${Object.keys(minimumPasses).length} scenarios`);
  });
  await Promise.all(runs);
});

/** One line for each failed or missing check. */
function faultsOf(results: Results, minimumPasses: MinimumPasses, expectedFailures: readonly string[]): string[] {
  const failed = new Set<string>();
  const faults = Object.entries(minimumPasses).flatMap(([name, least]) => {
    const checks = results.get(name) ?? [];
    const failedChecks = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    for (const { id } of failedChecks) failed.add(id);
    const unexpected = failedChecks.filter(({ id }) => !expectedFailures.includes(id));
    const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
    return [
      ...unexpected.map(({ id, status, errorMessage }) => `${name}: ${id} ${status} ${errorMessage}`),
      ...(passed < least ? [`${name}: ${passed} of ${least} checks passed`] : []),
    ];
  });
  const stale = expectedFailures.filter((id) => !failed.has(id));
  return [...faults, ...stale.map((id) => `${id} was expected to fail`)];
}

/** Runs all server scenarios of a protocol version in one process. Most scenarios need fixtures and fail; their results are not used. */
async function runSuite(url: string, version: string): Promise<Results> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const options = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '--output-dir', folder];
    await new Promise<void>((resolve) => {
      const suite = ['--import', EXTEND_TIMEOUTS, toolPath('conformance')];
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
