import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import { BACKLOG_COUNT_LIMIT } from '../../src/store/tables/backlog-reads.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { parsedAs } from '../cli/parsed-as.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { startMerchant } from './merchant.ts';
import { faultsOf, isMet, readExposition } from './promql.ts';
import { until } from '../support/until.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const AWAITED = [
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

const { groups } = parseYaml(readFileSync(new URL('alert-rules.yaml', DEPLOY), 'utf8')) as {
  groups: { name: string; rules: Rule[] }[];
};
const dashboard = JSON.parse(readFileSync(new URL('grafana-dashboard.json', DEPLOY), 'utf8')) as {
  schemaVersion: number;
  panels: Panel[];
  templating: { list: { name: string; type: string; definition?: string }[] };
};
const rules = groups.flatMap((group) => group.rules);
const graphs = dashboard.panels.filter(({ type }) => type !== 'row');

const receiver = await startMerchant();
const service = await startTestService({
  variables: { METRICS_PORT: '0', WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET },
});
await work(service, receiver);
let text = '';
// The sum of the ledger arrives later, and late answers of the database are left out.
await until(async () => {
  text = await scrape();
  return AWAITED.every((line) => text.includes(`\n${line}`));
});
const exposed = readExposition(text);
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

describe('the metrics of a service', () => {
  /** The value of one series. */
  function valueOf(series: string): number {
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    assert.ok(line, `there is no series ${series}`);
    return Number(line.slice(series.length + 1));
  }

  /** The sum of all series of a metric with these labels. */
  function sumOf(metric: string, labels: string): number {
    const lines = text.split('\n').filter((line) => line.startsWith(`${metric}{`) && line.includes(labels));
    assert.ok(lines.length > 0, `there is no series ${metric}{${labels}}`);
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  test('count requests by template, commits, sessions, payments, attempts and dead letters', () => {
    const sandbox = 'environment="sandbox"';
    assert.equal(
      valueOf('tillway_http_request_duration_seconds_count{route="/api/gateway/sessions",method="POST",status="2xx"}'),
      4,
    );
    assert.equal(valueOf(`tillway_session_transitions_total{${sandbox},state="routed"}`), 3);
    assert.equal(valueOf(`tillway_session_transitions_total{${sandbox},state="paid"}`), 2);
    assert.equal(sumOf('tillway_payment_transitions_total', 'state="pending",source="none"'), 3);
    assert.equal(sumOf('tillway_payment_transitions_total', 'state="paid",source="none"'), 2);
    assert.equal(sumOf('tillway_payment_transitions_total', 'state="failed"'), 1);
    assert.equal(sumOf('tillway_provider_call_duration_seconds_count', 'call="handoff",result="accepted"'), 3);
    assert.equal(valueOf(`tillway_deliveries_ended_total{${sandbox},state="dead"}`), 1);
    assert.ok(valueOf(`tillway_deliveries_ended_total{${sandbox},state="delivered"}`) >= 1);
    assert.equal(valueOf(`tillway_delivery_attempts_total{${sandbox},status="4xx"}`), 1);
    assert.equal(valueOf('tillway_commit_conflicts_total{conflict="session_refused"}'), 1);
    assert.ok(valueOf('tillway_commit_batch_change_sets_count') > 10);
    assert.equal(valueOf('tillway_http_refused_total{status="400"}'), 1);
  });

  test('show the backlog in the database', () => {
    assert.equal(valueOf('tillway_database_up'), 1);
    assert.equal(valueOf('tillway_deliveries_dead{environment="sandbox"}'), 1);
    assert.equal(valueOf('tillway_webhook_endpoints{environment="sandbox",state="disabled"}'), 1);
    assert.equal(valueOf('tillway_ledger_imbalance_cents{environment="sandbox"}'), 0);
    assert.equal(valueOf('tillway_route_state{environment="sandbox",route="sandbox_card_acquirer",state="live"}'), 1);
  });

  test('have a unit in each name, and no path, id or address in a label', () => {
    const units =
      /_(?:seconds|total|cents|ratio|info|change_sets|up|state|pending|dead|due|open|endpoints)(?:_bucket|_sum|_count)?$/;
    const own = [...exposed.keys()].filter((name) => name.startsWith('tillway_'));
    assert.deepEqual(
      own.filter((name) => !units.test(name)),
      [],
    );
    const labels = [...exposed.values()].flatMap((each) => [...each.values()].flatMap((values) => [...values]));
    assert.deepEqual(
      labels.filter((value) => /(?:chk|pay|evt|dlv|cus)_[0-9a-z]{10}|@|\?/.test(value)),
      [],
    );
    for (const [name, each] of exposed) for (const values of each.values()) assert.ok(values.size < 100, name);
  });

  test('have the limit of a count in their help text, as do the panels that show them', () => {
    const limit = `ounted up to ${BACKLOG_COUNT_LIMIT}.`;
    const help = text.split('\n').filter((line) => line.startsWith('# HELP ') && line.includes(limit));
    const counted = help.map((line) => line.split(' ')[2]!);
    assert.equal(counted.length, 7);
    const shown = graphs.filter(({ targets = [] }) =>
      targets.some(({ expr }) => counted.some((metric) => expr.includes(`${metric}{`))),
    );
    assert.ok(shown.length >= 6);
    for (const { title, description } of shown) assert.ok(description?.includes(limit), title);
  });

  test('are on a port of their own, which serves nothing else', async () => {
    const own = service.service.metricsUrl!;
    assert.notEqual(own, service.url);
    assert.equal((await fetch(`${service.url}/metrics`)).status, 404);
    for (const [method, path, status] of [
      ['POST', '/metrics', 405],
      ['DELETE', '/metrics', 405],
      ['GET', '/', 404],
      ['GET', '/api/gateway/sessions', 404],
    ] as const) {
      const answer = await fetch(own + path, { method });
      assert.equal(answer.status, status, `${method} ${path}`);
      assert.equal(((await answer.json()) as { ok: boolean }).ok, false);
      assert.match(answer.headers.get('x-request-id')!, /^req_/);
    }
  });

  test('every alert queries existing series, has a severity, and names a command', () => {
    for (const { alert, expr, annotations, labels } of rules) {
      assert.deepEqual(faultsOf(expr, labelsIn(annotations.summary + annotations.runbook), exposed), [], alert);
      assert.match(labels.severity, /^(?:page|ticket)$/, alert);
      assert.match(annotations.runbook, /`[^`]+`/, alert);
    }
  });

  test('every panel of the dashboard queries existing series', () => {
    const faults = graphs.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr, legendFormat }) =>
        faultsOf(expr, labelsIn(legendFormat), exposed).map((fault) => `${title}: ${fault}`),
      ),
    );
    assert.deepEqual(faults, []);
    const asked = dashboard.templating.list.flatMap(({ definition }) => /\((\w+)/.exec(definition ?? '')?.[1] ?? []);
    assert.deepEqual(
      asked.filter((metric) => !exposed.has(metric)),
      [],
    );
  });

  test('the check of expressions finds unknown metrics, labels and values, lost labels and syntax errors', () => {
    for (const [expression, shown, fault] of [
      ['rate(tillway_payments_total[5m]) > 0', [], 'no metric tillway_payments_total'],
      ['tillway_deliveries_dead{endpoint="x"}', [], 'has no label endpoint'],
      ['tillway_deliveries_dead{environment="live"}', [], 'no environment live'],
      ['sum by (queue) (tillway_deliveries_dead)', [], 'has the label queue'],
      ['sum by (environment) (tillway_route_state)', ['route'], 'is not in the result'],
      ['sum by (environment (tillway_deliveries_dead)', [], 'not PromQL'],
      ['1 > 0', [], 'names no metric'],
    ] as const) {
      const faults = faultsOf(expression, shown, exposed);
      assert.ok(
        faults.some((found) => found.includes(fault)),
        `${expression}: ${faults.join('; ')}`,
      );
    }
  });
});

describe('the files for operators', () => {
  test('have unique alert names', () => {
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    assert.ok(rules.length >= 15);
  });

  test('treat a backlog at the limit of the count as growing', () => {
    const { expr } = rules.find(({ alert }) => alert === 'TillwayBacklogGrows')!;
    for (const [pending, growth, expected] of [
      [1000, 1, false],
      [1001, 0, false],
      [1001, 0.1, true],
      [BACKLOG_COUNT_LIMIT - 1, -1, false],
      [BACKLOG_COUNT_LIMIT, 0, true],
    ] as const) {
      const values = {
        'max by (environment) (tillway_deliveries_pending)': pending,
        'max by (environment) (deriv(tillway_deliveries_pending[15m]))': growth,
      };
      assert.equal(isMet(expr, values), expected, `${pending}, growing by ${growth}`);
    }
  });

  test('quote only log messages that the service writes', () => {
    const source = new URL('../../src/', import.meta.url);
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const written = files.map((name) => readFileSync(new URL(name, source), 'utf8')).join('');
    const quoted = rules.flatMap(({ annotations }) =>
      Array.from(annotations.runbook.replaceAll(/`[^`]*`/g, '').matchAll(/"([^"]+)"/g), ([, words]) => words!),
    );
    assert.ok(quoted.length >= 6);
    for (const words of quoted) assert.ok(written.includes(`'${words}'`), words);
  });

  test('name only commands that exist', () => {
    const named = rules.flatMap(({ annotations }) =>
      Array.from(annotations.runbook.matchAll(/`(tillway [^`]*)`/g), ([, words]) => words!),
    );
    assert.ok(named.length > 10);
    const filled = named.map((words) =>
      words.replaceAll(/\{\{.*?\}\}/g, 'name').replaceAll('<time>', '2026-01-15T06:00:00Z'),
    );
    for (const words of new Set(filled)) assert.ok(parsedAs(words), words);
    assert.throws(() => parsedAs('tillway deliveries mend'));
  });

  test('have a dashboard with a schema, a data source and described panels that do not overlap', () => {
    assert.ok(dashboard.schemaVersion >= 36);
    assert.equal(dashboard.templating.list[0]?.type, 'datasource');
    for (const { title, description, fieldConfig } of graphs) {
      assert.ok(description, title);
      assert.ok(fieldConfig?.defaults.unit, title);
    }
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h }, title }) => {
      assert.ok(x + w <= 24, title);
      return Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`);
    });
    assert.equal(new Set(cells).size, cells.length, 'two panels overlap');
  });
});

/** Pays two sessions, one of them after a failure. The receiver takes one event and answers the next with 410. */
async function work(service: TestService, receiver: { status: number }): Promise<void> {
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
