// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { type Examined, doctor } from '../../src/cli/doctor-report.ts';
import type { Decision } from '../../src/domain/checkout-state.ts';
import type { ProviderEvent } from '../../src/domain/provider-event.ts';
import { withReport } from '../../src/domain/discrepancy.ts';
import type { ProviderMessage } from '../../src/domain/provider-message.ts';
import type { Checkout } from '../../src/domain/records.ts';
import { anyStepOf } from '../fixtures/any-step.ts';
import { anyFailure } from '../fixtures/failures.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import type { Deps } from '../../src/operations/deps.ts';
import { writesOf } from '../../src/operations/routing/health-watch.ts';
import { setOverride, reconfigureHealth } from '../../src/routing/health-override.ts';
import { leaseProbe, releaseProbe } from '../../src/routing/health-probe.ts';
import { type HealthChange, type HealthRecord, configuredHealth } from '../../src/routing/health-record.ts';
import type { HealthSignals, ResultKind } from '../../src/routing/health-signals.ts';
import { nextHealth } from '../../src/routing/health-machine.ts';
import { INVARIANTS } from '../../src/store/invariants.ts';
import { forPostgres } from '../../src/store/postgres-sql.ts';
import { checkoutDeps, fillWithEveryState } from '../fixtures/every-state.ts';
import { NO_TIMES } from '../fixtures/health-records.ts';
import {
  type Decisions,
  type History,
  type Step as HistoryStep,
  DECISIONS as real,
  walk,
  REFUND_REPORTS,
} from '../fixtures/checkout-history.ts';
import { CHAIN_ROWS } from '../fixtures/injected-chain-violations.ts';
import { INJECTED_VIOLATIONS } from '../fixtures/injected-violations.ts';
import type { ViolationStep } from '../fixtures/violation-rows.ts';
import { NOW, aCustomer, aSession, idOf } from '../fixtures/checkout-records.ts';
import { withStore, write } from '../fixtures/store-records.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { IS_UNIT_RUN, ONLY_IN_FULL_RUN, runs } from '../support/for-all.ts';

const LIMIT = 100;

/** A connection to the database that bypasses the store. */
interface Probe extends AsyncDisposable {
  rows(sql: string, ...params: number[]): Promise<Record<string, unknown>[]>;
  /** Begins a transaction in which foreign keys are not enforced. */
  begin(): Promise<void>;
  /** Drops the triggers of a table and returns the statements that create them again. */
  dropTriggers(table: string): Promise<string[]>;
}

async function openProbe(url: string): Promise<Probe> {
  return url.startsWith('sqlite:') ? probeSqlite(url.slice('sqlite:'.length)) : probePostgres(url);
}

function probeSqlite(path: string): Probe {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec('PRAGMA busy_timeout = 5000');
  const prepared = new Map<string, StatementSync>();
  return {
    async rows(sql, ...params) {
      const statement = prepared.get(sql) ?? database.prepare(sql);
      if (sql.startsWith('SELECT')) prepared.set(sql, statement);
      return statement.all(...params);
    },
    begin: async () => database.exec('BEGIN'),
    async dropTriggers(table) {
      const select = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?";
      const triggers = database.prepare(select).all(table);
      for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
      return triggers.map(({ sql }) => String(sql));
    },
    [Symbol.asyncDispose]: async () => database.close(),
  };
}

