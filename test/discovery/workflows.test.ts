// @run needs=process
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempt } from '../simulator/buyer.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { redocly, replaceIn, saveDescription } from './redocly.ts';

const BUYER = 'workflow.buyer@example.com';
const INPUTS = JSON.stringify({ idempotencyKey: 'order-W-1001', buyer: BUYER });
const POLL_MS = 25;

/** Results of the steps of a run, by workflow. The last try of a retried step counts. */
type Outcomes = Record<string, Record<string, boolean>>;

interface RunReport {
  files: Record<string, { executedWorkflows: { workflowId: string; executedSteps: ReportedStep[] }[] }>;
}

interface ReportedStep {
  stepId: string;
  checks: { passed: boolean }[];
}

const service = await startTestService();
const folder = mkdtempSync(join(tmpdir(), 'tillway-workflows-'));
after(async () => {
  rmSync(folder, { recursive: true });
  await service[Symbol.asyncDispose]();
});

describe('the served OpenAPI and Arazzo documents', () => {
  beforeEach(() => saveDescription(service.url, folder));
  const respect = (...options: string[]) =>
    redocly(folder, 'respect', 'arazzo.yaml', '--input', INPUTS, '--json-output', 'report.json', ...options);

  async function outcomes(): Promise<Outcomes> {
    const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as RunReport;
    const workflows = Object.values(report.files).flatMap(({ executedWorkflows }) => executedWorkflows);
    return Object.fromEntries(
      workflows.map(({ workflowId, executedSteps }) => [
        workflowId,
        Object.fromEntries(
          executedSteps.map(({ stepId, checks }) => [
            stepId,
            checks.length > 0 && checks.every(({ passed }) => passed),
          ]),
        ),
      ]),
    );
  }

  test('the OpenAPI and Arazzo documents pass the recommended rules of redocly lint without a warning', async () => {
    const { code, output } = await redocly(folder, 'lint', 'openapi.json', 'arazzo.yaml');
    assert.equal(code, 0, output);
    assert.match(output, /openapi\.json: validated/);
    assert.match(output, /arazzo\.yaml: validated/);
    assert.doesNotMatch(output, /warning|error/i);
  });

  test('all steps of the Arazzo workflows pass while a buyer pays', async () => {
    const ended = new AbortController();
    const buyer = payFirstCheckout(service, ended.signal);
    const { code, output } = await respect();
    ended.abort();
    assert.equal(code, 0, output);
    assert.equal(await buyer, 'paid');
    const steps = (await readFile(join(folder, 'arazzo.yaml'), 'utf8')).match(/stepId: \S+/g)!;
    const ran = Object.values(await outcomes()).flatMap((workflow) => Object.entries(workflow));
    assert.deepEqual(
      ran.map(([stepId]) => `stepId: ${stepId}`),
      steps,
    );
    assert.deepEqual(
      ran.filter(([, passed]) => !passed),
      [],
    );
  });

  test('the Arazzo workflows fail if a response differs from the OpenAPI document', async () => {
    await replaceIn(folder, 'openapi.json', '"signatureVerified":{', '"signatureKnown":{');
    const { code, output } = await respect('--workflow', 'check-a-webhook');
    assert.equal(code, 1, output);
    assert.equal((await outcomes())['check-a-webhook']!['accept-a-right-signature'], false, output);
  });
});

/** Acts as the buyer of the workflow, and pays the checkout as soon as it exists. */
async function payFirstCheckout(service: TestService, ended: AbortSignal): Promise<string> {
  const sessions = `${service.url}/api/gateway/sessions?customer=${encodeURIComponent(BUYER)}`;
  while (!ended.aborted) {
    const { body } = await call<{ data: { id: string }[] }>('GET', sessions);
    const [session] = body.data;
    if (session) {
      await attempt(service, session.id, 'card', 'paid');
      await service.pass(0);
      return 'paid';
    }
    await sleep(POLL_MS);
  }
  return 'no checkout';
}
