import assert from 'node:assert/strict';
import { GatewayError, invalidField } from '../domain/gateway-error.ts';
import { NO_DETAILS, type ProviderReport } from '../domain/provider-report.ts';
import type { Instant, Payment } from '../domain/records.ts';
import type { RefundOutcome, RefundProof } from '../domain/refund-record.ts';
import type { AdapterContext, Instance } from './adapter-context.ts';
import { checkEvm } from './evm-check.ts';
import { ChainProblem, createQuorum } from './evm-quorum.ts';
import { createNode } from './evm-rpc.ts';
import { type EvmSettings, chainOf, confirmRulesOf, quorumOf } from './evm-settings.ts';
import { type AddressStore, type WatchedAddress, createAddressStore, createWatchStore } from './evm-store.ts';
import { UNITS_PER_CENT, hotAfter, isBehind, sumsOf, usdc } from './evm-verdicts.ts';
import { createWalletStore } from './evm-wallet-store.ts';
import { createWallet } from './evm-wallet.ts';
import { createChainWatch } from './evm-watch.ts';
import type { KnownPayment, Provider, TransferInstructions } from './provider.ts';

const MINUTE_MS = 60_000;
/** Time before a time-out in which an inquiry moves the time-out if the chain cannot be read. */
const LAST_MINUTE_MS = MINUTE_MS;

