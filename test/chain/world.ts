import { CHAINS } from '../../src/providers/evm-chains.ts';
import { type Quorum, createQuorum } from '../../src/providers/evm-quorum.ts';
import type { ChainNode } from '../../src/providers/evm-rpc.ts';
import type { ChainAddress, WatchStore } from '../../src/providers/evm-store.ts';
import { UNITS_PER_CENT, hotAfter } from '../../src/providers/evm-verdicts.ts';
import { createChainWatch } from '../../src/providers/evm-watch.ts';
import type { Watch, WatchedSignal } from '../../src/providers/provider.ts';
import { type SeededRandom, createSeededRandom } from '../faults/random.ts';
import {
  type MemoryChain,
  type MemoryNode,
  type NodeFaults,
  createMemoryChain,
  createMemoryNode,
} from './memory-chain.ts';
import { createMemoryWatchStore } from './memory-watch-store.ts';

const SECOND = 1000;
const DAY = 24 * 3600 * SECOND;
const START = Date.parse('2026-03-01T12:00:00Z');
const TIMEOUT = 60 * SECOND;
const STEPS = 16;
const LEASE = 31 * SECOND;
const FAST_BLOCKS = 3;
const FAST_UP_TO = 20_000_000;
/** Polls of the last phase, in which all nodes are sound: enough for the last comparison of each address with its balance. */
const LAST_POLLS = 4;

/** Nodes of a world and their faults, and the rules of the instance. */
export interface World {
  nodes: readonly NodeFaults[];
  quorum: number;
  isFast?: boolean;
  /** Merchants move the money away, so that balances reveal no hidden transfer. */
  isSwept?: boolean;
}

/** Replaces parts of the watcher by faulty ones. */
export interface Mutant {
  node?(good: ChainNode): ChainNode;
  quorum?(good: Quorum): Quorum;
  store?(good: WatchStore): WatchStore;
  /** Like `store`, for a replacement during whose calls the process can crash. */
  storeOfProcess?(good: WatchStore): WatchStore;
  /** Number of nodes that must agree. */
  agreement?: number;
}

export interface Statistics {
  polls: number;
  reorganizations: number;
  transfers: number;
  payments: number;
  reversals: number;
  crashes: number;
}

export const noStatistics = (): Statistics => ({
  polls: 0,
  reorganizations: 0,
  transfers: 0,
  payments: 0,
  reversals: 0,
  crashes: 0,
});

/** The money of a payment in the books of the service, in units, and what is known about its reversal. */
interface Book {
  paid: number;
  takenCents: number;
  revision: number;
  settled: number;
}

/** Plays one random history; returns the problems. The same seed and index give the same history. */
export async function playHistory(
  world: World,
  seed: number,
  index: number,
  mutant: Mutant = {},
  statistics = noStatistics(),
): Promise<string[]> {
  const history = createHistory(world, createSeededRandom(seed, index), mutant, statistics);
  for (let step = 0; step < STEPS; step++) await history.step();
  await history.finish();
  return history.problems;
}

