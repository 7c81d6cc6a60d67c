import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { parsedAs } from '../cli/parsed-as.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { type MerchantServer, startMerchant } from '../support/http-server.ts';
import { type ExposedMetrics, expressionFaults, readExposition } from './promql.ts';
import { until } from '../support/until.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const AWAITED_LINES = [
  'tillway_database_up 1',
  ...ENVIRONMENTS.map((environment) => `tillway_ledger_imbalance_cents{environment="${environment}"} `),
];
const DEPLOY = new URL('../../deploy/', import.meta.url);

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

interface Panel {
  type: string;
  title: string;
  description?: string;
  fieldConfig?: { defaults: { unit?: string } };
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

interface Dashboard {
  schemaVersion: number;
  panels: Panel[];
  templating: { list: { name: string; type: string; definition?: string }[] };
}

const read = (file: string) => readFileSync(new URL(file, DEPLOY), 'utf8');
const { groups } = parseYaml(read('alert-rules.yaml')) as { groups: { rules: Rule[] }[] };
const dashboard = JSON.parse(read('grafana-dashboard.json')) as Dashboard;
const rules = groups.flatMap((group) => group.rules);
const graphs = dashboard.panels.filter(({ type }) => type !== 'row');

describe('the metrics of a service', () => {
  let service: TestService;
  let receiver: MerchantServer;
  let text: string;
  let exposed: ExposedMetrics;
  before(async () => {
    receiver = await startMerchant();
    service = await startTestService({
      variables: { METRICS_PORT: '0', WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET },
    });
    await makePayments(service, receiver);
    // The service sums the ledger in the background, and a scrape omits values that a slow database has not returned.
    await until(async () => {
      text = await scrape();
      return AWAITED_LINES.every((line) => text.includes(`\n${line}`));
    });
    exposed = readExposition(text);
  });
  after(async () => {
    await service[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  async function scrape(): Promise<string> {
    const answer = await fetch(`${service.service.metricsUrl}/metrics`);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/);
    assert.match(answer.headers.get('x-request-id')!, /^req_/);
    return answer.text();
  }

  /** Sum of all series of a metric with these labels. */
  function valueOf(metric: string, labels = ''): number {
    const isWanted = (line: string) => /^\w+/.exec(line)?.[0] === metric && line.includes(labels);
    const lines = text.split('\n').filter(isWanted);
    assert.ok(lines.length > 0, `there is no series ${metric}{${labels}}`);
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  const sandbox = 'environment="sandbox"';
  for (const [metric, labels, expected] of [
    ['http_request_duration_seconds_count', 'route="/api/gateway/sessions",method="POST",status="2xx"', 4],
    ['session_transitions_total', `${sandbox},state="routed"`, 3],
    ['session_transitions_total', `${sandbox},state="paid"`, 2],
    ['payment_transitions_total', 'state="pending",source="none"', 3],
    ['payment_transitions_total', 'state="paid",source="none"', 2],
    ['payment_transitions_total', 'state="failed"', 1],
    ['provider_call_duration_seconds_count', 'call="handoff",result="accepted"', 3],
    ['deliveries_ended_total', `${sandbox},state="dead"`, 1],
    ['delivery_attempts_total', `${sandbox},status="4xx"`, 1],
    ['commit_conflicts_total', 'conflict="session_refused"', 1],
    ['http_refused_total', 'status="400"', 1],
    ['database_up', '', 1],
    ['provider_ready', 'provider="sandbox"', 1],
    ['deliveries_dead', sandbox, 1],
    ['webhook_endpoints', `${sandbox},state="disabled"`, 1],
    ['ledger_imbalance_cents', sandbox, 0],
    ['route_state', `${sandbox},route="sandbox_card_acquirer",state="live"`, 1],
  ] as const) {
    test(`the metrics contain tillway_${metric}{${labels}} with the value ${expected}`, () =>
      assert.equal(valueOf(`tillway_${metric}`, labels), expected));
  }

  test('the metrics count delivered events and commits', () => {
    assert.ok(valueOf('tillway_deliveries_ended_total', `${sandbox},state="delivered"`) >= 1);
    assert.ok(valueOf('tillway_commit_batch_change_sets_count') > 10);
  });

  test('metrics have a unit in the name, no path, id or address in a label, and the aggregation in the help text', () => {
    const units =
      /_(?:seconds|total|cents|ratio|info|change_sets|up|state|pending|dead|due|open|endpoints|ready)(?:_bucket|_sum|_count)?$/;
    for (const [name, labels] of exposed) {
      assert.ok(!name.startsWith('tillway_') || units.test(name), name);
      for (const values of labels.values()) {
        assert.ok(values.size < 100, name);
        for (const value of values) assert.doesNotMatch(value, /(?:chk|pay|evt|dlv|cus)_[0-9a-z]{10}|@|\?/);
      }
    }
    const help = text.split('\n').filter((line) => line.startsWith('# HELP tillway_'));
    assert.ok(help.length > 20);
    const aggregation = /sum over instances|take the maximum over instances|this instance|tillway_build_info/;
    for (const line of help) assert.match(line, aggregation);
  });

  test('the metrics are served on a separate port, which serves nothing else', async () => {
    const metricsUrl = service.service.metricsUrl!;
    assert.notEqual(metricsUrl, service.url);
    assert.equal((await fetch(`${service.url}/metrics`)).status, 404);
    for (const [method, path, status] of [
      ['POST', '/metrics', 405],
      ['DELETE', '/metrics', 405],
      ['GET', '/', 404],
      ['GET', '/api/gateway/sessions', 404],
    ] as const) {
      const answer = await fetch(metricsUrl + path, { method });
      assert.equal(answer.status, status, `${method} ${path}`);
      assert.equal(((await answer.json()) as { ok: boolean }).ok, false);
      assert.match(answer.headers.get('x-request-id')!, /^req_/);
    }
  });

  test('the metrics include the series of every alert; each alert has a unique name, a severity and a runbook command', () => {
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    assert.ok(rules.length >= 15);
    for (const { alert, expr, annotations, labels } of rules) {
      assert.deepEqual(expressionFaults(expr, labelsIn(annotations.summary + annotations.runbook), exposed), [], alert);
      assert.match(labels.severity, /^(?:page|ticket)$/, alert);
      assert.match(annotations.runbook, /`[^`]+`/, alert);
    }
  });

  test('the metrics include the series of every panel and variable of the dashboard', () => {
    for (const { title, targets = [] } of graphs) {
      for (const { expr, legendFormat } of targets)
        assert.deepEqual(expressionFaults(expr, labelsIn(legendFormat), exposed), [], title);
    }
    for (const { definition } of dashboard.templating.list) {
      const metric = /\((\w+)/.exec(definition ?? '')?.[1];
      assert.ok(metric === undefined || exposed.has(metric), String(metric));
    }
  });
});

describe('the alert rules and the dashboard', () => {
  const matchesInRunbooks = (pattern: RegExp, change = (text: string) => text) =>
    rules.flatMap(({ annotations }) =>
      Array.from(change(annotations.runbook).matchAll(pattern), ([, words]) => words!),
    );

  test('the alert rules quote only log messages that the service writes', () => {
    const source = new URL('../../src/', import.meta.url);
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const written = files.map((name) => readFileSync(new URL(name, source), 'utf8')).join('');
    const quoted = matchesInRunbooks(/"([^"]+)"/g, (text) => text.replaceAll(/`[^`]*`/g, ''));
    assert.ok(quoted.length >= 6);
    for (const words of quoted) assert.ok(written.includes(`'${words}'`), words);
  });

  test('the alert rules name only commands that exist', () => {
    const named = matchesInRunbooks(/`(tillway [^`]*)`/g);
    assert.ok(named.length > 10);
    for (const words of new Set(named)) {
      assert.ok(parsedAs(words.replaceAll(/\{\{.*?\}\}/g, 'name').replaceAll('<time>', '2026-01-15T06:00:00Z')), words);
    }
    assert.throws(() => parsedAs('tillway deliveries mend'));
  });
});

/** Pays two sessions, one of them after a decline. The receiver accepts the first events and answers later events with 410. */
async function makePayments(service: TestService, receiver: { status: number }): Promise<void> {
  const order = sessionBody({ idempotencyKey: 'metrics-1' });
  for (let time = 0; time < 2; time++) {
    assert.equal((await call('POST', `${service.url}/api/gateway/sessions`, order)).status, 200);
  }
  const first = await createSession(service);
  await attempt(service, first, 'card', 'paid');
  await service.pass(1000);
  const second = await createSession(service);
  await attempt(service, second, 'card', 'decline_then_paid');
  await service.pass(1000);
  await attempt(service, second, 'card', 'decline_then_paid');
  receiver.status = 410;
  await service.pass(1000);
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write('not HTTP\r\n\r\n'));
  await once(socket.resume(), 'close');
}

function labelsIn(text: string): string[] {
  return Array.from(text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g), ([, label]) => label!);
}
