import { type Address, type Hash, erc20Abi } from 'viem';
import type { Payment } from '../../src/domain/records.ts';
import { type SeededRandom, createSeededRandom } from '../faults/random.ts';
import { type FaultReport, type Scenario, createProblems } from '../faults/scenario.ts';
import { settingsOf } from '../support/database.ts';
import { type Fault, type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import { brokenInvariants } from '../support/sound.ts';
import { type UsdcService, startUsdcService, usdcVariables } from '../support/usdc-service.ts';

// Random histories of payments on a real chain, whose last blocks are replaced again and again.

const BATCH = 50;
const PER_CHAIN = 200;
const STEPS = 14;
const FINALITY_BLOCKS = 30;
const FAST_BLOCKS = 12;
const FAST_UP_TO = 100;
const UNITS_PER_CENT = 10_000n;

/** A payment with the transfers that its buyer is still to send, in cents. */
interface History {
  session: string;
  address: Address;
  due: bigint;
  planned: number[];
}

/** A node that takes the newest block for final. */
const LATEST_AS_FINAL: Fault = {
  onCall: (method, params, ask) =>
    ask(
      method,
      params.map((param) => (param === 'finalized' ? 'latest' : param)),
    ),
};

export const CHAIN_HISTORIES: Scenario = {
  name: 'payments on a real chain with reorganizations',
  cycles: 200,
  injected: 'a node that takes the newest block for final',
  injectedCycles: BATCH,
  run: ({ cycles, injected }) => runRealHistories(cycles, Math.floor(performance.now() * 1000), injected),
};

/** Plays `count` histories. The chain keeps the states of a limited number of blocks, so each chain serves some batches only. */
async function runRealHistories(count: number, seed: number, isFaulty: boolean): Promise<FaultReport> {
  const problems = createProblems();
  let reorganizations = 0;
  for (let first = 0; first < count; first += PER_CHAIN) {
    const played = await playOnChain(Math.min(PER_CHAIN, count - first), seed + first, isFaulty);
    reorganizations += played.reorganizations;
    problems.add(...played.problems.map((problem) => `seed ${seed + first}, ${problem}`));
  }
  return { cycles: count, load: `${reorganizations} reorganizations`, problems: problems.list() };
}

async function playOnChain(count: number, seed: number, isFaulty: boolean) {
  const problems: string[] = [];
  let reorganizations = 0;
  let node: RpcProxy | undefined;
  await using usdc = await startUsdcService(
    {},
    { finalityBlocks: FINALITY_BLOCKS, mining: 'manual' },
    async ({ url, token }) => {
      node = await startRpcProxy(url);
      return usdcVariables(token, [node.url]);
    },
  );
  await using proxy = node!;
  await proxy.setFault(isFaulty ? LATEST_AS_FINAL : undefined);
  // The token exists in every block that counts as final from here on.
  await usdc.chain.client.mine({ blocks: FINALITY_BLOCKS });
  for (let batch = 0; batch * BATCH < count; batch++) {
    const random = createSeededRandom(seed, batch);
    const found = await playBatch(usdc, random, Math.min(BATCH, count - batch * BATCH));
    reorganizations += found.reorganizations;
    problems.push(...found.problems.map((problem) => `batch ${batch}: ${problem}`));
  }
  if (!isFaulty) problems.push(...(await brokenInvariants(settingsOf(usdc.on.databaseUrl))));
  return { reorganizations, problems };
}

async function playBatch(usdc: UsdcService, random: SeededRandom, size: number) {
  const histories: History[] = [];
  for (let each = 0; each < size; each++) histories.push(await begin(usdc, random));
  const problems: string[] = [];
  const paid = new Set<string>();
  const dropped = new Set<Hash>();
  let reorganizations = 0;
  for (let step = 0; step < STEPS; step++) {
    await sendSome(usdc, histories, random, step);
    await usdc.chain.client.mine({ blocks: 1 + random.int(3) });
    if (random.chance(0.5)) {
      await reorganize(usdc, random, dropped);
      reorganizations++;
    }
    if (random.chance(0.2)) await resend(usdc, dropped);
    if (random.chance(0.7)) await usdc.poll();
    problems.push(...(await paidTooEarly(usdc, histories, paid)));
  }
  if (random.chance(0.5)) await resend(usdc, dropped);
  for (let round = 0; round < 2; round++) {
    await usdc.chain.client.mine({ blocks: FINALITY_BLOCKS + 1 });
    await usdc.poll();
  }
  for (const history of histories) problems.push(...(await differences(usdc, history)));
  return { problems, reorganizations };
}

async function begin(usdc: UsdcService, random: SeededRandom): Promise<History> {
  const cents = random.chance(0.7)
    ? 100 + random.int(FAST_UP_TO * 100 - 100)
    : FAST_UP_TO * 100 + 1 + random.int(10_000);
  const session = await usdc.begin(cents / 100);
  const { address, units } = await usdc.instructions(session);
  const part = 1 + random.int(cents - 1);
  const plans = [[cents], [cents], [part, cents - part], [part], [cents, part], [cents + part], [part, cents], []];
  return { session, address: address as Address, due: BigInt(units), planned: random.pick(plans) };
}

async function sendSome({ chain }: UsdcService, histories: readonly History[], random: SeededRandom, step: number) {
  for (const { address, planned } of histories) {
    if (planned.length === 0 || !random.chance(step === STEPS - 1 ? 1 : 0.2)) continue;
    await chain.transfer(address, BigInt(planned.shift()!) * UNITS_PER_CENT);
  }
}

/** Replaces blocks that are not final: drops some transactions, and moves others to the last block. */
async function reorganize({ chain }: UsdcService, random: SeededRandom, dropped: Set<Hash>): Promise<void> {
  const { latest } = await chain.heights();
  const depth = 1 + random.int(FAST_BLOCKS + 6);
  const drop: Hash[] = [];
  const move: Record<Hash, number> = {};
  for (let number = latest - depth + 1; number <= latest; number++) {
    const { transactions } = await chain.client.getBlock({ blockNumber: BigInt(number) });
    for (const hash of transactions) {
      const fate = random.int(5);
      if (fate === 0) drop.push(hash);
      if (fate === 1) move[hash] = latest;
    }
  }
  await chain.reorganize(depth, { drop, move });
  for (const hash of drop) dropped.add(hash);
}

async function resend({ chain }: UsdcService, dropped: Set<Hash>): Promise<void> {
  for (const hash of dropped) await chain.resend(hash).catch(() => undefined);
  dropped.clear();
}

function balance({ chain }: UsdcService, address: Address, blockNumber: bigint): Promise<bigint> {
  return chain.client.readContract({
    address: chain.token,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [address],
    blockNumber,
  });
}

/** Payments that were paid since the last step although the chain did not hold their amount at the required depth. */
async function paidTooEarly(usdc: UsdcService, histories: readonly History[], paid: Set<string>): Promise<string[]> {
  const { latest, finalized } = await usdc.chain.heights();
  const problems: string[] = [];
  for (const { session, address, due } of histories) {
    if (paid.has(session) || (await usdc.payment(session)).status !== 'paid') continue;
    paid.add(session);
    const isSmall = due <= BigInt(FAST_UP_TO * 100) * UNITS_PER_CENT;
    const block = isSmall ? Math.max(finalized, latest - FAST_BLOCKS + 1) : finalized;
    const held = await balance(usdc, address, BigInt(block));
    if (held < due) problems.push(`${session} was paid with ${held} of ${due} units at block ${block} of ${latest}`);
  }
  return problems;
}

/** Differences between the records of a payment and the final chain. */
async function differences(usdc: UsdcService, { session, address, due }: History): Promise<string[]> {
  const { finalized } = await usdc.chain.heights();
  const held = await balance(usdc, address, BigInt(finalized));
  const { discrepancies } = (await usdc.on.service.deps.store.checkout(session))!;
  const payment = await usdc.payment(session);
  const booked = bookedUnits(payment);
  const listed = discrepancies.find(({ kind, status }) => kind === 'amount_mismatch' && status === 'open');
  const known = listed === undefined ? booked : booked + BigInt(listed.received) * UNITS_PER_CENT;
  if (known === held && (held < due || payment.status === 'paid')) return [];
  return [`${session} (${payment.status}) has ${known} units in the books, and ${held} of ${due} on the chain`];
}

function bookedUnits({ status, fees, reversed }: Payment): bigint {
  return status === 'paid' ? BigInt(fees.total - reversed) * UNITS_PER_CENT : 0n;
}