function createHistory(world: World, random: SeededRandom, mutant: Mutant, statistics: Statistics) {
  const { quorum, isFast = false } = world;
  const chain = createMemoryChain(random);
  const nodes = world.nodes.map((faults, bit) => createMemoryNode(chain, random, 1 << bit, FAST_BLOCKS, faults));
  const problems: string[] = [];
  const books = new Map<string, Book>();
  const applied = new Map<string, string>();
  let now = START;
  const store = createMemoryWatchStore((before, after) => {
    if (after.reportedUnits > before.reportedUnits) checkCovered(before, after.reportedUnits);
  });
  const chainOfWorld = { ...CHAINS.get('local')!, token: '0x', logRange: 8 + random.int(20) };
  const confirm = { fastUpToUnits: isFast ? FAST_UP_TO : 0, blocks: FAST_BLOCKS, toleranceUnits: 0 };

  /** Adds a problem unless the chain justifies that `units` of a payment are reported as paid. */
  function checkCovered({ address, dueUnits, reportedUnits }: ChainAddress, units: number): void {
    if (units <= reportedUnits || units <= books.get(address!)!.paid || units <= chain.finalSum(address!)) return;
    const isSmall = isFast && units === dueUnits && dueUnits <= FAST_UP_TO;
    if (isSmall && chain.confirmedSum(address!, quorum) >= units) return;
    problems.push(`${address} reported ${units}, and ${chain.finalSum(address!)} are final`);
  }

  /** Applies a report once, as the service does. */
  function apply({ eventId, ...signal }: WatchedSignal): void {
    const row = store.rows.get(signal.ref.paymentId!)!;
    const book = books.get(row.address!)!;
    if (signal.about === 'payment' && signal.report.state === 'processing') return;
    const units = signal.about === 'payment' ? Number(signal.report.received!.units) : 0;
    const taken = signal.about === 'reversal' ? Number(signal.reversal.taken.units) : 0;
    const content = `${signal.about} ${units} ${taken}`;
    const known = applied.get(eventId);
    if (known !== undefined && known !== content) problems.push(`${eventId} has two contents: ${known}, ${content}`);
    if (known !== undefined) return;
    applied.set(eventId, content);
    if (signal.about === 'payment') {
      checkCovered(row, units);
      book.paid = Math.max(book.paid, units);
      statistics.payments++;
    } else if (signal.about === 'settlement') {
      book.settled++;
      if (book.paid < row.dueUnits) problems.push(`${row.address} is settled, but not paid`);
    } else if (signal.about === 'reversal') {
      if (!isFast) problems.push(`${row.address} has a reversal of final money`);
      if (book.paid < row.dueUnits) problems.push(`${row.address} has a reversal, but is not paid`);
      if (signal.reversal.revision <= book.revision) return;
      book.revision = signal.reversal.revision;
      book.takenCents = taken;
      statistics.reversals++;
    }
  }

  function createAddress(): void {
    const cursor = store.current();
    if (!cursor || store.rows.size >= 4) return;
    const id = `pay_${store.rows.size}`;
    const address = `0xA${store.rows.size}`;
    const times = {
      created: now,
      createdBlock: cursor.finalBlock,
      hotUntil: hotAfter(now + TIMEOUT),
      checkAt: now + TIMEOUT,
    };
    const reports = { announcedUnits: 0, expectedBy: null, reportedUnits: 0, fastBlock: null, settled: false };
    const none = { closed: false, reversedUnits: 0, reversalRevision: 0, unsent: null };
    const dueUnits = (1 + random.int(3000)) * UNITS_PER_CENT;
    const about = { wallet: 'w', addressIndex: store.rows.size, paymentId: id, provider: 'local', address, dueUnits };
    store.rows.set(id, { ...about, ...times, ...reports, ...none });
    books.set(address, { paid: 0, takenCents: 0, revision: 0, settled: 0 });
  }

  const { watchers, run } = createWatchers(world, {
    chain: chainOfWorld,
    confirm,
    nodes,
    store,
    random,
    mutant,
    statistics,
    apply,
    problems,
    now: () => now,
    wait: (ms) => {
      now += ms;
    },
  });

  /** No process runs for some time, and buyers pay. */
  function outage(): void {
    now += random.pick([TIMEOUT, DAY, DAY + 3600 * SECOND]);
    if (random.chance(0.3)) chain.reorganize(1 + random.int(12));
    for (let part = random.int(4); part > 0; part--) {
      buy(chain, [...store.rows.values()], random, statistics);
      chain.mine(5 + random.int(25));
    }
  }

  async function step(): Promise<void> {
    now += random.pick([SECOND, 4 * SECOND, 4 * SECOND, 12 * SECOND]);
    if (random.chance(0.1)) now += LEASE;
    if (random.chance(0.06)) outage();
    if (random.chance(0.25)) createAddress();
    if (random.chance(0.4)) buy(chain, [...store.rows.values()], random, statistics);
    chain.mine(random.int(4));
    if (random.chance(0.3)) {
      chain.reorganize(1 + random.int(12));
      statistics.reorganizations++;
    }
    if (world.isSwept && random.chance(0.4)) for (const address of books.keys()) chain.sweep(address);
    for (const node of nodes) node.sync();
    await run(random.int(watchers), true);
    if (random.chance(0.2)) await run(random.int(watchers), true);
  }

  async function finish(): Promise<void> {
    for (const node of nodes) node.repair();
    for (let poll = 0; poll < LAST_POLLS; poll++) {
      chain.finalize();
      for (const node of nodes) {
        node.sync();
        node.sync();
      }
      now += poll < 1 ? LEASE : DAY + LEASE;
      for (let watcher = 0; watcher < watchers; watcher++) await run(watcher, false);
    }
    for (const { address, reportedUnits, reversedUnits, settled, dueUnits } of store.rows.values()) {
      const book = books.get(address!)!;
      const final = chain.finalSum(address!);
      const missing = book.paid - final;
      if (reportedUnits - reversedUnits !== final)
        problems.push(`${address}: ${reportedUnits} less ${reversedUnits} reported, ${final} on the chain`);
      if (book.paid < final) problems.push(`${address}: missed, paid ${book.paid} of ${final}`);
      if (book.takenCents !== Math.ceil(Math.max(0, missing) / UNITS_PER_CENT))
        problems.push(`${address}: paid ${book.paid} and taken ${book.takenCents} cents, ${final} on the chain`);
      if (book.settled !== (final >= dueUnits && book.paid >= dueUnits ? 1 : 0) || settled !== (book.settled === 1))
        problems.push(`${address}: settled ${book.settled} times`);
    }
  }

  return { step, finish, problems };
}

