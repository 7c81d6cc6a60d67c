import { setTimeout as sleep } from 'node:timers/promises';
import type { Instance, InstanceRig } from './instances.ts';
import { type Answer, CALLBACKS, SESSIONS, ask, askInstance, callbackBody, sessionBody, inLanes } from './requests.ts';
import { type RunProblems, type FaultReport, createProblems } from './scenario.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

/** Acknowledgements of the service, recorded by its clients. */
export interface AcknowledgedRecords {
  /** Every idempotency key that was sent, with the session id in its response, if any. */
  keys: Map<string, string | undefined>;
  /** Sessions whose payment was acknowledged. */
  paid: Set<string>;
}

export type ClientLoad = ReturnType<typeof startLoad>;

const PAUSE_MS = 50;
/** Timeout of the waits: long enough for a busy machine. With an injected fault, a wait may time out. */
const PATIENCE_MS = 60_000;
const WIDTH = 12;
const NEW_BUYER_EVERY = 3;
let loads = 0;

/**
 * Starts clients that buy repeatedly at any instance that is up, and repeat each request until the response is 200.
 * `mayBeUnavailable` is true if the fault allows 503 responses.
 */
export function startLoad({ instances }: InstanceRig, clients: number, mayBeUnavailable = true) {
  const name = `load${loads++}`;
  const journal: AcknowledgedRecords = { keys: new Map(), paid: new Set() };
  const problems = createProblems();
  const counts = new Map(instances.map((instance) => [instance, { done: 0, acknowledged: 0, unavailable: 0 }]));
  let stopping = false;

  /** Sends one request to one instance. */
  async function askAt(instance: Instance, path: string, body?: unknown): Promise<Answer> {
    const answer = await askInstance(instance, problems, path, body, mayBeUnavailable);
    const count = counts.get(instance)!;
    if (answer.status === 200) count.done++;
    if (answer.status === 200 && body !== undefined) count.acknowledged++;
    if (answer.status === 503) count.unavailable++;
    return answer;
  }

  /** Repeats a request until the response is 200; returns undefined if the load stops first or the request is rejected. */
  async function persist(path: string, body?: unknown): Promise<{ answer: Answer; tries: number } | undefined> {
    for (let tries = 1; !stopping; tries++) {
      const instance = pick(instances.filter((instance) => instance.isUp()));
      if (!instance) {
        await sleep(PAUSE_MS);
        continue;
      }
      const answer = await askAt(instance, path, body);
      if (answer.status === 200) return { answer, tries };
      if (answer.status !== 0 && answer.status !== 503) return undefined;
      if (answer.status === 503) await sleep(PAUSE_MS);
    }
    return undefined;
  }

  async function buy(key: string): Promise<void> {
    journal.keys.set(key, undefined);
    const { id } = (await persist(SESSIONS, sessionBody(key)))?.answer.body ?? {};
    if (id === undefined) return;
    journal.keys.set(key, id);
    const taken = await persist(CALLBACKS, callbackBody(`event-${key}`, id));
    // A repeated callback that queues nothing was applied before; only its response was lost.
    if (taken && (taken.answer.body.result?.merchantWebhookQueued || taken.tries > 1)) journal.paid.add(id);
    await persist(`${SESSIONS}?limit=3`);
  }

  async function drive(client: number): Promise<void> {
    for (let count = 0; !stopping; count++) {
      // Some buyers are new: the service handles known and new buyers differently.
      const buyer = `${name}-${client}${count % NEW_BUYER_EVERY === 0 ? `-${count}` : ''}`;
      await buy(`${buyer}--${count}`);
    }
  }

  const driven = Promise.all(Array.from({ length: clients }, (_, client) => drive(client)));
  return {
    clients,
    journal,
    /** Problems in responses that the fault under test does not explain. */
    problems,
    /** Counts of an instance: responses with 200, acknowledged sessions and payments, and responses with 503. */
    answers: (instance: Instance) => ({ ...counts.get(instance)! }),
    async stop(): Promise<void> {
      stopping = true;
      await driven;
    },
  };
}

function pick<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)];
}

/** Problem of a run that proves nothing, because the clients got too few responses. */
export const NO_LOAD_PROBLEM = 'there was hardly any load';