/** Adapter for USDC on a chain. Each payment has an address of its own, and the transfers to it are the only reports about money. */
export function createEvmUsdc(
  { id, environment, settings }: Instance<EvmSettings>,
  { now, log, database, onNotReady }: AdapterContext,
): Provider {
  const chain = chainOf(settings);
  const confirm = confirmRulesOf(settings);
  const wallet = createWallet(settings.xpub);
  const { fingerprint } = wallet;
  const nodes = settings.rpc.map((url) => createNode({ url, chainId: chain.chainId, token: chain.token, now }));
  const quorum = createQuorum(chain, nodes, quorumOf(settings));
  const store = database && createAddressStore(database, id, fingerprint);
  const watch =
    database &&
    createChainWatch({
      provider: id,
      chain,
      quorum,
      confirm,
      lateWatchDays: settings.lateWatchDays,
      store: createWatchStore(database, id, fingerprint),
      now,
      log,
      onNotReady,
    });

  function addresses(): AddressStore {
    assert(store, 'a provider without a database can only be checked');
    return store;
  }

  /** The row of a payment with its address, which a process that ended during the handoff may have left out. */
  async function known({ id: paymentId }: Payment): Promise<WatchedAddress | undefined> {
    const found = await addresses().ofPayment(paymentId);
    if (!found || found.row.address !== null) return found;
    const address = wallet.address(found.row.addressIndex);
    await addresses().name(paymentId, address);
    return { ...found, row: { ...found.row, address } };
  }

  return {
    id,
    environment,
    traits: { cancel: 'best_effort', lookup: 'own_id', refunds: 'manual', costRefundable: false, resend: 'always' },

    async handoff({ payment }) {
      const refused = (reason: string) => ({ outcome: 'refused', reason, providerReason: null }) as const;
      const { network } = payment.route;
      if (network !== chain.name) return refused(`${id} does not serve the network ${network}`);
      const cursor = await addresses().cursor();
      if (!cursor) return refused('the chain was not read yet');
      if (!(await addresses().ofPayment(payment.id))) {
        const { id: paymentId, timeoutAt: checkAt, fees } = payment;
        const about = { wallet: fingerprint, paymentId, provider: id, dueUnits: fees.total * UNITS_PER_CENT };
        const times = { created: now(), createdBlock: cursor.finalBlock, hotUntil: hotAfter(checkAt), checkAt };
        const reports = { announcedUnits: 0, expectedBy: null, reportedUnits: 0, fastBlock: null, settled: false };
        const none = { closed: false, reversedUnits: 0, reversalRevision: 0, unsent: null };
        await addresses().takeIndex({ ...about, ...times, ...reports, ...none });
      }
      const { row } = (await known(payment))!;
      return { outcome: 'accepted', reference: row.address!, url: null };
    },

    async readCallback() {
      throw new GatewayError('unauthorized', `The provider ${id} sends no callbacks.`);
    },

    async inquire(payment): Promise<KnownPayment | 'unknown'> {
      const found = await known(payment);
      if (!found) return 'unknown';
      const report = reportOf(found, payment, isBehind(await addresses().cursor(), now()));
      return { report, reference: found.row.address!, url: null };
    },

    async cancel({ id: paymentId }) {
      if (!(await addresses().ofPayment(paymentId))) return 'unknown';
      await addresses().close(paymentId);
      return 'cancelled';
    },

    async instructions(payment): Promise<TransferInstructions | undefined> {
      const found = await known(payment);
      if (!found) return undefined;
      const { row, transfers } = found;
      const { final, fast, seen } = sumsOf(transfers);
      const { blocks } = confirm;
      return {
        network: { name: chain.name, label: chain.label, chainId: chain.chainId },
        asset: 'USDC',
        token: chain.token,
        decimals: 6,
        address: row.address!,
        units: row.dueUnits,
        received: final + fast + seen,
        isConfirming: final + fast + seen > Math.max(final, row.reportedUnits),
        confirmation:
          row.dueUnits <= confirm.fastUpToUnits
            ? { blocks, words: blocks === 1 ? '1 block' : `${blocks} blocks` }
            : { blocks: null, words: chain.finality.words },
      };
    },

    /** The refund stays pending: an operator sends it from a wallet of their own. */
    async refund({ payment }) {
      const found = await addresses().ofPayment(payment.id);
      return found && found.row.reportedUnits > 0 ? { status: 'pending', reason: null } : 'unknown';
    },

    // The reference is the transaction that proved the refund.
    inquireRefund: async ({ reference }): Promise<RefundOutcome> => ({
      status: reference === null ? 'pending' : 'succeeded',
      reason: null,
      reference,
    }),

    async proveRefund({ amount }, txHash): Promise<RefundProof> {
      const units = amount * UNITS_PER_CENT;
      return { txHash, logIndex: await provenTransfer(units, txHash), units };
    },

    ...(watch && { watch }),

    check: () =>
      checkEvm({
        id,
        chain,
        quorum: quorumOf(settings),
        nodes,
        wallet,
        cursor: async () => store?.cursor(),
        store: database && createWalletStore(database, fingerprint),
        now,
      }),
  };

  /** Index of the log of a final transfer of at least `least` units to others, on which a quorum of nodes agrees. */
  async function provenTransfer(least: number, txHash: string): Promise<number> {
    const { receipt, height } = await finalReceipt(txHash).catch((error: unknown) => {
      if (!(error instanceof ChainProblem)) throw error;
      throw new GatewayError('unavailable', `The transaction cannot be verified now: ${error.message}.`);
    });
    if (!receipt)
      throw unproven(`is not a successful transaction on ${chain.label}`, 'Check the hash and the network.');
    if (receipt.blockNumber > height) {
      throw unproven('is not final yet', `Try again in ${chain.finality.words.replace('about ', '')}.`);
    }
    const paid = receipt.transfers.filter(({ units }) => units >= least);
    for (const { to, logIndex } of paid) if (!(await addresses().isOwn(to))) return logIndex;
    const problem = 'transfers less USDC than the refund, or only to an address of this service';
    throw unproven(problem, 'Name the transaction that sent the refund to the buyer.');
  }

  /** The receipt as the nodes report it that agree on the final block. The watcher's cursor can be minutes behind that block. */
  async function finalReceipt(txHash: string) {
    const { height, agreeing } = await quorum.height();
    return { height, receipt: await quorum.receipt(txHash, agreeing) };
  }

  function reportOf({ row, transfers }: WatchedAddress, { timeoutAt }: Payment, behind: boolean): ProviderReport {
    const expectedBy: Instant = now() + chain.boundMinutes * MINUTE_MS;
    if (row.reportedUnits > 0) return { ...NO_DETAILS, state: 'paid', received: usdc(row.reportedUnits) };
    if (transfers.length > 0) return { ...NO_DETAILS, state: 'processing', expectedBy };
    // While the chain cannot be read, the buyer may have paid already.
    if (behind && now() >= timeoutAt - LAST_MINUTE_MS) return { ...NO_DETAILS, state: 'processing', expectedBy };
    return { ...NO_DETAILS, state: row.closed ? 'failed' : 'awaiting_buyer' };
  }
}

function unproven(problem: string, advice: string): GatewayError {
  return invalidField('txHash', 'invalid_value', problem, advice);
}
