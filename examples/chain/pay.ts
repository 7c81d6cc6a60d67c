/**
 * Pays a checkout of `demo.ts` from a wallet on its chain, without a browser, and prints what happens:
 * node examples/chain/pay.ts <checkout> [--part 5] [--over 1] [--late] [--reorg] [--fast]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Address, formatUnits, parseUnits } from 'viem';
import { Tillway } from '../../sdk/src/index.ts';
import { giveUp, say } from '../temporary-service.ts';
import { DEMO_CHAIN_URL, clientOf, tokenAbi } from './local-chain.ts';

const POLL_MS = 500;
const PATIENCE_MS = 120_000;
const FAST_BLOCKS = 12;
/** Longer than the time-out of a payment. */
const LATE_SECONDS = 2 * 60 * 60;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string' },
    over: { type: 'string' },
    late: { type: 'boolean' },
    reorg: { type: 'boolean' },
    fast: { type: 'boolean' },
  },
});
const [checkout] = positionals;
if (checkout === undefined) {
  giveUp('Name the checkout that the demo printed: npm run pay:chain -- http://127.0.0.1:3000/checkout/chk_...');
}

/** State of a checkout for a program that pays it. Units are text, because they can exceed the safe integers. */
interface CheckoutStatus {
  status: string;
  transfer: { address: Address; token: Address; decimals: number; received: string; missing: string } | null;
  methods?: { kind: string; form: string }[];
}

const client = clientOf(DEMO_CHAIN_URL);
const opened = await openTransfer();
const { address, token, decimals, missing } = opened;
const shown = (units: bigint) => formatUnits(units, decimals);
let units = BigInt(missing);
if (values.part !== undefined) units = parseUnits(values.part, decimals);
if (values.over !== undefined) units += parseUnits(values.over, decimals);

if (values.late) {
  const tillway = new Tillway({ baseUrl: new URL(checkout).origin });
  await tillway.testClock.advance({ seconds: LATE_SECONDS });
  await until(({ status }) => status === 'failed');
  say('The time of the service moved by 2 hours, and the payment timed out.');
}
const hash = await send();
const { blockNumber } = await client.waitForTransactionReceipt({ hash });
say(`Sent ${shown(units)} USDC to ${address} in block ${blockNumber}, transaction ${hash}.`);

if (values.reorg) {
  await until(({ transfer }) => transfer !== null && BigInt(transfer.received) >= units);
  say('The page shows the transfer as seen. Now the chain drops its block.');
  const depth = Number((await client.getBlockNumber()) - blockNumber) + 1;
  await client.request({ method: 'anvil_reorg', params: [depth, []] } as never);
  await until(({ status, transfer }) => status === 'pending' && transfer?.received === '0');
  say('The page waits for a payment again: the transfer was never counted.');
} else if (values.part === undefined) {
  if (values.fast) await client.mine({ blocks: FAST_BLOCKS });
  await until(({ status }) => status === 'paid');
  const { number: final } = await client.getBlock({ blockTag: 'finalized' });
  const when =
    final < blockNumber ? `${blockNumber - final} blocks before its transfer was final` : 'by a final transfer';
  say(`The checkout is paid, ${when}.`);
  if (values.over !== undefined) say(`The excess is listed once its transfer is final: npx tillway discrepancies list`);
} else {
  await until(({ transfer }) => transfer !== null && BigInt(transfer.received) >= units);
  say('A part has arrived. Run the command again without --part to pay the rest.');
}

/** The transfer that the checkout waits for; chooses the wallet if the buyer has not chosen a payment method. */
async function openTransfer() {
  const status = await read();
  const wallet = status.methods?.find(({ kind }) => kind === 'wallet');
  if (wallet) {
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
    await fetch(`${checkout}/pay`, { method: 'POST', body: wallet.form, headers });
  }
  const { transfer } = wallet ? await read() : status;
  if (transfer) return transfer;
  throw new Error(
    `The checkout waits for no transfer: it is ${status.status}. Press Enter in the demo for another one.`,
  );
}

async function read(): Promise<CheckoutStatus> {
  const answer = await fetch(`${checkout}/status`);
  if (answer.ok) return (await answer.json()) as CheckoutStatus;
  throw new Error(`${checkout}: the service answered ${answer.status}`);
}

async function send() {
  // Each run pays from another account, so that a dropped transaction does not block the next run.
  const accounts = await client.getAddresses();
  const account = accounts[Date.now() % accounts.length]!;
  return client.writeContract({
    chain: null,
    account,
    address: token,
    abi: tokenAbi,
    functionName: 'transfer',
    args: [address, units],
  });
}

async function until(holds: (status: CheckoutStatus) => boolean): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!holds(await read())) {
    if (Date.now() > end) throw new Error('The checkout did not reach the expected state within two minutes.');
    await sleep(POLL_MS);
  }
}