/** Waits until every instance has responded and the merchant has received another event. */
export async function untilBusy({ instances, events }: InstanceRig, load: ClientLoad): Promise<void> {
  const before = instances.map((instance) => load.answers(instance).done);
  const received = events.size;
  const areBusy = () => instances.every((instance, index) => load.answers(instance).done > before[index]!);
  await patiently(load, () => areBusy() && events.size > received, 'not every instance responds');
}

/** Waits for the next session or payment that an instance acknowledges. A crash right after it must not lose the record. */
export async function untilAcknowledged(instance: Instance, load: ClientLoad): Promise<void> {
  const before = load.answers(instance).acknowledged;
  await patiently(load, () => load.answers(instance).acknowledged > before, 'an instance acknowledges nothing');
}

/** Waits until the instances respond to requests sent from now on: each client has at most one older request in flight. */
export async function untilAnswered(instances: readonly Instance[], load: ClientLoad): Promise<void> {
  const enough = instances.map((instance) => load.answers(instance).done + load.clients);
  const haveAnswered = () => instances.every((instance, index) => load.answers(instance).done > enough[index]!);
  await patiently(load, haveAnswered, 'while one instance was down, the other did nothing');
}

/** Waits until the condition holds or a problem is recorded. A run with a problem has failed, so it need not wait. */
async function patiently({ problems }: ClientLoad, holds: () => boolean, complaint: string): Promise<void> {
  const isDecided = () => problems.list().length > 0;
  await until(() => isDecided() || holds(), undefined, PATIENCE_MS).catch(() => problems.add(complaint));
}

/** Stops the load, compares the acknowledged records with the responses of the service, and kills the instances. */
export async function concludeRun(rig: InstanceRig, load: ClientLoad, cycles: number): Promise<FaultReport> {
  await load.stop();
  const { journal, problems } = load;
  // Late commits get time to finish, so that a store that responds too early is detected only by lost data.
  await sleep(PAUSE_MS * 2);
  await inLanes(WIDTH, journal.keys, ([key, id]) => compare(rig, journal, key, id, problems));
  await Promise.all(rig.instances.map((instance) => instance.kill()));
  // The events of lost sessions never arrive, so the wait for events is useless after a problem.
  if (problems.list().length === 0) await awaitEvents(rig, journal, problems);
  problems.add(...(await brokenInvariants(rig.settings)));
  const acknowledged = [...journal.keys.values()].filter((id) => id !== undefined).length;
  if (acknowledged < cycles || journal.paid.size === 0) problems.add(NO_LOAD_PROBLEM);
  return { cycles, load: `${acknowledged} sessions, ${journal.paid.size} of them paid`, problems: problems.list() };
}

async function awaitEvents(rig: InstanceRig, { paid }: AcknowledgedRecords, problems: RunProblems): Promise<void> {
  const queued = [...paid].map((id) => `evt_${id}_paid`);
  const later = await rig.startLater();
  await until(() => queued.every((id) => rig.events.has(id))).catch(() => undefined);
  for (const id of queued) if (!rig.events.has(id)) problems.add(`${id} was queued and never delivered`);
  await later.kill();
}

/** Asks every instance for the session of a key, and compares the responses with the acknowledged records. */
async function compare(
  { instances }: InstanceRig,
  { paid }: AcknowledgedRecords,
  key: string,
  id: string | undefined,
  problems: RunProblems,
): Promise<void> {
  for (const { url } of id === undefined ? [] : instances) {
    const { status, body } = await ask(`${url}${SESSIONS}/${id}`);
    if (status === 404) problems.add(`${id} was acknowledged and is lost`);
    else if (status !== 200) problems.add(`${id} cannot be read: ${status}`);
    else if (paid.has(id!) && body.status !== 'paid') problems.add(`${id} was paid and is ${body.status}`);
  }
  // Every request with the key must return the same session, also if no response acknowledged it.
  const { url } = pick(instances)!;
  const again = await ask(url + SESSIONS, sessionBody(key));
  if (again.status !== 200) problems.add(`key ${key} gives ${again.status} ${JSON.stringify(again.body)}`);
  else if (id !== undefined && again.body.id !== id) problems.add(`key ${key} gave ${id}, and then ${again.body.id}`);
  const list = await ask(`${url}${SESSIONS}?clientReferenceId=${key}`);
  if (list.body.data?.length !== 1) problems.add(`key ${key} has ${list.body.data?.length} sessions`);
}