async function probePostgres(url: string): Promise<Probe> {
  const client = new Client(url);
  await client.connect();
  const names = new Map(INVARIANTS.map(({ name, sql }) => [sql, name]));
  const rows: Probe['rows'] = async (sql, ...params) => {
    // PostgreSQL caches the plan of a named statement.
    const query = { name: names.get(sql), text: forPostgres(sql), values: params };
    return (await client.query<Record<string, unknown>>(query)).rows;
  };
  return {
    rows,
    async begin() {
      const keys = await rows(
        "SELECT conrelid::regclass AS holder, conname AS name FROM pg_constraint WHERE contype = 'f'",
      );
      for (const { holder, name } of keys) await rows(`ALTER TABLE ${String(holder)} DROP CONSTRAINT ${String(name)}`);
      await rows('BEGIN');
    },
    async dropTriggers(table) {
      const triggers = await rows(
        `SELECT tgname AS name, pg_get_triggerdef(oid) AS sql FROM pg_trigger WHERE tgrelid = '${table}'::regclass AND NOT tgisinternal`,
      );
      for (const { name } of triggers) await rows(`DROP TRIGGER ${String(name)} ON ${table}`);
      return triggers.map(({ sql }) => String(sql));
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** Violations by invariant: the ids that the query of each broken invariant returns. Checks only the named invariants if `names` is given. */
async function findings(probe: Probe, names?: string[]): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const { name, sql } of INVARIANTS) {
    if (names && !names.includes(name)) continue;
    const ids = (await probe.rows(sql, LIMIT)).map((row) => String(row['id']));
    if (ids.length > 0) found[name] = ids;
  }
  return found;
}

/** Statements that create the dropped triggers of the ledger again. */
let droppedTriggers: string[] = [];

async function applyStep(probe: Probe, step: ViolationStep): Promise<void> {
  if (step === 'drop_triggers') droppedTriggers = await probe.dropTriggers('ledger_entries');
  else if (step === 'restore_triggers') for (const sql of droppedTriggers) await probe.rows(sql);
  else if (step === 'chain_rows') for (const sql of CHAIN_ROWS) await probe.rows(sql);
  else if (typeof step === 'string') await probe.rows(step);
  else {
    const { table, where } = step.copy;
    const [row] = await probe.rows(`SELECT * FROM ${table} WHERE ${where} LIMIT 1`);
    assert.ok(row, `nothing to copy: ${JSON.stringify(step)}`);
    // The database generates this column of events.
    const columns = Object.keys(row).filter((column) => column !== 'payment_session_id');
    const values = columns.map((column) => {
      const value = step.with[column];
      if (value === undefined) return column;
      return typeof row[column] === 'number' || /^-?\d+$/.test(value) ? value : `'${value}'`;
    });
    await probe.rows(
      `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM ${table} WHERE ${where}`,
    );
  }
}

const HISTORIES = runs(5);
/** A refund that the provider deducts while it is pending, and that fails later: rare among the random histories. */
const DEDUCTED_REFUND: History = {
  amount: 4999,
  rates: { buyerFeeRate: 5_000, gatewayFeeRate: 29_000, providerCostRate: 19_000 },
  steps: [
    { type: 'start', route: 0 },
    { type: 'event', payment: 0, status: 'paid', wrong: 'nothing', txHash: null, failure: null },
    { type: 'refund', payment: 0, share: 5 },
    { type: 'refundReport', refund: 0, status: 'deducted' },
    { type: 'refundReport', refund: 0, status: 'failed' },
  ],
};

describe('the invariants of the database', () => {
  test('each injected violation is found by the invariants that it breaks, and by no other invariant', (context) =>
    withStore(async (store, url) => {
      await fillWithEveryState(store);
      await using probe = await openProbe(url);
      assert.deepEqual(await findings(probe), {}, 'before any violation');

      for (const [steps, broken] of INJECTED_VIOLATIONS) {
        await context.test(`${Object.keys(broken).join(', ')}: ${JSON.stringify(steps)}`, async () => {
          const expected = Object.fromEntries(Object.entries(broken).map(([name, ids]) => [name, [ids].flat()]));
          await probe.begin();
          try {
            for (const step of [steps].flat()) await applyStep(probe, step);
            // Only the full run checks that the violation breaks no other invariant.
            assert.deepEqual(await findings(probe, IS_UNIT_RUN ? Object.keys(broken) : undefined), expected);
            for (const [name, [first]] of Object.entries(expected)) {
              const { sql } = INVARIANTS.find((invariant) => invariant.name === name)!;
              const limited = await probe.rows(sql, 1);
              assert.deepEqual(
                limited.map(({ id }) => id),
                [first],
              );
            }
          } finally {
            await probe.rows('ROLLBACK');
          }
        });
      }
    }));

  test('every invariant has an injected violation, and where possible a violation that breaks only this invariant', () => {
    const names = INVARIANTS.map(({ name }) => name);
    const found = INJECTED_VIOLATIONS.map(([, broken]) => Object.keys(broken));
    assert.deepEqual([...new Set(found.flat())].toSorted(), names.toSorted());
    const foundAlone = new Set(found.filter(({ length }) => length === 1).flat());
    // A violation of one of these invariants always breaks another invariant as well.
    const books = ['capture_first', 'ledger_balance', 'refund_bound'];
    const unique = ['one_event_per_status', 'one_paid_invoice', 'one_paid_payment'];
    const states = ['paid_session_invoice', 'paid_session_payment', 'surplus_payment'];
    // The records of the test have no sums, so a cursor of the sums breaks `sales_sums` as well.
    const neverAlone = [...books, ...unique, ...states, 'search_transactions'];
    assert.deepEqual(names.filter((name) => !foundAlone.has(name)).toSorted(), neverAlone.toSorted());
  });
});

describe('the invariants hold', () => {
  test('the invariants hold after every commit of random histories', () =>
    withStore(async (store, url) => {
      await write(store, { type: 'customer_created', customer: aCustomer() });
      await using probe = await openProbe(url);
      const deps = checkoutDeps(store);
      let commits = 0;
      const histories = [DEDUCTED_REFUND, ...fc.sample(anyHistory, { numRuns: HISTORIES, seed: 7 })];
      for (const [index, history] of histories.entries()) {
        for await (const commit of replayed(deps, history, index)) {
          assert.deepEqual(await findings(probe), {}, `history ${index}, after ${commit}`);
          commits++;
        }
      }
      assert.ok(commits > 4 * HISTORIES, `only ${commits} commits`);
    }));

  test('the invariants hold after every change of route health', () =>
    withStore(async (store, url) => {
      await using probe = await openProbe(url);
      const deps = checkoutDeps(store);
      let transitions = 0;
      for (const [index, { configured, steps }] of fc.sample(anyHealth, { numRuns: runs(7), seed: 7 }).entries()) {
        let record = configuredHealth(configured, NOW);
        const save = async (change: HealthChange) => {
          await write(store, ...writesOf(deps, 'sandbox', `route_${index}`, change, NOW));
          record = change.record;
        };
        await save({ record, transition: null });
        let now = NOW;
        for (const step of steps) {
          now += step.afterMs;
          const change = changeOf(record, step, now);
          if (!change) continue;
          await save(change);
          if (change.transition) transitions++;
          assert.deepEqual(await findings(probe), {}, `route ${index}, after ${JSON.stringify(step)}`);
        }
      }
      assert.ok(transitions > runs(23), `only ${transitions} transitions`);
    }));

  test('the invariants hold at every moment under load', ONLY_IN_FULL_RUN, async (context) => {
    let requests = 0;
    const { url } = await receiver(context, () => (++requests % 5 === 0 ? 503 : 200));
    const variables = { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET };
    await using service = await startTestService({ live: true, variables });
    const outcomes = ['paid', 'declined', 'duplicates', 'wrong_amount', 'decline_then_paid', 'abandoned'];
    let open = 8;
    const buyers = Promise.all(
      Array.from({ length: open }, async (_, buyer) => {
        for (let round = 0; round < 6; round++) {
          const id = await createSession(service, { customer: `buyer${buyer % 3}@example.com` });
          await attempt(service, id, 'card', outcomes[(buyer + round) % outcomes.length]!);
        }
      }),
    ).finally(() => (open = 0));
    await using probe = await openProbe(service.databaseUrl);
    let examinations = 0;
    while (open > 0 || examinations < 3) {
      assert.deepEqual(await findings(probe), {});
      examinations++;
      await sleep(60);
    }
    await buyers;
    const rows = async (sql: string) => (await probe.rows(sql)).length;
    assert.ok((await rows('SELECT 1 FROM routing_decisions WHERE payment_id IS NOT NULL')) > 20);
    assert.ok((await rows('SELECT 1 FROM sessions WHERE decision_id IS NOT NULL')) > 20);
    assert.ok((await rows('SELECT 1 FROM route_health')) > 0);
  });
});

const some = fc.integer({ min: -1, max: 4 });
const anyStep: fc.Arbitrary<HistoryStep> = anyStepOf({
  start: [5, { route: fc.nat(2) }],
  accept: [3, { payment: some }],
  refuse: [2, { payment: some, failover: fc.boolean(), mayArrive: fc.boolean() }],
  markUncertain: [1, { payment: some }],
  failUnknown: [1, { payment: some }],
  event: [
    8,
    {
      payment: fc.integer({ min: -2, max: 4 }),
      status: fc.constantFrom('provider_pending', 'paid', 'failed'),
      wrong: fc.constantFrom('nothing', 'nothing', 'nothing', 'amount', 'currency', 'environment'),
      txHash: fc.constant(null),
      failure: anyFailure,
    },
  ],
  abandon: [2],
  abandonCheckout: [1],
  expire: [1],
  applyElapsedTime: [2, { jump: fc.constantFrom('at' as const, -60_000) }],
  settle: [2, { payment: some }],
  refund: [3, { payment: some, share: fc.constantFrom(0, 5, 11, 17) }],
  refundReport: [3, { refund: fc.nat(3), status: fc.constantFrom(...REFUND_REPORTS) }],
});
const anyHistory: fc.Arbitrary<History> = fc.record({
  amount: fc.constantFrom(1, 99, 4999, 1_000_000),
  rates: fc.record({
    buyerFeeRate: fc.constantFrom(0, 5_000),
    gatewayFeeRate: fc.constantFrom(0, 29_000, 500_000),
    providerCostRate: fc.constantFrom(0, 19_000, 500_000),
  }),
  steps: fc.array(anyStep, { minLength: 4, maxLength: 20, size: 'max' }),
});

/** A change that may apply to the health of a route. */
interface HealthStep {
  type: 'signals' | 'override' | 'end_override' | 'reconfigure' | 'lease' | 'release';
  afterMs: number;
  state: HealthRecord['state'];
  /** Duration of an override. */
  untilMs: number | null;
  kind: ResultKind;
}

const anyState = fc.constantFrom('live' as const, 'degraded' as const, 'standby' as const);
const anyHealthStep: fc.Arbitrary<HealthStep> = fc.record({
  type: fc.constantFrom('signals', 'signals', 'signals', 'override', 'end_override', 'reconfigure', 'lease', 'release'),
  afterMs: fc.constantFrom(1, 60_000, 3_600_000),
  state: anyState,
  untilMs: fc.constantFrom(null, 1, 60_000),
  kind: fc.constantFrom('success', 'handoff_error', 'failure'),
});
const anyHealth = fc.record({
  configured: anyState,
  steps: fc.array(anyHealthStep, { minLength: 10, maxLength: 25, size: 'max' }),
});

function changeOf(
  record: HealthRecord,
  { type, state, untilMs, kind }: HealthStep,
  now: number,
): HealthChange | undefined {
  const withoutTransition = (next: HealthRecord | undefined) => next && { record: next, transition: null };
  switch (type) {
    case 'signals':
      return nextHealth(record, signalsOf(kind, now), 0.5);
    case 'override':
      return setOverride(record, { state, until: untilMs === null ? null : now + untilMs, reason: 'why' }, now);
    case 'end_override':
      return setOverride(record, null, now);
    case 'reconfigure':
      return reconfigureHealth(record, state, now);
    case 'lease':
      return withoutTransition(leaseProbe(record, idOf('pay', 1), now));
    case 'release':
      return withoutTransition(releaseProbe(record, idOf('pay', 1)));
  }
}

/** Signals with twenty recent results of one kind. */
function signalsOf(kind: ResultKind, now: number): HealthSignals {
  const mean = kind === 'success' ? 0.9 : 0.2;
  const recent = Array.from({ length: 20 }, () => ({ at: now - 1, kind }));
  const peers = { routesOfKind: 4, inLowSuccessStandby: 0, usable: 3 };
  return {
    now,
    shiftedAt: null,
    fast: { mean, n: 30 },
    slow: { mean: 0.9, n: 900 },
    latency: NO_TIMES,
    recent,
    peers,
  };
}

type Decide = (checkout: Checkout, ...args: unknown[]) => Decision<string>;
type Call = { name: string; args: unknown[]; decision: Decision<string> };

/** The calls of decision functions whose results a history applies. `args` omits the first argument, the checkout. */
function callsOf(history: History): Call[] {
  const calls: Call[] = [];
  const recordingDecisions = Object.entries(real as unknown as Record<string, Decide>).map(
    ([name, decide]): [string, Decide] => [
      name,
      (checkout, ...args) => {
        const decision = decide(checkout, ...args);
        calls.push({ name, args, decision });
        return decision;
      },
    ],
  );
  walk(Object.fromEntries(recordingDecisions) as unknown as Decisions, history);
  // `walk` also makes decisions that it discards; it freezes the checkouts of the decisions that it applies.
  return calls.filter(({ decision }) => Object.isFrozen(decision.next));
}

/** Commits the decisions of a history through `commitDecision`, as the operations do. Yields once per commit. */
async function* replayed(deps: Deps, history: History, index: number): AsyncGenerator<string> {
  const withOwnIds = <Value>(value: Value): Value => {
    const text = JSON.stringify(value);
    const tail = String(index).padStart(26, '0');
    return JSON.parse(text.replaceAll(/((?:chk|pay|inv|ref)_.{10})0{26}/g, `$1${tail}`)) as Value;
  };
  const sessionId = withOwnIds(idOf('chk', 1));
  await write(deps.store, { type: 'session_created', session: aSession({ id: sessionId, amount: history.amount }) });
  for (const [number, { name, args, decision }] of callsOf(history).entries()) {
    const decide = (real as unknown as Record<string, Decide>)[name]!;
    const event = name === 'applyProviderEvent' ? (withOwnIds(args[0]) as ProviderEvent) : undefined;
    let message: ProviderMessage | undefined;
    const { outcome } = await commitDecision(
      deps,
      sessionId,
      (checkout) => {
        const decided = decide(checkout, ...withOwnIds(args));
        if (!event) return decided;
        message = messageOf(sessionId, `${index}_${number}`, event, decided.outcome);
        return withReport(checkout, decided, message, deps.newId);
      },
      () => (message ? [{ type: 'provider_message_received', message }] : []),
    );
    assert.equal(outcome, decision.outcome);
    yield `${name} ${number}: ${outcome}`;
  }
}

function messageOf(sessionId: string, eventId: string, event: ProviderEvent, outcome: string) {
  const { provider, environment, paymentId, status, amount, currency } = event;
  const flagged = outcome !== 'applied' && outcome !== 'ignored';
  const origin = { provider, environment, eventId, about: 'payment' as const, signal: null };
  const message = { ...origin, sessionId, paymentId, refundId: null, status, amount, currency, outcome, flagged };
  return { ...message, body: '{}', received: NOW };
}

describe('tillway doctor', () => {
  const doctorAnswers = (broken: Record<string, string[]>, integrity: string[] | undefined = []): Examined => ({
    async violations(sql, limit) {
      const { name } = INVARIANTS.find((invariant) => invariant.sql === sql)!;
      return (broken[name] ?? []).slice(0, limit);
    },
    integrity: async () => integrity,
  });
  const runDoctor = async (store: Examined, options?: { json: boolean }) => {
    let text = '';
    const code = await doctor(store, (part) => void (text += part), { ...options, database: 'sqlite:a.db' });
    const [first, ...lines] = text.trimEnd().split('\n');
    if (!options?.json) assert.equal(first, 'Database: sqlite:a.db');
    return { code, text, lines };
  };
  const ids = (count: number) => Array.from({ length: count }, (_, index) => idOf('chk', index));

  test('tillway doctor prints five ids per broken invariant and the number of further ids, and exits with 1', async () => {
    const broken = { one_paid_payment: ids(8), paid_event: ids(1), pending_event: ids(1001) };
    const integrity = ['row 3 missing from index payments_one_paid'];
    const { code, lines } = await runDoctor(doctorAnswers(broken, integrity));
    assert.equal(code, 1);
    assert.equal(lines[1], `        database_integrity: ${integrity[0]}`);
    const at = lines.findIndex((line) => /^BROKEN {2}one_paid_payment +[A-Z]/.test(line));
    assert.equal(lines[at + 1], `        one_paid_payment: ${ids(5).join(', ')} and 3 more`);
    assert.ok(lines.includes(`        paid_event: ${ids(1).join(', ')}`));
    assert.ok(lines.some((line) => line.endsWith('and at least 995 more')));
    const summary = `4 of ${INVARIANTS.length + 1} invariants are broken. Nothing was changed`;
    assert.ok(lines.at(-1)!.startsWith(summary));
  });

  test('tillway doctor --json prints one JSON document', async () => {
    const { code, text } = await runDoctor(doctorAnswers({ one_paid_payment: ids(1001) }), { json: true });
    assert.equal(code, 1);
    const { invariants, ...summary } = JSON.parse(text) as {
      invariants: { ok: boolean; name: string; violations: string[]; more: boolean }[];
    };
    assert.deepEqual(summary, { ok: false, database: 'sqlite:a.db', asked: INVARIANTS.length + 1, broken: 1 });
    const [found, ...others] = invariants.filter(({ ok }) => !ok);
    assert.deepEqual(
      [found?.name, found?.violations.length, found?.more, others],
      ['one_paid_payment', 1000, true, []],
    );
  });

  test('tillway doctor reports an invariant whose table is unreadable, and checks the other invariants', async () => {
    const damaged = INVARIANTS[3]!;
    const { violations, integrity } = doctorAnswers({});
    const store: Examined = {
      integrity,
      violations: (sql, limit) =>
        sql === damaged.sql ? Promise.reject(new Error('invalid page in block 0')) : violations(sql, limit),
    };
    const { code, lines } = await runDoctor(store);
    assert.equal(code, 1);
    const at = lines.findIndex((line) => line.startsWith(`UNREAD  ${damaged.name} `));
    assert.equal(lines[at + 1], `        ${damaged.name}: invalid page in block 0`);
    assert.match(lines.at(-1)!, /^1 of \d+ invariants is broken/);
  });

  test('tillway doctor does not report the integrity check as passed on a database without such a check', async () => {
    const { violations } = doctorAnswers({});
    const { code, lines } = await runDoctor({ violations, integrity: () => Promise.resolve(undefined) });
    assert.equal(code, 0);
    assert.match(lines[0]!, /^- {7}database_integrity /);
    assert.equal(lines.at(-1), `All ${INVARIANTS.length} invariants hold.`);
  });

  test('docs/doctor.md lists every invariant and no other', () => {
    const page = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');
    const named = Array.from(page.matchAll(/^\| `([a-z_]+)` /gm), ([, name]) => name);
    assert.deepEqual(named, ['database_integrity', ...INVARIANTS.map(({ name }) => name), 'chain_derivation']);
  });
});