/** The buyer of a random payment sends money. */
function buy(chain: MemoryChain, rows: readonly ChainAddress[], random: SeededRandom, statistics: Statistics): void {
  if (rows.length === 0) return;
  const { address: to, dueUnits } = random.pick(rows);
  const part = Math.ceil(dueUnits / 3);
  const amounts = random.pick([
    [dueUnits],
    [dueUnits],
    [dueUnits],
    [dueUnits - part],
    [part],
    [dueUnits + UNITS_PER_CENT],
    [part, dueUnits - part],
    [part, 0, part, part],
    [1 + random.int(UNITS_PER_CENT)],
  ]);
  chain.send(amounts.map((units) => ({ to: to!, units })));
  if (random.chance(0.2)) chain.send([{ to: to!, units: dueUnits - part }]);
  statistics.transfers += amounts.length;
}

interface Surroundings {
  chain: Parameters<typeof createChainWatch>[0]['chain'];
  confirm: Parameters<typeof createChainWatch>[0]['confirm'];
  nodes: readonly MemoryNode[];
  store: WatchStore;
  random: SeededRandom;
  mutant: Mutant;
  statistics: Statistics;
  apply(signal: WatchedSignal): void;
  problems: string[];
  now(): number;
  wait(ms: number): void;
}

/** Two processes with a watcher each. A run can end in a crash, or pause in the middle and continue at the next run. */
function createWatchers(world: World, on: Surroundings) {
  const { random, statistics } = on;
  let slots: Slot[] = [];

  function createSlot(): Slot {
    let left = Infinity;
    let isCrash = false;
    let stopped: () => void = () => undefined;
    let resume: (() => void) | undefined;
    /** Every call of the watcher passes here, and can be the last one. */
    const gate: Gate = () => {
      if (left-- > 0) return undefined;
      stopped();
      left = Infinity;
      return new Promise((resolve) => {
        if (!isCrash) resume = resolve;
      });
    };
    const watch = createWatch(gate);
    let current: Promise<void> | undefined;
    async function cycle(): Promise<void> {
      statistics.polls++;
      await watch.poll();
      for await (const signal of watch.reports()) {
        await gate();
        on.apply(signal);
        await gate();
      }
    }
    return {
      async run(isFaulty) {
        const fate = isFaulty ? random.int(10) : 9;
        left = fate < 3 ? random.int(30) : Infinity;
        isCrash = fate < 2;
        const cut = new Promise<boolean>((resolve) => (stopped = () => resolve(true)));
        const isContinued = current !== undefined;
        if (resume) resume();
        resume = undefined;
        current ??= cycle();
        const isStopped = await Promise.race([cut, current.then(() => false)]);
        if (isStopped) return isCrash ? 'crashed' : 'paused';
        current = undefined;
        return isContinued && isFaulty ? 'continued' : 'done';
      },
    };
  }

  function createWatch(gate: Gate): Watch {
    const { mutant } = on;
    const nodes = on.nodes.map((node) => gatedNode(mutant.node?.(node) ?? node, gate));
    const quorum = createQuorum(on.chain, nodes, mutant.agreement ?? world.quorum);
    const store = gatedStore(mutant.store?.(on.store) ?? on.store, gate);
    const faultyStore = mutant.storeOfProcess?.(store);
    return createChainWatch({
      provider: 'local',
      chain: on.chain,
      quorum: mutant.quorum?.(quorum) ?? quorum,
      confirm: on.confirm,
      lateWatchDays: 90,
      store: faultyStore ?? store,
      now: on.now,
      log: { info: () => undefined, warn: () => undefined },
      onNotReady: () => undefined,
    });
  }

  slots = [createSlot(), createSlot()];
  return {
    watchers: slots.length,
    async run(index: number, isFaulty: boolean): Promise<void> {
      try {
        const end = await slots[index]!.run(isFaulty);
        if (end === 'crashed') {
          statistics.crashes++;
          slots[index] = createSlot();
        }
        if (end === 'paused' && random.chance(0.5)) on.wait(LEASE);
      } catch (error) {
        on.problems.push(`a watcher failed: ${(error as Error).stack}`);
        slots[index] = createSlot();
      }
    },
  };
}

type Gate = () => Promise<void> | undefined;

interface Slot {
  run(isFaulty: boolean): Promise<'done' | 'continued' | 'crashed' | 'paused'>;
}

/** The same calls, each of which passes the gate before. */
function gatedNode(node: ChainNode, gate: Gate): ChainNode {
  const { heads, transfers, receipt } = node;
  return {
    ...node,
    heads: () => passed(gate, heads),
    transfers: (...asked) => passed(gate, () => transfers(...asked)),
    receipt: (...asked) => passed(gate, () => receipt(...asked)),
  };
}

/** The same calls, each of which passes the gate before; `save` also after it. */
function gatedStore(store: WatchStore, gate: Gate): WatchStore {
  return {
    ...store,
    cursor: () => passed(gate, () => store.cursor()),
    claim: (next, before) => passed(gate, () => store.claim(next, before)),
    active: (now) => passed(gate, () => store.active(now)),
    async save(changes) {
      const isSaved = await passed(gate, () => store.save(changes));
      await gate();
      return isSaved;
    },
  };
}

function passed<Result>(gate: Gate, call: () => Promise<Result>): Promise<Result> {
  const waiting = gate();
  return waiting ? waiting.then(call) : call();
}
